"""The examples in docstrings, in the pages of documentation, and what type checkers say."""

import doctest
import re
import shutil
import subprocess
import sys
from pathlib import Path

import coua
import coua._coua
import pytest

REPOSITORY = Path(__file__).parents[3]


def run(text: str, name: str, known: dict[str, object]) -> int:
    """Runs the examples in a text, and gives their number."""
    test = doctest.DocTestParser().get_doctest(text, known, name, name, 0)
    results = doctest.DocTestRunner().run(test)
    assert results.failed == 0, name
    return results.attempted


def test_docstrings() -> None:
    known = {name: getattr(coua, name) for name in coua.__all__}
    examples = run(coua.__doc__ or "", "coua", {})
    for name, thing in known.items():
        members = {f"{name}.{member}": value for member, value in vars(thing).items()} if isinstance(thing, type) else {}
        for place, value in {name: thing, **members}.items():
            documented = getattr(value, "__doc__", None)
            if documented:
                examples += run(documented, place, dict(known))
    assert examples > 30


def test_everything_public_is_documented() -> None:
    for name in coua.__all__:
        thing = getattr(coua, name)
        assert thing.__doc__, name
        if isinstance(thing, type):
            for member, value in vars(thing).items():
                assert member.startswith("_") or value.__doc__, f"{name}.{member}"


@pytest.mark.parametrize("module", ["polars", "duckdb", "datasets"])
def test_docstrings_of_engines(module: str) -> None:
    if module == "datasets":
        pytest.importorskip("datasets", reason="skipped: datasets is not installed")
    engine = __import__(f"coua.{module}", fromlist=["_"])
    assert run(engine.__doc__ or "", module, {}) > 2


@pytest.mark.parametrize("page", ["README.md", "docs/python.md", "docs/how-it-works.md", "crates/coua-python/README.md"])
def test_pages(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (REPOSITORY / page).read_text()
    blocks = re.findall(r"^```pycon\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert blocks, page
    monkeypatch.chdir(tmp_path)
    run("".join(blocks), page, {})


def test_the_stub_names_what_there_is() -> None:
    checker = [sys.executable, "-m", "mypy.stubtest", "coua._coua", "--allowlist", str(Path(__file__).parent / "stubtest.txt")]
    done = subprocess.run(checker, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_types(checker: str) -> None:
    path = Path(sys.executable).parent / checker
    if not path.exists() and not shutil.which(checker):
        pytest.skip(f"skipped: {checker} is not installed")
    project = Path(__file__).parents[1]
    command = [str(path), "tests/typed_example.py"]
    command += ["--pythonpath", sys.executable] if checker == "pyright" else []
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_runs(tmp_path: Path) -> None:
    example = Path(__file__).parent / "typed_example.py"
    subprocess.run([sys.executable, str(example)], cwd=tmp_path, check=True)

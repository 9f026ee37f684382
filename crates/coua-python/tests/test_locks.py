"""One process writes a file at a time."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import coua


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "seen.coua"
    with coua.open(path) as seen:
        seen.add("a")
        code = """
import sys, time, coua
path = sys.argv[1]
begin = time.monotonic()
for wait in (False, 0, 0.2):
    try:
        coua.open(path, wait=wait)
    except coua.Locked as error:
        assert "seen.coua" in str(error) and "another process" in str(error), error
    else:
        sys.exit(1)
assert time.monotonic() - begin >= 0.2
try:
    coua.CuckooFilter().save(path)
except coua.Locked:
    print("locked", flush=True)
with coua.open(path) as seen:
    print("a" in seen)
"""
        child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "locked\n"
        time.sleep(0.1)
        assert child.poll() is None
    assert child.communicate(timeout=60)[0] == "True\n"
    for wait in (-1, float("nan")):
        with pytest.raises(ValueError):
            coua.open(path, wait=wait)
    with pytest.raises(TypeError):
        coua.open(path, wait="long")  # type: ignore[arg-type]


def test_a_file_that_this_process_has_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with coua.open("relative.coua"):
        for name in ("relative.coua", tmp_path / "relative.coua"):
            with pytest.raises(coua.Locked, match="this process has it open"):
                coua.open(name)
    path, link = tmp_path / "seen.coua", tmp_path / "link.coua"
    link.symlink_to("seen.coua")
    seen = coua.open(path)
    seen.add("a")
    for wait in (True, False, 10):
        for name in (path, link):
            with pytest.raises(coua.Locked, match="this process has it open.*close"):
                coua.open(name, wait=wait)
    with pytest.raises(coua.Locked, match="this process has it open"):
        coua.CuckooFilter().save(link)
    seen.commit()
    assert "a" in coua.open(path, readonly=True)
    # A file that is not referred to any more is closed.
    del seen
    seen = coua.open(path)
    seen.abandon()
    with coua.open(path) as seen:
        assert "a" in seen
    with pytest.raises(KeyError), coua.open(link):
        raise KeyError
    coua.open(path).close()


def test_threads_that_open_one_file_get_it_once(tmp_path: Path) -> None:
    got: list[coua.File | coua.Locked] = []

    def open_it() -> None:
        try:
            got.append(coua.open(tmp_path / "seen.coua"))
        except coua.Locked as error:
            got.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(it, coua.File) for it in got) == 1 and len(got) == 8


def test_a_signal_ends_the_wait(tmp_path: Path) -> None:
    code = "import coua, sys\nprint('here', flush=True)\ncoua.open(sys.argv[1])"
    with coua.open(tmp_path / "seen.coua"):
        child = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "seen.coua")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in child.communicate(timeout=60)[1]


def test_a_fork_leaves_an_open_file_to_its_parent(tmp_path: Path) -> None:
    code = """
import gc, os, sys, coua
path = sys.argv[1]
seen = coua.open(path)
seen.add("a")
child = os.fork()
if child == 0:
    try:
        seen.add("b")
    except coua.Error as error:
        assert "forked" in str(error)
        del seen, error
        gc.collect()
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
assert seen.add("c")
seen.close()
with coua.open(path, wait=False) as again:
    assert again.contains_many(["a", "b", "c"]).tolist() == [True, False, True]
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "seen.coua")], check=True)

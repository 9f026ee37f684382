"""Filters in files: shared with the program, and with other processes."""

import os
import pickle
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import coua

Program = Callable[..., str]


def lines(keys: list[str]) -> str:
    return "".join(key + "\n" for key in keys)


def test_the_end_of_a_block_commits_and_an_exception_does_not(tmp_path: Path) -> None:
    path = tmp_path / "seen.coua"
    with coua.open(path) as seen:
        assert seen.add("a")
    with pytest.raises(KeyError), coua.open(path) as seen:
        assert not seen.add("a") and seen.add("b")
        raise KeyError
    with coua.open(path) as seen:
        assert seen.add("b")
        seen.commit()
        seen.add("c")
        seen.abandon()
        assert seen.closed
    assert coua.CuckooFilter.load(path).contains_many(["a", "b", "c"]).tolist() == [True, True, False]


def test_an_exception_leaves_no_new_file(tmp_path: Path) -> None:
    with pytest.raises(KeyError), coua.open(tmp_path / "seen.coua") as seen:
        seen.add("a")
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_a_closed_file_is_refused(tmp_path: Path) -> None:
    seen = coua.open(tmp_path / "seen.coua")
    seen.close()
    seen.close()
    assert repr(seen) == "<File: closed>"
    for use in (
        lambda: "a" in seen,
        lambda: seen.add("a"),
        lambda: seen.add_many(["a"]),
        lambda: len(seen),
        lambda: seen.copy(),
        lambda: bytes(seen),
        lambda: seen.commit(),
        lambda: seen.__enter__(),
        lambda: seen.compact(),
    ):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_readers_see_the_last_commit_and_write_nothing(tmp_path: Path) -> None:
    path = tmp_path / "seen.coua"
    with coua.open(path) as seen:
        seen.add("a")
        seen.commit()
        seen.add("b")
        with coua.open(path, readonly=True) as reader:
            assert "a" in reader and "b" not in reader
            assert reader.contains_many(["a", "b"]).tolist() == [True, False]
            for write in (
                lambda: reader.add("c"),
                lambda: reader.discard("a"),
                lambda: reader.insert_many(["c"]),
                lambda: reader.commit(),
            ):
                with pytest.raises(ValueError, match="readonly"):
                    write()
    assert coua.CuckooFilter.load(path).contains_many(["a", "b"]).all()


def test_the_same_keys_in_python_and_the_program(tmp_path: Path, program: Program) -> None:
    words = ["kestrel", "Grünspecht", "", "x" * 1000, "wren"]
    path = tmp_path / "seen.coua"
    with coua.open(path) as seen:
        assert seen.add_many(words[:3]).all()
    assert program("dedup", "--filter", path, input=lines(words)) == lines(words[3:])
    filter = coua.CuckooFilter.load(path)
    assert len(filter) == 5 and filter.contains_many(words).all() and "robin" not in filter
    with coua.open(path) as seen:
        assert not seen.add_many(words).any()
        assert seen.discard("wren")
    assert program("check", path, input=lines(words)) == lines(words[:4])
    filter.save(path)
    assert program("check", path, "-c", input=lines(words)).strip() == "5"


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ({}, []),
        ({"capacity": 10}, ["--capacity", 10]),
        (
            {"capacity": 1000, "rate": 0.001},
            ["--capacity", 1000, "--rate", 0.001, "--when-full", "stop"],
        ),
        (
            {"capacity": 1000, "rate": 0.001, "when_full": "exceed"},
            ["--capacity", 1000, "--rate", 0.001],
        ),
    ],
)
def test_files_of_python_and_the_program_are_equal(
    arguments: dict[str, object], options: list[object], tmp_path: Path, program: Program
) -> None:
    words = [str(number) for number in range(900)]
    with coua.open(tmp_path / "python", **arguments) as seen:  # type: ignore[arg-type]
        seen.add_many(words)
    program("dedup", "--filter", tmp_path / "program", *options, input=lines(words))
    in_memory = coua.CuckooFilter(**arguments)  # type: ignore[arg-type]
    in_memory.add_many(words)
    in_memory.save(tmp_path / "saved")
    files = [(tmp_path / name).read_bytes() for name in ("python", "program", "saved")]
    assert files[0] == files[2] == bytes(in_memory)
    # The program also notes how it makes keys.
    assert files[1].startswith(files[0])


def test_windows_of_python_and_the_program(tmp_path: Path, program: Program) -> None:
    path = tmp_path / "seen.coua"
    with coua.open(path, window="7d") as seen:
        seen.add("a")
    assert program("dedup", "--filter", path, "--window", "7d", input="a\nb\n") == "b\n"
    window = coua.Window.load(path)
    assert window.contains_many(["a", "b"]).all()
    with coua.open(path) as seen:
        assert not seen.add_many(["a", "b"]).any()
    for arguments, error in [
        ({"window": "8d"}, "has window 604800s in 8 generations, not 691200s in 8 generations;"),
        ({"window": "36h", "clock": "given"}, "not 129600s of given times in 8 generations;"),
        ({"window_items": 6, "generations": 2}, "not 6 items in 2 generations;"),
        ({"window": "7d", "window_by": "last"}, "not 604800s since last seen in 8 generations;"),
    ]:
        with pytest.raises(coua.Mismatch, match=re.escape(error)):
            coua.open(path, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="load it with coua.Window"):
        coua.CuckooFilter.load(path)


def test_shards_are_those_of_the_program(tmp_path: Path, program: Program) -> None:
    words = [f"word {number}" for number in range(500)]
    numbers = coua.shards(words, 3)
    for shard in (1, 2, 3):
        found = program("dedup", "--shard", f"{shard}/3", input=lines(words))
        mine = [word for word, number in zip(words, numbers, strict=True) if number == shard]
        assert found == lines(mine)
    with pytest.raises(ValueError):
        coua.shards(words, 0)
    assert coua.shards(np.arange(10, dtype="u8"), 4).tolist() == coua.shards(range(10), 4).tolist()


def test_a_killed_process_leaves_the_last_commit(tmp_path: Path) -> None:
    code = """
import os, signal, sys, coua
seen = coua.open(sys.argv[1])
seen.add_many(range(1000))
seen.commit()
seen.add_many(range(1000, 2000))
os.kill(os.getpid(), signal.SIGKILL)
"""
    path = tmp_path / "seen.coua"
    done = subprocess.run([sys.executable, "-c", code, str(path)])
    assert done.returncode == -signal.SIGKILL
    with coua.open(path, wait=False) as seen:
        assert len(seen) == 1000 and seen.contains_many(range(1000)).all()


def test_large_filters_in_files(tmp_path: Path) -> None:
    path = tmp_path / "seen.coua"
    keys = np.arange(2_000_000)
    with coua.open(path) as seen:
        for begin in range(0, len(keys), 500_000):
            assert seen.add_many(keys[begin : begin + 500_000]).all()
            seen.commit()
    with coua.open(path) as seen:
        assert seen.add(-1) and len(seen) == 2_000_001
        assert not seen.add_many(keys[::7]).any()
    with coua.open(path, readonly=True) as seen:
        assert seen.contains_many(keys).all() and -1 in seen


def test_a_file_is_compared_updated_and_cleared(tmp_path: Path) -> None:
    path = tmp_path / "seen.coua"
    with coua.open(os.fsencode(path)) as seen:
        assert seen == coua.CuckooFilter()
        seen.update(["a", "b"])
        assert seen == seen.copy() and seen
    with coua.open(path) as seen:
        assert seen == coua.CuckooFilter.load(path)
        seen.clear()
        assert len(seen) == 0
        seen.add("c")
    assert coua.CuckooFilter.load(path).contains_many(["a", "b", "c"]).tolist() == [False, False, True]
    with coua.open(path, readonly=True) as seen, pytest.raises(coua.Closed, match="readonly"):
        seen.clear()
    assert seen.closed and seen
    with pytest.raises(coua.Closed):
        assert seen == coua.CuckooFilter()


def test_unions_go_into_files(tmp_path: Path) -> None:
    with coua.open(tmp_path / "all.coua") as all:
        for shard in range(3):
            part = coua.CuckooFilter()
            part.add_many(range(shard * 100, shard * 100 + 150))
            all |= part
    assert len(coua.CuckooFilter.load(tmp_path / "all.coua")) == 350


def test_what_is_no_filter_is_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a filter" * 100)
    for use in (
        lambda: coua.open(text),
        lambda: coua.open(text, readonly=True),
        lambda: coua.CuckooFilter.load(text),
        lambda: coua.CuckooFilter().save(text),
    ):
        with pytest.raises(coua.LoadError, match="notes.txt.*not a Coua filter"):
            use()
    assert text.read_text() == "not a filter" * 100
    with pytest.raises(coua.Error, match="not a regular file"):
        coua.open(tmp_path)


def test_errors_of_the_system_are_pythons_own(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    for use in (
        lambda: coua.CuckooFilter.load(missing),
        lambda: coua.open(missing, readonly=True),
        lambda: coua.open(missing / "seen.coua"),
        lambda: coua.CuckooFilter().save(missing / "seen.coua"),
    ):
        with pytest.raises(FileNotFoundError) as error:
            use()
        assert isinstance(error.value, coua.Error) and isinstance(error.value, coua.FileError)
        assert error.value.filename.startswith(str(missing))
        assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    assert not missing.exists()


def test_a_file_that_exists_agrees_with_what_is_said(tmp_path: Path) -> None:
    path = tmp_path / "seen.coua"
    described = {"capacity": 1000, "rate": 0.001, "seed": 3, "when_full": "error"}
    for _ in range(2):
        with coua.open(path, **described):  # type: ignore[arg-type]
            pass
    coua.open(path, rate=0.01).close()
    for other in (
        {"rate": 0.0001},
        {"seed": 4},
        {"key": b"0" * 16},
        {"when_full": "grow"},
        {"max_items": 5},
        {"hash_bits": 64},
        {"window_items": 100},
    ):
        with pytest.raises((coua.Mismatch, coua.LoadError)):
            coua.open(path, **other)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="capacities"):
        coua.open(path, capacities=3)  # type: ignore[call-arg]
    assert [file.name for file in tmp_path.iterdir()] == ["seen.coua"]


def test_a_truncated_file_ends_nothing(tmp_path: Path) -> None:
    path = tmp_path / "seen.coua"
    seen = coua.CuckooFilter(4_000_000, 0.001)
    seen.add_many(range(1000))
    seen.save(path)
    loaded = coua.CuckooFilter.load(path)
    os.truncate(path, 0)
    assert loaded.contains_many(range(1000)).all()


def test_a_file_tells_how_the_program_makes_keys(tmp_path: Path, program: Program) -> None:
    path, copy = tmp_path / "seen.coua", tmp_path / "copy.coua"
    program("add", path, "--json", "/id", "-i", input='{"id":"Kestrel"}\n')
    options = {"find": {"json": ["/id"]}, "normalize": ["ignore-case"]}
    with coua.open(path) as seen:
        assert seen.key_options == options
        assert "kestrel" in seen
    assert coua.open(path, readonly=True).key_options == options
    loaded = coua.CuckooFilter.load(path)
    assert loaded.key_options == options == loaded.copy().key_options
    loaded.save(copy)
    assert program("check", copy, input="KESTREL\n") == "KESTREL\n"
    assert coua.CuckooFilter().key_options is None
    coua.CuckooFilter().save(path)
    assert coua.open(path).key_options is None

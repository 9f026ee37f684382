"""Threads, signals and forks."""

import math
import operator
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import coua


def test_two_threads_may_compare_filters_both_ways() -> None:
    one, two = coua.CuckooFilter(), coua.CuckooFilter()
    for filter in (one, two):
        filter.add_many(range(1000))

    def compare(left: coua.Filter, right: coua.Filter) -> None:
        for _ in range(100):
            assert left == right
            assert not left.add(5)

    threads = [threading.Thread(target=compare, args=pair) for pair in [(one, two), (two, one)] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_threads_share_a_filter_and_each_key_is_new_once() -> None:
    seen = coua.CuckooFilter()
    new = [0] * 4

    def add(number: int) -> None:
        for begin in range(0, 400_000, 50_000):
            new[number] += int(seen.add_many(np.arange(begin, begin + 50_000)).sum())
            new[number] += sum(seen.add(-1 - key) for key in range(begin // 50, begin // 50 + 1000))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(new) == len(seen) == 400_000 + 8000


def test_a_batch_lets_other_threads_run() -> None:
    seen = coua.CuckooFilter()
    keys = np.arange(4_000_000)
    thread = threading.Thread(target=lambda: seen.add_many(keys))
    thread.start()
    turns = 0
    while thread.is_alive():
        turns += 1
        time.sleep(0.0005)
    assert turns > 20


@pytest.mark.parametrize("keys", [np.arange(8_000_000), [str(key) for key in range(1_500_000)]], ids=["array", "list"])
def test_single_calls_go_between_the_parts_of_a_batch(keys: np.ndarray | list[str]) -> None:
    seen = coua.CuckooFilter()
    done = threading.Event()
    thread = threading.Thread(target=lambda: (seen.add_many(keys), done.set()))
    thread.start()
    while not len(seen):
        time.sleep(0.001)
    calls = 0
    while not done.is_set():
        assert "x" not in seen and seen.add(f"single {calls}") and seen.count("y") == 0
        calls += 1
    thread.join()
    # All of these would wait for the whole batch otherwise.
    assert calls > 3
    assert len(seen) == len(keys) + calls


def test_a_batch_has_the_lock_for_a_few_thousand_keys() -> None:
    """Longer than that no single call waits for it, whatever the machine."""
    seen, lengths = coua.CuckooFilter(), []
    thread = threading.Thread(target=lambda: seen.add_many(np.arange(8_000_000)))
    thread.start()
    while thread.is_alive():
        lengths.append(len(seen))
    assert math.gcd(*(length for length in lengths if length != 8_000_000)) == 1 << 12


def test_lookups_do_not_wait_for_each_other(tmp_path: Path) -> None:
    saved = tmp_path / "seen.coua"
    seen = coua.CuckooFilter()
    seen.add_many(np.arange(1000))
    seen.save(saved)
    window = coua.Window("1h")
    window.add_many(np.arange(1000))
    with coua.open(saved) as file, coua.open(saved, readonly=True) as reader:
        for filter in (seen, window, file, reader):
            thread = threading.Thread(target=filter.contains_many, args=(np.arange(10_000_000),))
            longest, begin = 0.0, time.monotonic()
            thread.start()
            while thread.is_alive():
                before = time.monotonic()
                assert 5 in filter and filter.count(7) == 1 and len(filter) == 1000
                longest = max(longest, time.monotonic() - before)
            assert longest < 0.5 * (time.monotonic() - begin), filter


def test_a_signal_ends_a_batch_and_what_is_in_is_told() -> None:
    def alarm(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, alarm)
    seen = coua.CuckooFilter()
    keys = np.arange(20_000_000)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.15)
        with pytest.raises(KeyboardInterrupt) as interrupted:
            while True:
                seen.clear()
                seen.add_many(keys)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    notes = getattr(interrupted.value, "__notes__", [])
    if notes:
        assert notes == [f"(after {len(seen)} keys of the batch)"]
    assert seen.contains_many(keys[: len(seen)]).all()


def ended_by_a_signal(prepare: Callable[[], tuple[Any, ...]]) -> list[Any]:
    """Calls the function that is prepared, until a signal has ended the call itself, and not what follows it. Returns
    the arguments. A call should take 0.2 seconds or more: signals are looked at every 0.02."""

    def alarm(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, alarm)
    try:
        for delay in 5 * (0.05, 0.02, 0.005):
            function, *arguments = prepare()
            ends: list[str] = []

            def note(_: object, event: str, called: object) -> None:
                # The value that a Python function returns is no call.
                if event.startswith("c_") and called == function:  # noqa: B023
                    ends.append(event)  # noqa: B023

            sys.setprofile(note)
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                function(*arguments)
                time.sleep(1)
            except KeyboardInterrupt:
                pass
            finally:
                sys.setprofile(None)
            if ends == ["c_call", "c_exception"]:
                return arguments
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    raise AssertionError("each call came to its end before the signal was looked at")


@pytest.fixture(scope="module")
def many() -> coua.CuckooFilter:
    filter = coua.CuckooFilter()
    filter.add_many(np.arange(4_000_000))
    return filter


def few() -> coua.CuckooFilter:
    filter = coua.CuckooFilter()
    filter.add_many(np.arange(-1000, 0))
    return filter


def test_a_signal_ends_a_union_and_the_filter_is_as_it_was(many: coua.CuckooFilter) -> None:
    for union in (operator.ior, operator.or_):
        seen, _ = ended_by_a_signal(lambda: (union, few(), many))
        assert seen == few()
    seen |= many
    assert len(seen) == 4_001_000


def test_a_signal_ends_an_intersection_and_the_filter_is_as_it_was(many: coua.CuckooFilter) -> None:
    for intersection in (operator.iand, operator.and_):
        seen, _ = ended_by_a_signal(lambda: (intersection, many.copy(), few()))
        assert seen == many


def test_a_signal_ends_compacting_and_the_filter_is_as_it_was(many: coua.CuckooFilter) -> None:
    sparse = many.copy()
    sparse.discard_many(np.arange(3_000_000))
    copies = []

    def prepare() -> tuple[Any, ...]:
        copies.append(sparse.copy())
        return (copies[-1].compact,)

    ended_by_a_signal(prepare)
    assert copies[-1] == sparse
    copies[-1].compact()
    assert copies[-1].memory_bytes < sparse.memory_bytes


@pytest.fixture(scope="module")
def roomy() -> coua.CuckooFilter:
    return coua.CuckooFilter(20_000_000)


def test_a_signal_ends_a_save_and_the_old_file_stays(roomy: coua.CuckooFilter, tmp_path: Path) -> None:
    path, new = tmp_path / "seen.coua", tmp_path / "new.coua"
    few().save(path)
    old = path.read_bytes()

    def prepare(to: Path) -> tuple[Any, ...]:
        path.write_bytes(old)
        new.unlink(missing_ok=True)
        return roomy.save, to

    for to in (path, new):
        ended_by_a_signal(lambda: prepare(to))  # noqa: B023
        assert list(tmp_path.iterdir()) == [path]
        unchanged = path.read_bytes() == old  # pytest would list every byte that differs
        assert unchanged
    roomy.save(path)
    assert coua.CuckooFilter.load(path) == roomy


def test_a_signal_ends_loading_and_making_bytes(roomy: coua.CuckooFilter, tmp_path: Path) -> None:
    path = tmp_path / "seen.coua"
    roomy.save(path)
    ended_by_a_signal(lambda: (coua.CuckooFilter.load, path))
    ended_by_a_signal(lambda: (roomy.__bytes__,))


def test_a_signal_ends_the_look_at_a_large_array() -> None:
    for keys in (np.arange(30_000_000), np.zeros(8_000_000, dtype="V32"), pa.array(np.arange(30_000_000))):
        ended_by_a_signal(lambda: (coua.shards, keys, 4))


def test_a_union_with_a_filter_that_changes_meanwhile_loses_nothing(many: coua.CuckooFilter) -> None:
    seen, added = coua.CuckooFilter(), []
    thread = threading.Thread(target=seen.update, args=(many,))
    thread.start()
    while thread.is_alive():
        added.append(seen.add(-1 - len(added)))
    assert all(added) and len(seen) == 4_000_000 + len(added)
    assert seen.contains_many(np.arange(-len(added), 0)).all()


def test_a_fork_may_use_filters_in_memory() -> None:
    code = """
import os, coua
seen = coua.CuckooFilter()
seen.add("a")
child = os.fork()
if child == 0:
    os._exit(0 if "a" in seen and seen.add("b") and len(seen) == 2 else 1)
assert os.waitpid(child, 0)[1] == 0
assert "b" not in seen
"""
    subprocess.run([sys.executable, "-c", code], check=True)

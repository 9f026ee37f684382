"""What filters in memory answer, against exact sets; and what goes wrong."""

import copy
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import coua

Make = Callable[[], coua.Filter]
FILTERS: list[Make] = [coua.CuckooFilter, lambda: coua.Window("1h"), lambda: coua.CuckooFilter(layout="overlapping")]


@pytest.mark.parametrize("make", FILTERS)
def test_answers_are_those_of_a_counter(make: Make) -> None:
    chance = random.Random(7)
    seen, exact = make(), Counter[int]()
    for _ in range(300):
        keys = [chance.randrange(500) for _ in range(chance.randrange(40))]
        match chance.randrange(4):
            case 0:
                answers = seen.add_many(keys).tolist()
                for key, answer in zip(keys, answers, strict=True):
                    assert answer == (exact[key] == 0)
                    exact[key] = max(exact[key], 1)
            case 1:
                seen.insert_many(keys)
                exact.update(keys)
            case 2:
                for key, answer in zip(keys, seen.discard_many(keys).tolist(), strict=True):
                    assert answer == (exact[key] > 0)
                    exact[key] = max(exact[key] - 1, 0)
            case _:
                for key in keys:
                    assert seen.add(key) == (exact[key] == 0)
                    exact[key] = max(exact[key], 1)
                    if chance.random() < 0.5:
                        assert seen.discard(key)
                        exact[key] -= 1
        every = np.arange(500)
        assert seen.count_many(every).tolist() == [exact[key] for key in range(500)]
        assert seen.contains_many(every).tolist() == [exact[key] > 0 for key in range(500)]
        assert len(seen) == exact.total()


def test_the_rate_is_as_asked_for() -> None:
    seen = coua.CuckooFilter(200_000, 0.01)
    seen.add_many(np.arange(200_000))
    wrong = seen.contains_many(np.arange(10**9, 10**9 + 200_000)).sum()
    # 2,000 are expected at most; five times the deviation of that.
    assert 0 < wrong < 2000 + 5 * 45
    assert seen.contains_many(np.arange(200_000)).all()


def test_a_filter_that_fills_in_a_batch_says_how_many_keys_are_in() -> None:
    seen = coua.CuckooFilter(1000, 0.001)
    keys = np.repeat(np.arange(3000), 2)
    with pytest.raises(coua.Full, match="1000 items") as full:
        seen.add_many(keys)
    done, answers = full.value.done, full.value.answers
    assert answers is not None and len(answers) == done and answers.sum() == 1000 == len(seen)
    assert seen.contains_many(keys[:done]).all()
    with pytest.raises(coua.Full) as full:
        seen.add(int(keys[done]))
    assert full.value.done == 0
    with pytest.raises(coua.Full) as full:
        seen.insert_many([5000, None, 6000], null="skip")
    assert (full.value.done, full.value.answers) == (0, None)
    assert len(seen) == 1000


def test_nulls_count_among_the_keys_that_are_done() -> None:
    seen = coua.CuckooFilter(2, 0.001, when_full="error")
    with pytest.raises(coua.Full) as full:
        seen.add_many([None, "a", None, "b", None, "c", None, "d"], null="skip")
    assert full.value.done == 5
    assert full.value.answers is not None
    assert full.value.answers.tolist() == [False, True, False, True, False]


@pytest.mark.parametrize("make", [*FILTERS, lambda: coua.Window(items=100, seed=3)])
def test_copies_pickles_and_bytes_are_equal_and_independent(make: Make) -> None:
    seen = make()
    seen.add_many(["a", "b"])
    kind = type(seen)
    copies = [copy.copy(seen), copy.deepcopy(seen), seen.copy(), pickle.loads(pickle.dumps(seen))]
    copies.append(kind.from_bytes(bytes(seen)))  # type: ignore[attr-defined]
    for other in copies:
        assert type(other) is kind
        assert bytes(other) == bytes(seen)
        assert other.add("c") and "c" not in seen


def test_secret_keys_are_in_no_pickle() -> None:
    secret = b"0123456789abcdef"
    seen = coua.CuckooFilter(key=secret)
    seen.add("a")
    with pytest.raises(TypeError, match="secret key"):
        pickle.dumps(seen)
    assert secret not in bytes(seen)
    assert "a" in copy.copy(seen)
    with pytest.raises(coua.LoadError, match="key"):
        coua.CuckooFilter.from_bytes(bytes(seen))
    with pytest.raises(coua.LoadError, match="key"):
        coua.CuckooFilter.from_bytes(bytes(seen), key=b"0" * 16)
    assert "a" in coua.CuckooFilter.from_bytes(bytes(seen), key=secret)


def test_union() -> None:
    one, two = coua.CuckooFilter(), coua.CuckooFilter()
    one.add_many(range(100))
    two.add_many(range(50, 200))
    union = one | two
    one |= two
    one |= one
    for filter in (one, union):
        assert len(filter) == 200 and filter.contains_many(range(200)).all()
    assert len(two) == 150
    before = bytes(one)
    for other in (coua.CuckooFilter(seed=1), coua.CuckooFilter(hash_bits=40), coua.Window("1h")):
        with pytest.raises(coua.MergeError):
            one |= other
    with pytest.raises(TypeError):
        one |= {"a"}  # type: ignore[arg-type]
    assert bytes(one) == before


def test_union_of_windows_by_time() -> None:
    one, two = (coua.Window("1h", clock="given") for _ in range(2))
    one.add_many(["a"], times=[0])
    two.add_many(["b"], times=[3_000_000])
    one |= two
    assert one.contains_many(["a", "b"]).all()
    one.advance(6_000_000)
    assert one.contains_many(["a", "b"]).tolist() == [False, True]


def test_windows_forget() -> None:
    window = coua.Window(timedelta(minutes=10), clock="given", generations=10)
    minutes = np.array(["2026-01-01T00:00", "2026-01-01T00:05", "2026-01-01T00:12"], "M8[m]")
    assert window.add_many(["a", "b", "a"], times=minutes).all()
    assert window.contains_many(["a", "b"]).all()
    window.advance(int(minutes[-1].astype("M8[ms]").astype(int)) + 8 * 60_000)
    assert window.contains_many(["a", "b"]).tolist() == [True, False]
    assert window.forgotten == 2
    counted = coua.Window(items=100, generations=4)
    counted.add_many(range(1000))
    assert counted.contains_many(range(900, 1000)).all() and not counted.contains_many(range(800)).any()


def test_a_window_by_arrival_forgets_by_the_clock() -> None:
    window = coua.Window("200ms", generations=2)
    assert window.add("a") and not window.add("a")
    deadline = time.monotonic() + 60
    while "a" in window:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert window.add("a")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"length": "7x"},
        {"length": ""},
        {"length": "7"},
        {"length": "1h", "items": 3},
        {"items": 3, "clock": "given"},
        {"items": 3},
        {"length": "1h", "generations": 0},
        {"length": "1h", "clock": "wall"},
        {"length": "99999999999999999999d"},
    ],
)
def test_windows_that_cannot_be(arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        coua.Window(**arguments)  # type: ignore[arg-type]


def test_times_of_all_kinds() -> None:
    zone = timezone(timedelta(hours=2))
    here = [datetime(2026, 1, 1, 2, tzinfo=zone), datetime(2026, 1, 1, 14, tzinfo=zone)]
    plain = [datetime(2026, 1, 1), datetime(2026, 1, 1, 12)]
    kinds: list[object] = [
        here,
        plain,
        [plain[0], here[1]],
        np.array(plain, "M8[s]"),
        np.array(plain, object),
        pl.Series(plain),
        pl.Series(here),
        pa.array(here),
        pd.Series(plain),
        pd.Series(here),
        pd.DatetimeIndex(here),
        pd.Series(here, dtype=object),
        [1_767_225_600_000, 1_767_268_800_000],
    ]
    for times in kinds:
        window = coua.Window("1h", clock="given", generations=4)
        window.add_many(["early", "late"], times=times)  # type: ignore[arg-type]
        assert window.contains_many(["early", "late"]).tolist() == [False, True], times
        # Its clock is exact to a generation.
        window.advance(1_767_268_800_000 + 3_600_000)
        assert "late" in window
        window.advance(1_767_268_800_000 + 4_500_001)
        assert "late" not in window


def test_times_only_where_they_have_a_meaning() -> None:
    given = coua.Window("1h", clock="given")
    for filter, times, error in [
        (coua.CuckooFilter(), [1], ValueError),
        (coua.Window("1h"), [1], ValueError),
        (given, [1, 2], ValueError),
        (given, [-1], ValueError),
        (given, ["NaT"], TypeError),
        (given, np.array(["NaT"], "M8[s]"), ValueError),
        (given, [1.5], TypeError),
        (given, [None], TypeError),
        (given, [datetime(1969, 1, 1)], ValueError),
        (given, [datetime(2026, 1, 1).date()], TypeError),
        (given, pd.Series([None], dtype="datetime64[ns, UTC]"), ValueError),
    ]:
        with pytest.raises(error):
            filter.add_many(["a"], times=times)
        assert len(filter) == 0
    with pytest.raises(ValueError, match="told the time"):
        coua.Window("1h").advance(5)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"capacity": 10, "rate": 2.0}, ValueError),
        ({"rate": 0.1}, ValueError),
        ({"capacity": -1}, OverflowError),
        ({"capacity": 10**12, "rate": 1e-12}, ValueError),
        ({"capacity": 10**17}, MemoryError),
        ({"hash_bits": 65}, ValueError),
        ({"capacity": 10, "rate": 0.1, "hash_bits": 20}, ValueError),
        ({"layout": "windows"}, ValueError),
        ({"when_full": "never"}, ValueError),
        ({"seed": 1, "key": b"0" * 16}, ValueError),
        ({"key": b"short"}, ValueError),
        ({"capacity": "10"}, TypeError),
        ({"rates": 0.1}, TypeError),
    ],
)
def test_filters_that_cannot_be(arguments: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        coua.CuckooFilter(**arguments)  # type: ignore[arg-type]


def test_damaged_bytes_are_refused() -> None:
    seen = coua.CuckooFilter()
    seen.add_many(range(1000))
    whole = bytes(seen)
    chance = random.Random(1)
    for _ in range(200):
        place = chance.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        with pytest.raises(coua.LoadError):
            coua.CuckooFilter.from_bytes(bytes(damaged))
        with pytest.raises(coua.LoadError):
            coua.CuckooFilter.from_bytes(whole[:place])
    with pytest.raises(ValueError, match="Window loads it"):
        coua.CuckooFilter.from_bytes(bytes(coua.Window("1h")))
    with pytest.raises(ValueError, match="CuckooFilter loads it"):
        coua.Window.from_bytes(whole)


@pytest.mark.filterwarnings("error")
def test_add_and_discard_with_a_rate_warn_once() -> None:
    make = [
        lambda: coua.CuckooFilter(1000, 0.01),
        lambda: coua.CuckooFilter(hash_bits=40),
        lambda: coua.Window("1h", capacity=1000, rate=0.01),
    ]
    for new in make:
        for add in (lambda: seen.add("a"), lambda: seen.add_many(["a"])):
            for discard in (lambda: seen.discard("a"), lambda: seen.discard_many(["a"])):
                seen = new()
                add()
                with pytest.raises(UserWarning, match="filled by add.*Fill it with insert"):
                    discard()
                assert "a" in seen
                discard()
                assert "a" not in seen
        seen = new()
        seen.insert("a")
        seen.insert_many(["b"])
        assert seen.discard("a") and seen.discard_many(["b"]).all()
    exact = coua.CuckooFilter()
    assert exact.add("a") and exact.discard("a")


def test_insert_and_discard_with_a_rate_lose_nothing() -> None:
    keys = np.arange(150_000)
    lost = []
    for fill in (coua.CuckooFilter.insert_many, coua.CuckooFilter.add_many):
        seen = coua.CuckooFilter(200_000, 0.001)
        fill(seen, keys)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seen.discard_many(keys[::2])
        lost.append(int((~seen.contains_many(keys[1::2])).sum()))
    # That of `add` is what the warning is about.
    assert lost[0] == 0 < lost[1]


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


def test_lookups_do_not_wait_for_each_other(tmp_path: Path) -> None:
    saved = tmp_path / "seen.coua"
    seen = coua.CuckooFilter()
    seen.add_many(np.arange(1000))
    seen.save(saved)
    window = coua.Window("1h")
    window.add_many(np.arange(1000))
    with coua.open(saved) as file, coua.open(saved, readonly=True) as reader:
        for filter in (seen, window, file, reader):
            thread = threading.Thread(target=filter.contains_many, args=(np.arange(30_000_000),))
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


def test_bloom_filters() -> None:
    words = coua.BloomFilter(100_000, 0.01)
    assert words.add("a") and not words.add("a") and "a" in words
    assert words.add_many(np.arange(100_000)).sum() > 99_000
    assert words.contains_many(np.arange(100_000)).all()
    assert words.contains_many(np.arange(10**9, 10**9 + 10_000)).mean() < 0.015
    for other in (pickle.loads(pickle.dumps(words)), copy.copy(words), copy.deepcopy(words)):
        assert other.contains_many(np.arange(100_000)).all()
        other.add("b")
        assert "b" not in words
    more = coua.BloomFilter(100_000, 0.01)
    more.add("b")
    more |= words
    assert "a" in more and "b" in more and "b" not in words
    with pytest.raises(coua.MergeError):
        more |= coua.BloomFilter(10, 0.01)
    with pytest.raises(ValueError):
        coua.BloomFilter(10, 0)
    with pytest.raises(TypeError, match="no key"):
        more.add(1.5)  # type: ignore[arg-type]


def test_plans() -> None:
    plan = coua.plan(1_000_000, 0.001)
    assert plan.rate <= 0.001 and plan.bits_per_item < 13.8
    assert plan.bloom_bytes is not None and plan.bloom_bytes > plan.memory_bytes
    made = coua.CuckooFilter(1_000_000, 0.001)
    assert abs(made.memory_bytes - plan.memory_bytes) < 0.02 * plan.memory_bytes
    assert coua.plan(10**6).hash_bits == 64
    with pytest.raises(ValueError):
        coua.plan(10, 0.1, hash_bits=20)


def test_descriptions() -> None:
    seen = coua.CuckooFilter(1000, 0.01)
    assert repr(seen) == "CuckooFilter(0 items, false positive rate 0.0e0, 0.0 MB)"
    assert (seen.max_items, seen.capacity >= 1000) == (1000, True)
    assert coua.CuckooFilter().max_items is None
    seen.add_many(range(1000))
    assert 0 < seen.false_positive_rate <= 0.01
    assert not coua.CuckooFilter()
    with pytest.raises(TypeError):
        list(seen)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="cannot create"):
        coua.Filter()

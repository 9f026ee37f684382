"""What filters in memory answer, against exact sets; and what goes wrong."""

import array
import copy
import os
import pickle
import random
import re
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
import weakref
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


@pytest.mark.parametrize("make", [coua.CuckooFilter, lambda: coua.CuckooFilter(200_000, 1e-7)], ids=["exact", "rate"])
def test_two_passes_tell_what_occurs_once_and_the_last_of_each(make: Callable[[], coua.CuckooFilter]) -> None:
    """The recipe of docs/python.md, batch by batch."""
    chance = random.Random(5)
    lines = [f"line {chance.randrange(50_000)}" for _ in range(100_000)]
    batches = [lines[begin : begin + 7000] for begin in range(0, len(lines), 7000)]
    exact = Counter(lines)
    copies = make()
    for batch in batches:
        copies.insert_many(batch)
    counts = [count for batch in batches for count in copies.count_many(batch).tolist()]
    assert counts == [exact[line] for line in lines]
    last = {}
    for number, line in enumerate(lines):
        last[line] = number
    # A copy goes with each line, and with the last one the key.
    found, number = [], 0
    for batch in batches:
        for line in batch:
            assert copies.discard_many([line]).all()
            if line not in copies:
                found.append(number)
            number += 1
    assert found == sorted(last.values()) and len(copies) == 0


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
    whole = bytes(seen)
    for buffer in (whole, bytearray(whole), memoryview(whole), np.frombuffer(whole, "u1"), array.array("B", whole)):
        copies.append(kind.from_bytes(buffer))  # type: ignore[attr-defined]
    for other in copies:
        assert type(other) is kind
        assert bytes(other) == whole
        assert other == seen and not other != seen
        assert other.add("c") and "c" not in seen


def test_buffers_that_are_no_filters() -> None:
    for kind in (coua.CuckooFilter, coua.Window, coua.BloomFilter):
        for data in (b"", memoryview(b"x" * 200)):
            with pytest.raises(coua.LoadError):
                kind.from_bytes(data)
        with pytest.raises(TypeError, match="bytes-like"):
            kind.from_bytes("text")  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [*FILTERS, lambda: coua.Window(items=100), lambda: coua.BloomFilter(100, 0.01)])
def test_filters_are_compared_by_what_they_hold(make: Callable[[], coua.Filter | coua.BloomFilter]) -> None:
    one, two = make(), make()
    assert one == two and one == one and not one != two
    one.add("a")
    assert one != two
    two.add("a")
    assert one == two
    for other in (coua.CuckooFilter(seed=1), coua.Window("2h"), coua.BloomFilter(100, 0.1), {"a"}, None):
        assert one != other
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


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


@pytest.mark.parametrize("make", [*FILTERS, lambda: coua.BloomFilter(100, 0.01)])
def test_words_of_sets(make: Callable[[], coua.CuckooFilter | coua.BloomFilter]) -> None:
    seen, other = make(), make()
    # `filter or CuckooFilter()` must not drop a filter because it is empty.
    assert bool(seen) is True
    assert seen.update(["a", None, "b", "a"], null="skip") is None
    assert "a" in seen and "b" in seen
    other.update({"c"})
    union = seen | other
    seen.update(other)
    assert "c" in seen and union == seen and "a" not in other
    with pytest.raises(TypeError, match="null"):
        seen.update([None])
    reference = weakref.ref(seen)
    assert reference() is seen
    del seen
    assert reference() is None


@pytest.mark.parametrize("make", [*FILTERS, lambda: coua.Window(items=1000)])
def test_clear(make: Make) -> None:
    seen = make()
    seen.insert_many(["a", "b", "a"])
    seen.clear()
    assert len(seen) == 0 and seen.contains_many(["a", "b"]).sum() == 0
    assert seen.add_many(["a", "b", "a"]).tolist() == [True, True, False]


def test_a_window_that_is_cleared_keeps_its_time() -> None:
    window = coua.Window("1h", clock="given")
    window.add_many(["a"], times=[10**12])
    window.clear()
    window.add_many(["late", "now"], times=[0, 10**12])
    assert window.contains_many(["a", "late", "now"]).tolist() == [False, False, True]


def test_bloom_filters_as_bytes_and_files(tmp_path: Path) -> None:
    words = coua.BloomFilter(1000, 0.01, seed=5)
    words.add_many(range(1000))
    words.save(tmp_path / "words.coua")
    words.save(os.fsencode(tmp_path / "words.coua"))
    assert [path.name for path in tmp_path.iterdir()] == ["words.coua"]
    whole = (tmp_path / "words.coua").read_bytes()
    assert whole == bytes(words)
    loaded = coua.BloomFilter.load(tmp_path / "words.coua")
    assert loaded == words == coua.BloomFilter.from_bytes(memoryview(whole))
    assert loaded.contains_many(range(1000)).all() and loaded != coua.BloomFilter(1000, 0.01)
    # The header, as docs/format.md has it.
    magic, version, kind, header, features, algorithm, seed, bits, probes = struct.unpack_from("<8sHHIIIQQQ", whole)
    assert (magic, version, kind, header) == (b"\x89COUA\r\n\x1a", 1, 2, 64)
    assert (features, algorithm, seed, probes) == (0, 1, 5, 7) and len(whole) == 64 + -(-bits // 64) * 8
    chance = random.Random(3)
    for _ in range(200):
        place = chance.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        for data in (damaged, whole[:place]):
            with pytest.raises(coua.LoadError):
                coua.BloomFilter.from_bytes(data)
    with pytest.raises(coua.LoadError, match="CuckooFilter or coua.Window loads it"):
        coua.BloomFilter.from_bytes(bytes(coua.CuckooFilter()))
    with pytest.raises(coua.LoadError):
        coua.CuckooFilter.from_bytes(whole)
    with pytest.raises(coua.LoadError) as error:
        coua.BloomFilter.load(__file__)
    assert "test_filters.py" in error.value.__notes__[0]
    with pytest.raises(FileNotFoundError):
        coua.BloomFilter.load(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        words.save(tmp_path / "missing" / "words.coua")
    secret = coua.BloomFilter(1000, 0.01, key=b"0123456789abcdef")
    secret.add("a")
    with pytest.raises(TypeError, match="secret key"):
        pickle.dumps(secret)
    assert "a" in coua.BloomFilter.from_bytes(bytes(secret), key=b"0123456789abcdef")
    for key, text in ((None, "give it by key"), (b"0" * 16, "another secret key")):
        with pytest.raises(coua.LoadError, match=text):
            coua.BloomFilter.from_bytes(bytes(secret), key=key)
    with pytest.raises(coua.LoadError, match="no secret key"):
        coua.BloomFilter.from_bytes(whole, key=b"0" * 16)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: coua.CuckooFilter(-1), OverflowError, "-1 is not between 0 and 2**64 - 1"),
        (lambda: coua.CuckooFilter(max_items=2**64), OverflowError, "18446744073709551616 is not between"),
        (lambda: coua.CuckooFilter(hash_bits=2**32), OverflowError, "4294967296 is not between 0 and 2**32 - 1"),
        (lambda: coua.shards([], -1), OverflowError, "-1 is not between 0 and 2**32 - 1"),
        (lambda: coua.CuckooFilter(key=b"x"), ValueError, "a key has 16 bytes, such as secrets.token_bytes(16), and not 1"),
        (lambda: coua.CuckooFilter(key="x" * 16), TypeError, "bytes-like"),  # type: ignore[arg-type]
        (lambda: coua.CuckooFilter("10"), TypeError, "cannot be interpreted as an integer"),  # type: ignore[arg-type]
        (lambda: coua.CuckooFilter.load(5), TypeError, "expected str, bytes or os.PathLike object, not int"),  # type: ignore[arg-type]
        (lambda: coua.BloomFilter(-5, 0.1), OverflowError, "-5 is not between"),
    ],
)
def test_arguments_are_refused_in_words_of_python(call: Callable[[], object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        call()


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
                assert "a" not in seen and seen.add("b") and seen.discard("b")
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
    assert repr(seen) == f"<CuckooFilter: 0 items, false positive rate 0, {seen.memory_bytes / 1000:.1f} kB>"
    assert re.fullmatch(r"<BloomFilter: about 0 items, false positive rate 0, \d+\.\d kB>", repr(coua.BloomFilter(1000, 0.01)))
    plan = coua.plan(1000, 0.01)
    described = eval(repr(plan).replace("Plan(", "dict("))
    assert described == {name: getattr(plan, name) for name in described} and len(described) == 6
    assert (seen.max_items, seen.capacity >= 1000) == (1000, True)
    assert coua.CuckooFilter().max_items is None
    seen.add_many(range(1000))
    assert 0 < seen.false_positive_rate <= 0.01
    assert f"{len(seen)} items, false positive rate {seen.false_positive_rate:.1e}, " in repr(seen)
    with pytest.raises(TypeError):
        list(seen)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="cannot create"):
        coua.Filter()

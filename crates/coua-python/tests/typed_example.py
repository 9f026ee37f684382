"""Uses everything that is public, for type checkers; it runs as well."""

import copy
import pickle
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import assert_type

import duckdb
import numpy as np
import polars
from numpy.typing import NDArray

import coua
import coua.duckdb
import coua.polars


def single(seen: coua.Filter) -> None:
    assert_type(seen.add("kestrel"), bool)
    assert_type("kestrel" in seen, bool)
    seen.insert(b"kestrel")
    assert_type(seen.count(bytearray(b"kestrel")), int)
    assert_type(seen.discard(memoryview(b"kestrel")), bool)
    seen.add(7)
    seen.add(np.int64(7))
    assert_type(len(seen), int)


def batches(seen: coua.Filter) -> None:
    assert_type(seen.add_many(["a", "b"]), NDArray[np.bool_])
    assert_type(seen.contains_many(np.arange(10)), NDArray[np.bool_])
    assert_type(seen.count_many(polars.Series(["a"])), NDArray[np.uint64])
    assert_type(seen.discard_many(["a", None], null="skip"), NDArray[np.bool_])
    seen.insert_many(key for key in (1, 2, 3))
    seen.update(["a", None], null="skip")


def described(seen: coua.Filter) -> tuple[float, int, float, int, int | None]:
    return (
        seen.false_positive_rate,
        seen.memory_bytes,
        seen.hash_bits,
        seen.capacity,
        seen.max_items,
    )


def in_memory() -> None:
    seen = coua.CuckooFilter(1_000_000, 0.001, max_items=2_000_000, seed=0)
    single(seen)
    batches(seen)
    described(seen)
    other = coua.CuckooFilter(1_000_000, 0.001, max_items=2_000_000, when_full="grow")
    seen |= other
    assert_type(seen | other, coua.CuckooFilter)
    assert_type(seen.copy(), coua.CuckooFilter)
    assert_type(copy.deepcopy(seen), coua.CuckooFilter)
    coua.CuckooFilter.from_bytes(bytes(pickle.loads(pickle.dumps(seen))))
    seen.compact()
    seen.clear()
    seen.update(other)
    assert_type(seen == other, bool)
    seen.save(b"memory.coua")
    coua.CuckooFilter.from_bytes(memoryview(bytes(seen)))
    assert_type(coua.CuckooFilter.load(Path("memory.coua")), coua.CuckooFilter)
    secret = coua.CuckooFilter(key=b"0123456789abcdef", hash_bits=40)
    coua.CuckooFilter.from_bytes(bytes(secret), key=b"0123456789abcdef")


def windows() -> None:
    week = coua.Window("7d", generations=7)
    single(week)
    given = coua.Window(timedelta(hours=1), clock="given")
    given.add_many(["a"], times=np.array(["2026-01-01"], "M8[ms]"))
    given.insert_many(["a"], times=[1_800_000_000_000])
    given.add_many(["a"], times=[datetime(2027, 6, 1, tzinfo=timezone.utc)])
    given.add_many(["a"], times=polars.Series([datetime(2027, 6, 1)]))
    given.advance(1_900_000_000_000)
    assert_type(given.forgotten, int)
    given.save("window.coua")
    assert_type(coua.Window.load("window.coua"), coua.Window)
    batches(coua.Window(items=1000, rate=0.001, max_items=2000))


def files() -> None:
    with coua.open("seen.coua", wait=10, max_items=1_000_000, rate=0.001) as seen:
        assert_type(seen, coua.File)
        single(seen)
        seen.commit()
        print(seen.path, seen.closed)
    with coua.open("seen.coua", readonly=True) as seen:
        print("a" in seen)
    seen = coua.open("week.coua", window="7d", generations=7)
    seen.abandon()
    seen.close()


def errors() -> None:
    try:
        coua.CuckooFilter(10, 0.001, when_full="error").add_many(range(1000))
    except coua.Full as full:
        assert_type(full.done, int)
        assert_type(full.answers, NDArray[np.bool_] | None)
    for error in (coua.Closed, coua.FileError, coua.Full, coua.LoadError, coua.Locked, coua.MergeError, coua.Mismatch):
        assert issubclass(error, coua.Error)


def others() -> None:
    assert_type(coua.CuckooFilter() & coua.CuckooFilter(), coua.CuckooFilter)
    plan = coua.plan(1_000_000, 0.001)
    print(plan.items, plan.rate, plan.memory_bytes, plan.bits_per_item, plan.hash_bits)
    assert_type(coua.shards(["a", None], 8, null="skip"), NDArray[np.uint32])
    frame = polars.LazyFrame({"url": ["a", "b", "a"]})
    assert_type(coua.polars.first_seen(frame, "url"), polars.LazyFrame)
    coua.duckdb.register(duckdb.connect(), "first_seen", coua.CuckooFilter())


if __name__ == "__main__":
    in_memory()
    windows()
    files()
    errors()
    others()

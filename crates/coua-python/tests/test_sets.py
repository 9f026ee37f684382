"""Filters as sets, and as bytes: copies, comparisons, unions, pickles."""

import array
import copy
import pickle
import random
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import coua

Make = Callable[[], coua.Filter]
FILTERS: list[Make] = [coua.CuckooFilter, lambda: coua.Window("1h")]


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
    for kind in (coua.CuckooFilter, coua.Window):
        for data in (b"", memoryview(b"x" * 200)):
            with pytest.raises(coua.LoadError):
                kind.from_bytes(data)
        with pytest.raises(TypeError, match="bytes-like"):
            kind.from_bytes("text")  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [*FILTERS, lambda: coua.Window(items=100)])
def test_filters_are_compared_by_what_they_hold(make: Make) -> None:
    one, two = make(), make()
    assert one == two and one == one and not one != two
    one.add("a")
    assert one != two
    two.add("a")
    assert one == two
    for other in (coua.CuckooFilter(seed=1), coua.Window("2h"), {"a"}, None):
        assert one != other
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@pytest.mark.parametrize("make", FILTERS)
def test_words_of_sets(make: Make) -> None:
    seen, other = make(), make()
    # `filter or CuckooFilter()` must not drop a filter because it is empty.
    assert bool(seen) is True
    assert seen.update(["a", None, "b", "a"], null="skip") is None
    assert "a" in seen and "b" in seen
    other.update({"c"})
    union = seen | other
    seen.update(other)
    assert "c" in seen and union == seen and "a" not in other
    if not isinstance(seen, coua.Window):
        both = seen & other
        assert "c" in both and "a" not in both and "a" in seen
        seen &= other
        assert "c" in seen and "a" not in seen
        seen.clear()
        assert "c" not in seen and seen == make()
        with pytest.raises(coua.MergeError):
            seen & coua.CuckooFilter(seed=1)
        with pytest.raises(TypeError):
            seen & {"a"}  # type: ignore[operator]
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


def test_intersections(tmp_path: Path) -> None:
    one, two = coua.CuckooFilter(), coua.CuckooFilter()
    one.insert_many([*range(1000), 5, 900])
    two.update(range(900, 2000))
    both = one & two
    assert len(both) == 101 and both.count(900) == 2 and 5 not in both and len(one) == 1002
    one &= one
    assert len(one) == 1002
    with coua.open(tmp_path / "seen.coua") as file:
        file.update(range(1000))
        whole = file
        file &= two
        assert file is whole and len(file) == 100 and len(file & coua.CuckooFilter()) == 0
    assert len(coua.CuckooFilter.load(tmp_path / "seen.coua")) == 100
    for left, right in ((coua.Window("1h"), coua.Window("1h")), (one, coua.Window("1h"))):
        with pytest.raises(coua.MergeError, match="windows cannot be intersected"):
            left &= right


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
    with pytest.raises(ValueError, match="load it with coua.Window"):
        coua.CuckooFilter.from_bytes(bytes(coua.Window("1h")))
    with pytest.raises(ValueError, match="load it with coua.CuckooFilter"):
        coua.Window.from_bytes(whole)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="/proc says how much memory a process has")
@pytest.mark.parametrize("operation", ["words.copy()", "words | words", "words & words"])
def test_a_filter_is_copied_with_enough_memory_only(operation: str) -> None:
    script = f"""
import coua, resource
words = coua.CuckooFilter(200_000_000, 0.001)
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 50_000_000,) * 2)
try:
    {operation}
except MemoryError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and "out of memory" in done.stdout, done

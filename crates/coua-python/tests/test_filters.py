"""What filters in memory answer, against exact sets; and what goes wrong."""

import random
import re
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

import coua

Make = Callable[[], coua.Filter]
FILTERS: list[Make] = [coua.CuckooFilter, lambda: coua.Window("1h")]


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


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: coua.CuckooFilter(-1), OverflowError, "-1 is not between 0 and 2**64 - 1"),
        (lambda: coua.CuckooFilter(max_items=2**64), OverflowError, "18446744073709551616 is not between"),
        (lambda: coua.CuckooFilter(hash_bits=2**32), OverflowError, "4294967296 is not between 0 and 2**32 - 1"),
        (lambda: coua.shards([], -1), OverflowError, "-1 is not between 0 and 2**32 - 1"),
        (lambda: coua.CuckooFilter(key=b"x"), ValueError, "a key must have 16 bytes, such as secrets.token_bytes(16), not 1"),
        (lambda: coua.CuckooFilter(key="x" * 16), TypeError, "bytes-like"),  # type: ignore[arg-type]
        (lambda: coua.CuckooFilter("10"), TypeError, "cannot be interpreted as an integer"),  # type: ignore[arg-type]
        (lambda: coua.CuckooFilter.load(5), TypeError, "expected str, bytes or os.PathLike object, not int"),  # type: ignore[arg-type]
    ],
)
def test_arguments_are_refused_in_words_of_python(call: Callable[[], object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        call()


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


def test_plans() -> None:
    plan = coua.plan(1_000_000, 0.001)
    assert plan.rate <= 0.001 and plan.bits_per_item < 13.8
    made = coua.CuckooFilter(1_000_000, 0.001)
    assert abs(made.memory_bytes - plan.memory_bytes) < 0.02 * plan.memory_bytes
    assert coua.plan(10**6).hash_bits == 64
    with pytest.raises(ValueError):
        coua.plan(10, 0.1, hash_bits=20)


def test_descriptions() -> None:
    seen = coua.CuckooFilter(1000, 0.01)
    assert repr(seen) == f"<CuckooFilter: 0 items, false positive rate 0, {seen.memory_bytes / 1000:.1f} kB>"
    plan = coua.plan(1000, 0.01)
    described = eval(repr(plan).replace("Plan(", "dict("))
    assert described == {name: getattr(plan, name) for name in described} and len(described) == 5
    assert (seen.max_items, seen.capacity >= 1000) == (1000, True)
    assert coua.CuckooFilter().max_items is None
    seen.add_many(range(1000))
    assert 0 < seen.false_positive_rate <= 0.01
    assert f"{len(seen)} items, false positive rate {seen.false_positive_rate:.1e}, " in repr(seen)
    with pytest.raises(TypeError):
        list(seen)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="cannot create"):
        coua.Filter()

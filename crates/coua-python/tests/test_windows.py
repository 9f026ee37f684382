"""Filters that forget, and times."""

import time
from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import coua


def test_a_window_that_is_cleared_keeps_its_time() -> None:
    window = coua.Window("1h", clock="given")
    window.add_many(["a"], times=[10**12])
    window.clear()
    window.add_many(["late", "now"], times=[0, 10**12])
    assert window.contains_many(["a", "late", "now"]).tolist() == [False, False, True]


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


def test_lengths_add_up() -> None:
    empty = bytes(coua.Window("1w2d 3h4m5s6ms", clock="given"))
    whole = timedelta(days=9, hours=3, minutes=4, seconds=5, milliseconds=6)
    assert bytes(coua.Window(whole, clock="given")) == empty
    with pytest.raises(ValueError, match='window is "7x": expected a number with ms, s, m, h, d or w'):
        coua.Window("7x")


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
        {"length": "1d 2"},
        {"length": "5m s"},
        {"length": timedelta(days=-1)},
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
    with pytest.raises(ValueError, match="does not use times"):
        coua.Window("1h").advance(5)


def test_repeats_may_extend_the_time() -> None:
    window = coua.Window("10m", by="last", clock="given")
    for minute in range(0, 60, 5):
        new = window.add_many(["a", f"{minute}"], times=[minute * 60_000] * 2)
        assert new.tolist() == [minute == 0, True]
    assert not window.contains_many(["0", "20"]).any()
    assert coua.Window.from_bytes(bytes(window)).add_many(["a"], times=[60 * 60_000]).tolist() == [False]
    with pytest.raises(coua.MergeError):
        window |= coua.Window("10m", clock="given")

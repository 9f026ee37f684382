"""Converts arguments for the Rust part."""

import re
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray


def plain_numpy(array: NDArray[Any]) -> NDArray[Any] | list[Any]:
    """The keys of an array as one of 64 bits each, as rows of bytes, or as a list of objects. Nulls are None."""
    if array.ndim != 1:
        raise ValueError(f"keys are an array of {array.ndim} dimensions; use one of 1 dimension, such as keys.ravel()")
    kind, width = array.dtype.kind, array.dtype.itemsize
    if array.size == 0 or hasattr(array, "mask"):
        return array.tolist()
    if kind in "iu":
        # A negative integer is its two's complement.
        return array.astype(f"{kind}8", copy=False).view("u8")
    if kind in "SV" and width > 0 and array.dtype.fields is None:
        return np.ascontiguousarray(array).view("u1").reshape(len(array), width)
    if kind == "T":
        missing = getattr(array.dtype, "na_object", "")
        return [None if item is missing and not isinstance(item, str) else item for item in array.tolist()]
    if kind in "USVO":
        return array.tolist()
    bits = f"u{width}" if width in (1, 2, 4, 8) else f"V{width}"
    raise TypeError(
        f"an array of {array.dtype} has no keys (integers, str and bytes are); "
        f'use array.view("{bits}") for its bits, or array.astype(str)'
    )


def no_key(value: Any) -> TypeError:
    """The error for an object that is not a key, with advice."""
    if value is None:
        advice = 'drop it, or use null="skip" in a batch'
    elif isinstance(value, bool):
        advice = "use int(key) for a number"
    elif isinstance(value, float):
        advice = 'use repr(key), or struct.pack("<d", key)'
    elif hasattr(value, "__len__") or hasattr(value, "__iter__"):
        advice = "use each of its items (add_many takes many keys), or a tuple of them as one key"
    elif hasattr(value, "hex") and hasattr(value, "bytes"):
        advice = "use key.bytes"
    elif hasattr(value, "isoformat"):
        advice = "use key.isoformat()"
    else:
        advice = "convert it to str or bytes, such as str(key)"
    return TypeError(f"{type(value).__name__} is not a key (str, bytes and int are, and tuples of these); {advice}")


def _rows(table: Any) -> Iterator[tuple[Any, ...] | None]:
    is_null = table.isna().any(axis=1)
    return (None if null else row for row, null in zip(table.itertuples(index=False, name=None), is_null, strict=True))


def plain_keys(keys: Any) -> Any:
    """The keys of a column, index or table of pandas, as an array, a stream of Arrow or objects. None for others."""
    kind = type(keys)
    # Text and bytes can be iterated over too, which is never meant.
    if isinstance(keys, str | bytes | bytearray | memoryview):
        raise TypeError(f"{kind.__name__} is one key, but a batch needs many; use a list of keys, or an array")
    if kind.__module__.startswith("polars.") and kind.__name__ in ("LazyFrame", "Expr"):
        example = 'frame.select("url").collect()["url"]'
        raise TypeError(f"{kind.__name__} has no values yet; collect a column first, such as {example}")
    pandas: Any = sys.modules.get("pandas")
    if pandas is None:
        return None
    if isinstance(keys, pandas.MultiIndex):
        keys = keys.to_frame(index=False, allow_duplicates=True)
    if isinstance(keys, pandas.DataFrame):
        if keys.shape[1] < 2:
            raise TypeError('a table of one column has no keys; use the column, such as frame["url"]')
        return _rows(keys)
    if not isinstance(keys, pandas.Series | pandas.Index):
        return None
    if isinstance(keys.dtype, np.dtype):
        if keys.dtype.kind != "O":
            return keys.to_numpy()
    # With pyarrow, pandas hands on columns of Arrow.
    elif hasattr(keys, "__arrow_c_stream__") and find_spec("pyarrow"):
        return None
    return keys.astype(object).where(keys.notna(), None).to_numpy()


def _utc(time: object) -> datetime:
    if not isinstance(time, datetime):
        raise _no_times()
    return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)


def _no_times() -> TypeError:
    return TypeError("times must be datetime64, datetime objects, or integers (milliseconds since 1970)")


def milliseconds(times: Iterable[Any]) -> NDArray[np.uint64]:
    """Times as numpy or pandas have them, `datetime` objects, or milliseconds since 1970. Without a zone they are UTC."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None and hasattr(getattr(times, "dtype", None), "tz"):
        times = pandas.DatetimeIndex(times).tz_convert(None)
    array = np.asarray(times)
    if array.dtype.kind == "O":
        array = np.array([_utc(time) for time in array], "datetime64[ms]")
    if array.dtype.kind == "M":
        array = array.astype("datetime64[ms]")
    elif array.dtype.kind not in "iu":
        raise _no_times()
    array = array.astype(np.int64)
    if array.size > 0 and array.min() < 0:
        raise ValueError("a time is before 1970, or missing")
    return array.astype(np.uint64)


def described(filter: tuple[str, int, float, int]) -> str:
    """What `repr` says of a filter."""
    name, items, rate, size = filter
    large = [("GB", 1e9), ("MB", 1e6)]
    unit, of = next(((unit, of) for unit, of in large if size >= of), ("kB", 1e3))
    short = f"{rate:.1e}" if rate else "0"
    return f"<{name}: {items} items, false positive rate {short}, {size / of:.1f} {unit}>"


_UNITS = {"w": 7 * 86_400_000, "d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}


def length(window: object) -> int:
    """A `timedelta`, or text such as "7d" or "1h 30m", in milliseconds."""
    if isinstance(window, timedelta):
        milliseconds = window // timedelta(milliseconds=1)
    elif not isinstance(window, str):
        raise TypeError('a window must be text such as "7d", or a timedelta')
    elif re.fullmatch(r"(\s*[0-9]+(ms|[smhdw]))+\s*", window):
        milliseconds = sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"([0-9]+)(ms|[smhdw])", window))
    else:
        raise ValueError(f'window is "{window}": expected a number with ms, s, m, h, d or w, such as "7d" or "36h"')
    if not 0 <= milliseconds < 2**64:
        raise ValueError(f'window is "{window}": expected 0 to 2**64 - 1 milliseconds')
    return milliseconds

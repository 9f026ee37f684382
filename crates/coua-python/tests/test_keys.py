"""What a key is, one at a time and in batches."""

import array
import datetime
import decimal
import enum
import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import coua


class Color(enum.IntEnum):
    RED = 5


@pytest.mark.parametrize(
    ("key", "same"),
    [
        ("kestrel", b"kestrel"),
        ("Grünspecht", "Grünspecht".encode()),
        (b"a\0b", bytearray(b"a\0b")),
        (b"a\0b", memoryview(b"a\0b")),
        (b"ab", memoryview(b"a-b-")[::2]),
        (np.str_("kestrel"), "kestrel"),
        (np.bytes_(b"kestrel"), b"kestrel"),
        (7, (7).to_bytes(8, "little")),
        (-1, (-1).to_bytes(8, "little", signed=True)),
        (-1, 2**64 - 1),
        (2**63, (2**63).to_bytes(8, "little")),
        (7, np.int8(7)),
        (2**64 - 1, np.uint64(2**64 - 1)),
        (5, Color.RED),
        ("", b""),
        (("ab", 7), b"\2\0\0\0\0\0\0\0ab\x08\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0"),
        (("a", b"b", ""), (b"a", "b", bytearray())),
    ],
)
def test_equal_bytes_are_equal_keys(key: object, same: object) -> None:
    seen = coua.CuckooFilter()
    assert seen.add(key)
    assert same in seen
    assert not seen.add(same)
    assert seen.discard(same)
    assert len(seen) == 0


@pytest.mark.parametrize(
    "key",
    [1.0, np.float64(1), None, True, np.True_, (1,), (), ((1, 2), 3), (1.5, 2), ["a"], {}, np.arange(3), np.array(3), object(), pd.NA],
)
def test_what_is_no_key_is_refused_with_advice(key: object) -> None:
    seen = coua.CuckooFilter()
    for method in (seen.add, seen.insert, seen.discard, seen.count, seen.__contains__):
        with pytest.raises(TypeError, match="is not a key.*; (use|drop|convert)"):
            method(key)  # type: ignore[operator]
    assert len(seen) == 0


@pytest.mark.parametrize("key", [2**64, -(2**63) - 1, 10**30])
def test_an_integer_of_more_than_64_bits_is_refused(key: int) -> None:
    with pytest.raises(OverflowError, match="2\\*\\*64 - 1"):
        coua.CuckooFilter().add(key)
    with pytest.raises(OverflowError):
        coua.CuckooFilter().add_many([1, key])


def test_a_str_that_has_no_utf_8_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        coua.CuckooFilter().add("\ud800")


WORDS = ["a", "bc", "a", "", "Grünspecht"]
NEW = [True, True, False, True, True]


@pytest.mark.parametrize(
    "keys",
    [
        WORDS,
        tuple(WORDS),
        iter(WORDS),
        (word for word in WORDS),
        np.array(WORDS),
        np.array(WORDS, object),
        np.array(WORDS, np.dtypes.StringDType()),
        np.array([word.encode() for word in WORDS]),
        np.array([word for word in WORDS for _ in (0, 1)])[::2],
        pl.Series(WORDS),
        pl.Series(WORDS, dtype=pl.Categorical),
        pl.Series([word.encode() for word in WORDS]),
        pl.concat([pl.Series(WORDS[:2]), pl.Series(WORDS[2:])], rechunk=False),
        pa.array(WORDS),
        pa.array(WORDS, pa.large_string()),
        pa.array(WORDS, pa.string_view()),
        pa.array(WORDS, pa.binary()),
        pa.array(WORDS, pa.large_binary()),
        pa.array(WORDS).dictionary_encode(),
        pa.chunked_array([WORDS[:2], WORDS[2:], []]),
        pa.array(["before", *WORDS])[1:],
        pd.Series(WORDS),
        pd.Series(WORDS, dtype=object),
        pd.Series(WORDS, dtype="category"),
        pd.Series(WORDS, dtype="string[python]"),
        pd.Index(WORDS),
    ],
    ids=lambda keys: type(keys).__name__,
)
def test_strings_of_all_kinds_are_the_same_keys(keys: object) -> None:
    seen = coua.CuckooFilter()
    assert seen.add_many(keys).tolist() == NEW  # type: ignore[arg-type]
    assert seen.contains_many(WORDS).all()
    assert len(seen) == 4


INTEGERS = [1, 2, 1, 127]


@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4", ">u8"])
def test_integers_of_all_widths_are_the_same_keys(kind: str) -> None:
    numbers = np.array(INTEGERS, kind)
    batches = [numbers, np.repeat(numbers, 2)[::2], numbers[::-1][::-1], INTEGERS, array.array("q", INTEGERS)]
    if numbers.dtype.isnative:
        batches += [pa.array(numbers), pl.Series(numbers), pd.Series(numbers)]
    for keys in batches:
        seen = coua.CuckooFilter()
        assert seen.add_many(keys).tolist() == [True, True, False, True]
        assert all(key in seen for key in INTEGERS)


def test_negative_integers_are_the_same_in_all_widths() -> None:
    seen = coua.CuckooFilter()
    seen.add(-5)
    for kind in ("i1", "i2", "i4", "i8"):
        assert seen.contains_many(np.array([-5], kind)).all()
        assert seen.contains_many(pa.array(np.array([-5], kind))).all()


def test_fixed_widths_of_numpy_end_as_numpy_shows_them() -> None:
    seen = coua.CuckooFilter()
    seen.add_many(np.array([b"a\0b", b"cd"], "S5"))
    assert seen.contains_many([b"a\0b", b"cd"]).all()
    seen.add_many(np.array([b"ab"], "V4"))
    assert b"ab\0\0" in seen
    seen.add_many(pa.array([b"abcd"], pa.binary(4)))
    assert b"abcd" in seen


@pytest.mark.parametrize(
    "keys",
    [
        ["a", None, "a", "b", None],
        np.array(["a", None, "a", "b", None], object),
        pl.Series(["a", None, "a", "b", None]),
        pa.array(["a", None, "a", "b", None]),
        pa.array(["a", None, "a", "b", None]).dictionary_encode(),
        pa.chunked_array([["a", None], ["a", "b", None]]),
        pd.Series(["a", None, "a", "b", None]),
        pd.Series(["a", None, "a", "b", np.nan], dtype=object),
        pd.Series(["a", None, "a", "b", pd.NA], dtype="category"),
        np.ma.array(["a", "x", "a", "b", "y"], mask=[0, 1, 0, 0, 1]),
        np.array(["a", np.nan, "a", "b", np.nan], np.dtypes.StringDType(na_object=np.nan)),
    ],
    ids=lambda keys: type(keys).__name__,
)
def test_nulls_are_refused_or_skipped(keys: object) -> None:
    seen = coua.CuckooFilter()
    with pytest.raises(TypeError, match="null"):
        seen.add_many(keys)  # type: ignore[arg-type]
    assert len(seen) == 0
    assert seen.add_many(keys, null="skip").tolist() == [True, False, False, True, False]  # type: ignore[arg-type]
    assert seen.contains_many(keys, null="skip").tolist() == [True, False, True, True, False]  # type: ignore[arg-type]
    assert seen.count_many(keys, null="skip").tolist() == [1, 0, 1, 1, 0]  # type: ignore[arg-type]


def test_dictionaries_may_be_empty() -> None:
    seen = coua.CuckooFilter()
    kind = pa.dictionary(pa.int32(), pa.string())
    for keys in (pa.array([], kind), pd.Series([], dtype="category"), pl.Series([], dtype=pl.Categorical)):
        assert seen.add_many(keys).tolist() == []
    assert seen.add_many(pa.array([None, None], kind), null="skip").tolist() == [False, False]
    assert seen.add_many(pa.array([7, 8, 7]).dictionary_encode()).tolist() == [True, True, False]
    assert 7 in seen and len(seen) == 2


def test_integers_with_nulls() -> None:
    for keys in (pa.array([None, 1, 2, None]), pl.Series([None, 1, 2, None])):
        seen = coua.CuckooFilter()
        assert seen.add_many(keys, null="skip").tolist() == [False, True, True, False]
        assert seen.contains_many([1, 2]).all()
    assert seen.contains_many(pa.nulls(3), null="skip").tolist() == [False] * 3


@pytest.mark.parametrize("keys", [pa.nulls(3), pa.chunked_array([pa.nulls(3)]), pl.Series([None] * 3)], ids=lambda keys: type(keys).__name__)
def test_a_column_of_nulls_alone(keys: object) -> None:
    seen = coua.CuckooFilter()
    assert seen.add_many(keys, null="skip").tolist() == [False] * 3  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="key 0 of the batch is null"):
        seen.add_many(keys)  # type: ignore[arg-type]
    assert len(seen) == 0


@pytest.mark.parametrize("kind", ["i4", ">u8", "S2", "f8"])
def test_what_is_masked_is_null(kind: str) -> None:
    keys = np.ma.array([1, 2, 1], kind, mask=[0, 1, 0])
    seen = coua.CuckooFilter()
    with pytest.raises(TypeError, match="null" if kind != "f8" else "float is not a key"):
        seen.add_many(keys)
    assert len(seen) == 0
    if kind != "f8":
        assert seen.add_many(keys, null="skip").tolist() == [True, False, False]
        assert len(seen) == 1
        whole = np.ma.array([1, 3], kind)
        assert seen.contains_many(whole).tolist() == [True, False]


def test_shards_of_nulls() -> None:
    with pytest.raises(TypeError, match='null="skip"'):
        coua.shards(["d", None], 4)
    assert coua.shards(["d", None, "a"], 4, null="skip").tolist() == [4, 1, 1]


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", "?", "M8[s]", "m8[ms]", "c8", "c16", "g"])
def test_the_advice_for_arrays_gives_a_key_for_each_item(kind: str) -> None:
    array = np.array([1, 2, 0], "i8").astype(kind)
    with pytest.raises(TypeError, match="use array") as refused:
        coua.CuckooFilter().add_many(array)
    for advice in re.findall(r"array\.\w+\(.*?\)", str(refused.value)):
        answers = coua.CuckooFilter().add_many(eval(advice, {"array": array}))
        assert answers.tolist() == [True, kind != "?", True], advice


@pytest.mark.parametrize("kind", ["float32", "bool", "date32", "date64", "time32[s]", "time64[us]", "timestamp[ms]", "duration[s]"])
def test_the_advice_for_arrow_gives_a_key_for_each_item(kind: str) -> None:
    array = pa.array([1, 0], "int32" if "32" in kind else "int64").cast(kind if kind != "float32" else "float")
    with pytest.raises(TypeError, match="cast it to") as refused:
        coua.CuckooFilter().add_many(array)
    cast = str(refused.value).rsplit(" ", 1)[1]
    assert coua.CuckooFilter().add_many(array.cast(cast)).all(), cast


@pytest.mark.parametrize(
    ("key", "advice"),
    [(uuid.UUID(int=7), "key.bytes"), (datetime.date(2026, 1, 1), "key.isoformat()"), (decimal.Decimal(1), "str(key)")],
    ids=str,
)
def test_the_advice_for_objects_gives_a_key(key: object, advice: str) -> None:
    with pytest.raises(TypeError, match="is not a key.*" + re.escape(advice)):
        coua.CuckooFilter().add(key)  # type: ignore[arg-type]
    assert coua.CuckooFilter().add(eval(advice, {"key": key}))


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        ("abc", "str is one key"),
        (b"abc", "bytes is one key"),
        (memoryview(b"abc"), "memoryview is one key"),
        (5, "not iterable"),
        (np.zeros(3), "float64 has no keys"),
        (np.array([True]), "bool has no keys"),
        (np.array(["2020-01-01"], "M8[s]"), "datetime64"),
        (np.array([(1, 2)], "i4,f4"), "float is not a key"),
        (pa.array([1.0]), "Float64 has no keys"),
        (pa.array([[1]]), "has no keys"),
        (pl.Series([object()], dtype=pl.Object), "column.to_list"),
        (pl.Series(["a", "b"], dtype=pl.Object), "column.to_list"),
        (pl.Series([1, 2], dtype=pl.Int128), "a column of Int128 has no keys.*column.to_list"),
        (pa.array([[1]]), "make strings or binary of its items"),
        (pl.DataFrame({"a": [1]}), "use the column"),
        (pa.table({"a": [1]}), "use the column"),
        (pd.MultiIndex.from_arrays([["a"]]), "use the column"),
        (pl.LazyFrame({"a": [1]}), "LazyFrame has no values yet; collect a column first"),
        (pl.col("a"), "Expr has no values yet; collect a column first"),
        ([1, 2.0], "float is not a key"),
        (np.array([1, "a", 2.0], object), "float is not a key"),
        ([["a"]], "list is not a key"),
    ],
)
def test_batches_of_the_wrong_kind_change_nothing(keys: object, error: str) -> None:
    seen = coua.CuckooFilter()
    with pytest.raises(TypeError, match=error):
        seen.add_many(keys)  # type: ignore[arg-type]
    assert len(seen) == 0


def test_arrays_have_one_dimension() -> None:
    for keys in (np.zeros((2, 2), int), np.array(3)):
        with pytest.raises(ValueError, match="dimension"):
            coua.CuckooFilter().add_many(keys)


def test_an_iterator_that_fails_changes_nothing() -> None:
    def broken() -> object:
        yield "a"
        raise KeyError("gone")

    seen = coua.CuckooFilter()
    with pytest.raises(KeyError, match="gone"):
        seen.add_many(broken())  # type: ignore[arg-type]
    assert len(seen) == 0


def test_empty_batches() -> None:
    seen = coua.CuckooFilter()
    for keys in ([], np.array([]), np.array([], "u8"), np.array([], "S3"), pa.array([], pa.string()), pl.Series([], dtype=pl.String)):
        assert seen.add_many(keys).tolist() == []
        assert seen.count_many(keys).dtype == np.uint64


def test_objects_of_pandas_are_keys_as_those_of_lists() -> None:
    keys = ["a", 1, b"b", None, float("nan"), pd.NA, 1]
    column = pd.Series(keys, dtype=object)
    seen = coua.CuckooFilter()
    with pytest.raises(TypeError, match="key 3 of the batch is null"):
        seen.add_many(column)
    assert seen.add_many(column, null="skip").tolist() == [True, True, True, False, False, False, False]
    assert seen.contains_many(["a", 1, b"b"]).all() and len(seen) == 3
    with pytest.raises(TypeError, match="float is not a key"):
        seen.add_many(pd.Series(["a", 1.5], dtype=object))
    with pytest.raises(TypeError, match=r"float64 has no keys.*array.view\(.u8.\)"):
        seen.add_many(pd.Series([1.5]))
    with pytest.raises(TypeError, match="use the column"):
        seen.add_many(pd.DataFrame({"a": [1]}))


def test_pandas_without_pyarrow() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
import pandas as pd, coua
frame = pd.DataFrame({"number": [1, 2, 1], "text": ["a", "b", "a"]})
columns = [frame.number, frame.text, frame.text.astype(object), frame.text.astype("category"), frame.number.astype("Int64")]
columns += [pd.Index(column) for column in columns] + [frame.text.astype("string[python]")]
for column in columns:
    assert coua.CuckooFilter().add_many(column).tolist() == [True, True, False], column
gaps = [pd.Series([1, None, 1], dtype="Int64"), pd.Series(["a", None, "a"]), pd.Series(["a", None, "a"], dtype=object)]
for column in gaps:
    assert coua.CuckooFilter().add_many(column, null="skip").tolist() == [True, False, False], column
assert coua.CuckooFilter().add_many(frame).tolist() == [True, True, False]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rows_of_several_columns_are_tuples() -> None:
    columns = {"a": ["x", "x", "x", None, "y", "xy"], "b": [1, 2, 1, 1, None, 1]}
    rows = list(zip(*columns.values(), strict=True))
    answers = [True, True, False, False, False, True]
    frame = pl.DataFrame(columns)
    tables = [
        frame,
        frame.with_columns(pl.col("a").cast(pl.Categorical), pl.col("b").cast(pl.Int8)),
        frame.to_struct(),
        pa.table(columns),
        pa.table({**columns, "a": pa.array(columns["a"]).dictionary_encode()}),
        pa.record_batch(columns),
        pa.StructArray.from_arrays([pa.array(column) for column in columns.values()], names=list(columns)),
        pd.DataFrame(columns).astype({"b": "Int64"}),
        pd.MultiIndex.from_frame(pd.DataFrame(columns).astype({"b": "Int64"}), names=["same", "same"]),
    ]
    for table in tables:
        seen = coua.CuckooFilter()
        with pytest.raises(TypeError, match="key 3 of the batch is null"):
            seen.add_many(table)
        assert seen.add_many(table, null="skip").tolist() == answers, type(table)
        assert [None not in row and row in seen for row in rows] == [True, True, True, False, False, True]
        assert ("", "x1") not in seen and len(seen) == 3
    for table in (pl.DataFrame({"a": [1], "b": [1.5]}), pa.table({"a": [1], "b": [[1]]}), pl.DataFrame({"a": [1], "b": [{"c": 1}]})):
        with pytest.raises(TypeError, match="no keys|a part of a key"):
            coua.CuckooFilter().add_many(table)


def test_tuples_are_the_columns_of_the_program(tmp_path: Path, program: Callable[..., str]) -> None:
    program("add", tmp_path / "seen.coua", "--csv", "b,a", input="a,b\nx,y\n")
    assert ("y", "x") in coua.CuckooFilter.load(tmp_path / "seen.coua")

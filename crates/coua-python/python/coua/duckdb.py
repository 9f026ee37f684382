"""DuckDB: a function for SQL that tells whether a key is new.

>>> import coua, coua.duckdb, duckdb
>>> connection = duckdb.connect()
>>> coua.duckdb.register(connection, "first_seen", coua.CuckooFilter())
>>> connection.sql("select size from (values ('a', 1), ('b', 2), ('a', 3)) t(url, size) where first_seen(url)").fetchall()
[(1,), (2,)]

DuckDB hands on keys batch by batch and on several threads; of equal keys exactly one is new, but which one is
left to DuckDB (`set threads = 1` makes it the first).
"""

import duckdb
import pyarrow
from duckdb.func import FunctionNullHandling, PythonUDFType
from duckdb.sqltypes import BOOLEAN, VARCHAR, DuckDBPyType

from coua import Filter

__all__ = ["register"]


def register(
    connection: duckdb.DuckDBPyConnection, name: str, filter: Filter, type: DuckDBPyType = VARCHAR
) -> None:
    """Makes `name(key)` known to SQL: whether the key is not in `filter`, to which it is added.

    `type` is the type of the keys, such as `duckdb.sqltypes.BIGINT`. A null is new every time.
    """

    def is_new(keys: pyarrow.ChunkedArray) -> pyarrow.Array:
        new = filter.add_many(keys, null="skip")
        return pyarrow.array(new | keys.is_null().to_numpy())

    connection.create_function(
        name,
        is_new,
        [type],
        BOOLEAN,
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
        side_effects=True,
    )

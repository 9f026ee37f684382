"""DuckDB: an SQL function that returns whether a key is new.

>>> import coua, coua.duckdb, duckdb
>>> connection = duckdb.connect()
>>> coua.duckdb.register(connection, "first_seen", coua.CuckooFilter())
>>> connection.sql("select size from (values ('a', 1), ('b', 2), ('a', 3)) t(url, size) where first_seen(url)").fetchall()
[(1,), (2,)]

DuckDB passes keys in batches and on several threads. Of equal keys exactly one is new; with `set threads = 1` it is
the first, otherwise any of them.

DuckDB chooses the order of conditions and joins, so it may call the function for rows that another condition or a
join leaves out. Their keys are added, too, and are not new in the next query. Choose the rows first:

>>> seen = coua.CuckooFilter()
>>> coua.duckdb.register(connection, "new_number", seen)
>>> rows = "with chosen as materialized (select i from range(10) t(i) where i > 5)"
>>> connection.sql(rows + " select i from chosen where new_number(i::varchar)").fetchall(), len(seen)
([(6,), (7,), (8,), (9,)], 4)
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
    """Registers the SQL function `name(key)`, which adds the key to `filter` and returns whether it was absent.

    `type` is the type of the keys, such as `duckdb.sqltypes.BIGINT`. A null is always new.
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

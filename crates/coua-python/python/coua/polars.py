"""Polars: the rows of a lazy frame whose key is new, as a stream.

>>> import polars, coua.polars
>>> frame = polars.LazyFrame({"url": ["a", "b", "a"], "size": [1, 2, 3]})
>>> coua.polars.first_seen(frame, "url").collect()["size"].to_list()
[1, 2]

The order of the rows is kept. Of the frame one batch at a time is in memory, and of the rows before only the
filter. With a filter of `coua.open`, rows that an earlier run has seen are left out too; commit it when the
result is where it belongs.
"""

from collections.abc import Iterator

import polars
from polars.io.plugins import register_io_source

from coua import CuckooFilter, Filter

__all__ = ["first_seen"]


def first_seen(frame: polars.LazyFrame, on: str, filter: Filter | None = None) -> polars.LazyFrame:
    """The rows of `frame` whose column `on` is not in `filter`, each the first of its kind; they are added.

    Rows whose key is null are all kept. The result is to be collected once: its rows are no news to `filter` the
    second time. Without a filter each collection begins with an empty one.
    """

    def batches(
        with_columns: list[str] | None,
        predicate: polars.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[polars.DataFrame]:
        seen = CuckooFilter() if filter is None else filter
        left = n_rows
        for batch in frame.collect_batches(maintain_order=True, chunk_size=batch_size):
            keys = batch.get_column(on)
            new = polars.Series(seen.add_many(keys, null="skip"))
            batch = batch.filter(new | keys.is_null())
            if left is not None:
                # Nobody gets the rows after these.
                seen._take_back(batch.slice(left).get_column(on), null="skip")
                batch = batch.head(left)
                left -= batch.height
            if predicate is not None:
                batch = batch.filter(predicate)
            yield batch if with_columns is None else batch.select(with_columns)
            if left == 0:
                return

    return register_io_source(batches, schema=frame.collect_schema())

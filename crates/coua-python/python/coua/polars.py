"""Polars: the rows of a lazy frame whose key is new, as a stream.

>>> import polars, coua.polars
>>> frame = polars.LazyFrame({"url": ["a", "b", "a"], "size": [1, 2, 3]})
>>> coua.polars.first_seen(frame, "url").collect()["size"].to_list()
[1, 2]

The order of the rows is kept. Of the frame one batch at a time is in memory, and of the rows before only the
filter. With a filter of `coua.open`, rows that an earlier run has seen are left out too; commit it when the
result is where it belongs.
"""

from collections.abc import Iterator, Sequence

import polars
from polars.io.plugins import register_io_source

from coua import CuckooFilter, Filter

__all__ = ["first_seen"]


def first_seen(frame: polars.LazyFrame, on: str | Sequence[str], filter: Filter | None = None) -> polars.LazyFrame:
    """The rows of `frame` whose column `on` is not in `filter`, each the first of its kind; they are added.

    With several columns a key is the tuple of their values. Rows with a null in their key are all kept. The result is
    to be collected once: its rows are no news to `filter` the second time. Without a filter each collection begins with
    an empty one.
    """
    columns = [on] if isinstance(on, str) else list(on)
    has_null = polars.any_horizontal(polars.col(columns).is_null())

    def keys(batch: polars.DataFrame) -> polars.Series | polars.DataFrame:
        return batch.get_column(columns[0]) if len(columns) == 1 else batch.select(columns)

    def batches(
        with_columns: list[str] | None,
        predicate: polars.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[polars.DataFrame]:
        seen = CuckooFilter() if filter is None else filter
        left = n_rows
        source = frame
        if with_columns is not None:
            asked = [] if predicate is None else predicate.meta.root_names()
            source = frame.select(*dict.fromkeys([*with_columns, *columns, *asked]))
        for batch in source.collect_batches(maintain_order=True, chunk_size=batch_size):
            new = polars.Series(seen.add_many(keys(batch), null="skip"))
            batch = batch.filter(new | batch.select(has_null).to_series())
            if left is not None:
                # Nobody gets the rows after these.
                seen._take_back(keys(batch.slice(left)), null="skip")
                batch = batch.head(left)
                left -= batch.height
            if predicate is not None:
                batch = batch.filter(predicate)
            yield batch if with_columns is None else batch.select(with_columns)
            if left == 0:
                return

    return register_io_source(batches, schema=frame.collect_schema())

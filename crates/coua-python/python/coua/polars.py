"""Polars: the rows of a lazy frame with new keys, as a stream.

>>> import polars, coua.polars
>>> frame = polars.LazyFrame({"url": ["a", "b", "a"], "size": [1, 2, 3]})
>>> coua.polars.first_seen(frame, "url").collect()["size"].to_list()
[1, 2]

The order of the rows is kept. Only one batch of the frame and the filter are in memory. With a filter from
`coua.open`, rows that an earlier run has seen are dropped too; commit it after the result is stored.
"""

from collections.abc import Iterator, Sequence

import polars
from polars.io.plugins import register_io_source

from coua import CuckooFilter, Filter

__all__ = ["first_seen"]


def first_seen(frame: polars.LazyFrame, on: str | Sequence[str], filter: Filter | None = None) -> polars.LazyFrame:
    """The first row of `frame` for each key in column `on` that is not in `filter`. The keys are added.

    With several columns a key is the tuple of their values. Rows with a null in their key are all kept. Collect the
    result only once: the second time its keys are no longer new to `filter`. Without a filter each collection begins
    with an empty one.
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
                # The rows after these are not needed.
                seen._take_back(keys(batch.slice(left)), null="skip")
                batch = batch.head(left)
                left -= batch.height
            if predicate is not None:
                batch = batch.filter(predicate)
            yield batch if with_columns is None else batch.select(with_columns)
            if left == 0:
                return

    return register_io_source(batches, schema=frame.collect_schema())

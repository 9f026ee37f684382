"""Hugging Face datasets: the rows of a dataset with new keys.

>>> import coua.datasets, datasets
>>> rows = datasets.Dataset.from_dict({"text": ["a", "b", "a"], "size": [1, 2, 3]})
>>> coua.datasets.first_seen(rows, "text")["size"][:]
[1, 2]
"""

from collections.abc import Sequence
from typing import TypeVar

import datasets
import numpy as np
import pyarrow
from numpy.typing import NDArray

from coua import CuckooFilter, Filter

__all__ = ["first_seen"]

_Rows = TypeVar("_Rows", datasets.Dataset, datasets.IterableDataset)


def first_seen(
    rows: _Rows, on: str | Sequence[str], filter: Filter | None = None, *, batch_size: int = 10_000
) -> _Rows:
    """The first row for each key in column `on` that is not in `filter`. The keys are added.

    With several columns a key is the tuple of their values. Rows with a null in their key are all kept. The format
    does not change. Works in one process, because processes cannot share a filter.

    Without a filter each iteration of an `IterableDataset` begins with an empty one. With a filter iterate only once:
    the second time its keys are no longer new. Batches of `batch_size` rows are added as a whole, also if the rest of
    a batch is never read, as with `take`.
    """
    if not isinstance(rows, datasets.Dataset | datasets.IterableDataset):
        raise TypeError(f"a {type(rows).__name__} has no rows (a Dataset or an IterableDataset has); use one of its parts")
    seen = CuckooFilter() if filter is None else filter
    columns = [on] if isinstance(on, str) else list(on)

    def is_new(table: pyarrow.Table) -> NDArray[np.bool_]:
        new = seen.add_many(table[columns[0]] if len(columns) == 1 else table.select(columns), null="skip")
        for column in columns:
            new |= table[column].is_null().to_numpy()
        return new

    if isinstance(rows, datasets.IterableDataset):

        def are_new(table: pyarrow.Table, places: list[int]) -> list[bool]:
            if filter is None and places[0] == 0:
                seen.clear()
            return is_new(table).tolist()

        arrow = rows.with_format("arrow")
        kept = arrow.filter(are_new, with_indices=True, batched=True, batch_size=batch_size)
        return kept.with_format(rows._formatting.format_type if rows._formatting else None)
    # `Dataset.filter` would pickle the filter to name the result.
    tables = rows.select_columns(columns).with_format("arrow").iter(batch_size)
    news = [is_new(table) for table in tables]
    return rows.select(np.flatnonzero(np.concatenate(news)) if news else [])

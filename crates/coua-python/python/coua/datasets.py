"""Hugging Face datasets: the rows of a dataset whose key is new.

>>> import coua.datasets, datasets
>>> rows = datasets.Dataset.from_dict({"text": ["a", "b", "a"], "size": [1, 2, 3]})
>>> coua.datasets.first_seen(rows, "text")["size"][:]
[1, 2]
"""

from typing import TypeVar

import datasets
import pyarrow

from coua import CuckooFilter, Filter

__all__ = ["first_seen"]

_Rows = TypeVar("_Rows", datasets.Dataset, datasets.IterableDataset)


def first_seen(rows: _Rows, on: str, filter: Filter | None = None, *, batch_size: int = 10_000) -> _Rows:
    """The rows whose column `on` is not in `filter`, each the first of its kind; they are added.

    Rows whose key is null are all kept. Works on one process: a filter is not shared by several.
    """
    seen = CuckooFilter() if filter is None else filter

    def is_new(table: pyarrow.Table) -> list[bool]:
        keys = table[on]
        return (seen.add_many(keys, null="skip") | keys.is_null().to_numpy()).tolist()

    as_arrow = rows.with_format("arrow")
    options = {} if isinstance(rows, datasets.IterableDataset) else {"load_from_cache_file": False}
    kept = as_arrow.filter(is_new, batched=True, batch_size=batch_size, **options)
    return kept.with_format(None)

"""First occurrences on many machines, by Ray."""

from pathlib import Path

import pyarrow
import ray.data
from pyarrow import compute

import coua


def first_seen(rows, on, before, after, shards):
    def number(batch):
        return batch.append_column("shard", pyarrow.array(coua.shards(batch[on], shards, null="skip")))

    def new_rows(batch):
        file = f"{batch['shard'][0]}.coua"
        seen = coua.CuckooFilter.load(Path(before, file)) if before else coua.CuckooFilter()
        new = pyarrow.array(seen.add_many(batch[on], null="skip"))
        seen.save(Path(after, file))
        return batch.filter(compute.or_(new, compute.is_null(batch[on]))).drop_columns("shard")

    # Shards without rows in this run stay as they are.
    for shard in range(1, shards + 1):
        file = f"{shard}.coua"
        seen = coua.CuckooFilter.load(Path(before, file)) if before else coua.CuckooFilter()
        seen.save(Path(after, file))
    numbered = rows.map_batches(number, batch_format="pyarrow")
    return numbered.groupby("shard", num_partitions=shards).map_groups(new_rows, batch_format="pyarrow")

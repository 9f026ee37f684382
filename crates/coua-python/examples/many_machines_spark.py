"""First occurrences on many machines, by Spark 4.1 or later."""

from pathlib import Path

import pyarrow
from pyarrow import compute
from pyspark import TaskContext
from pyspark.sql import functions
from pyspark.sql.types import IntegerType, StructField, StructType

import coua


def first_seen(frame, on, before, after, shards):
    """The rows whose key is null, or new since the filters in folder `before`."""

    def number(batches):
        for batch in batches:
            yield batch.append_column("shard", pyarrow.array(coua.shards(batch[on], shards, null="skip"), "int32"))

    def new_rows(batches):
        file = f"{TaskContext.get().partitionId() + 1}.coua"
        seen = coua.CuckooFilter.load(Path(before, file)) if before else coua.CuckooFilter()
        for batch in batches:
            new = pyarrow.array(seen.add_many(batch[on], null="skip"))
            yield batch.filter(compute.or_(new, compute.is_null(batch[on]))).drop_columns("shard")
        seen.save(Path(after, file))

    schema = StructType([*frame.schema.fields, StructField("shard", IntegerType())])
    numbered = frame.mapInArrow(number, schema)
    divided = numbered.repartitionById(shards, functions.col("shard") - 1)
    return divided.mapInArrow(new_rows, frame.schema)

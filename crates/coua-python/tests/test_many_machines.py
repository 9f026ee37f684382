"""The examples for Spark and Ray: two runs, and nothing lost.

Each shard keeps its filter in a file of its own, and the shards are those of `coua --shard`.
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import coua

SHARDS = 4
ROWS = 50_000
EXAMPLES = Path(__file__).parents[1] / "examples"
Program = Callable[..., str]


def example(engine: str) -> dict[str, Callable[..., object]]:
    """The names that the example for an engine defines."""
    known: dict[str, Callable[..., object]] = {}
    exec((EXAMPLES / f"many_machines_{engine}.py").read_text(), known)
    return known


def urls(begin: int) -> list[str]:
    return [f"url {begin + row - (row % 3 == 2)}" for row in range(ROWS)]


NULLS = 7


def check_found(found: list[str | None], expected: set[str]) -> None:
    """Each expected key once, and all rows without a key."""
    assert found.count(None) == NULLS
    assert sorted(key for key in found if key is not None) == sorted(expected)


def write(path: Path, keys: list[str]) -> None:
    path.mkdir()
    for part in range(5):
        # The other parts have none.
        nulls = [None] * (NULLS if part == 2 else 0)
        table = pa.table({"url": [*keys[part::5], *nulls]})
        # Not every machine has the library with which Java unpacks others.
        pyarrow.parquet.write_table(table, path / f"{part}.parquet", compression="none")


def check_two_runs(run: Callable[..., list[str | None]], program: Program, folder: Path) -> None:
    """Runs a recipe on overlapping inputs; then the shards are merged, and asked by the program."""
    first, second = urls(0), urls(ROWS // 2)
    write(folder / "first", first)
    write(folder / "second", second)
    before, state = folder / "before", folder / "state"
    before.mkdir()
    state.mkdir()
    check_found(run(folder / "first", None, before), set(first))
    # A repeated run does not take its own rows for repeats.
    for _ in range(2):
        check_found(run(folder / "second", before, state), set(second) - set(first))

    shards = sorted(state.iterdir())
    assert [shard.name for shard in shards] == [f"{number}.coua" for number in range(1, SHARDS + 1)]
    everything = "".join(url + "\n" for url in sorted({*first, *second}))
    for number, shard in enumerate(shards, 1):
        mine = program("dedup", "--shard", f"{number}/{SHARDS}", input=everything)
        assert program("check", "-c", shard, input=everything).strip() == str(mine.count("\n"))
        assert program("check", "-v", shard, input=mine, code=1) == ""
    program("merge", "-o", folder / "all.coua", *shards)
    with coua.open(folder / "merged.coua") as merged:
        for shard in shards:
            merged |= coua.CuckooFilter.load(shard)
    for name in ("all.coua", "merged.coua"):
        filter = coua.CuckooFilter.load(folder / name)
        assert len(filter) == len({*first, *second})
        assert filter.contains_many([*first, *second]).all()


def test_spark(tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    pytest.importorskip("pyspark", reason="skipped: pyspark is not installed")
    if not shutil.which("java"):
        pytest.skip("skipped: Spark needs Java")
    from pyspark.sql import SparkSession

    first_seen = example("spark")["first_seen"]
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    try:

        def run(path: Path, before: Path | None, after: Path) -> list[str | None]:
            found = first_seen(session.read.parquet(str(path)), "url", before, after, SHARDS)
            return [row["url"] for row in found.collect()]  # type: ignore[attr-defined]

        check_two_runs(run, program, tmp_path)
    finally:
        session.stop()


def test_ray(tmp_path: Path, program: Program) -> None:
    ray = pytest.importorskip("ray", reason="skipped: ray is not installed")

    first_seen = example("ray")["first_seen"]
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", configure_logging=False)
    try:

        def run(path: Path, before: Path | None, after: Path) -> list[str | None]:
            found = first_seen(ray.data.read_parquet(str(path)), "url", before, after, SHARDS)
            return [row["url"] for row in found.take_all()]  # type: ignore[attr-defined]

        check_two_runs(run, program, tmp_path)
    finally:
        ray.shutdown()

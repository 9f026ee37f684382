"""The distinct of dataframe engines compared with Coua inside them: engines.py ROWS. `measure` calls it.

Needs the wheel, and the packages of requirements.txt. Keys have 32 characters, and 53 % of them are new. Each job is a separate
process with one thread, and reads and writes Parquet files. Half of the rows of the second run are from the first run, and are
dropped: Coua uses its filter file, the engines use the rows they wrote.

Prints JSON, an object for each job: engine, run, way, seconds (of the processor), megabytes (peak), wrong (lost rows, which are
negative, or repeated ones).
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

IN_POLARS = """
with coua.open(state) as seen:
    coua.polars.first_seen(pl.scan_parquet(rows), "key", seen).sink_parquet(out)
"""
IN_DUCKDB = """
with coua.open(state) as seen:
    coua.duckdb.register(connection, "first_seen", seen)
    sql(f"copy (select key from '{rows}' where first_seen(key)) to '{out}'")
"""
JOBS = {
    ("polars", "reads and writes", 1): """
pl.scan_parquet(rows).sink_parquet(out)
""",
    ("polars", "unique", 1): """
pl.scan_parquet(rows).unique("key", maintain_order=False).sink_parquet(out)
""",
    ("polars", "unique, in order", 1): """
pl.scan_parquet(rows).unique("key", keep="first", maintain_order=True).sink_parquet(out)
""",
    ("polars", "coua.polars, in order", 1): IN_POLARS,
    ("polars", "unique and anti-join", 2): """
pl.scan_parquet(rows).unique("key").join(pl.scan_parquet(before), on="key", how="anti").sink_parquet(out)
""",
    ("polars", "coua.polars", 2): IN_POLARS,
    ("duckdb", "reads and writes", 1): """
sql(f"copy (select key from '{rows}') to '{out}'")
""",
    ("duckdb", "distinct", 1): """
sql(f"copy (select distinct key from '{rows}') to '{out}'")
""",
    ("duckdb", "coua.duckdb, in order", 1): IN_DUCKDB,
    ("duckdb", "distinct and anti-join", 2): """
sql(f"copy (select distinct key from '{rows}' anti join '{before}' using (key)) to '{out}'")
""",
    ("duckdb", "coua.duckdb", 2): IN_DUCKDB,
}

IMPORTS = {
    "polars": "import polars as pl, coua, coua.polars",
    "duckdb": "import duckdb, coua, coua.duckdb\n"
    "connection = duckdb.connect(config={'threads': 1}); sql = connection.execute\n"
    "sql('set enable_progress_bar = false')",
}
BEFORE = """
import sys, time
rows, before, state, out = sys.argv[1:]
begin = time.process_time()
"""
AFTER = """
status = open("/proc/self/status").read()
print(time.process_time() - begin, status.split("VmHWM:")[1].split()[0], flush=True)
"""


def write(path: Path, numbers: np.ndarray) -> None:
    """Rows with keys of 32 characters."""
    keys = pa.array([f"{number:032x}" for number in numbers.tolist()])
    pyarrow.parquet.write_table(pa.table({"key": keys}), path, row_group_size=100_000)


def run(engine: str, code: str, files: list[Path]) -> tuple[float, float]:
    """Processor seconds of a job, without its imports, and the peak megabytes of its process."""
    program = "\n".join((IMPORTS[engine], BEFORE, code, AFTER))
    environment = os.environ | {"POLARS_MAX_THREADS": "1"}
    command = [sys.executable, "-c", program, *map(str, files)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    seconds, kilobytes = done.stdout.split()[-2:]
    return float(seconds), float(kilobytes) / 1e3


def measure(number: int) -> Iterator[dict[str, Any]]:
    chance = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = chance.integers(0, int(number * 0.695), number)
        second = first + int(number * 0.35)
        write(folder / "1.parquet", first)
        write(folder / "2.parquet", second)
        distinct = {1: len(np.unique(first)), 2: len(np.setdiff1d(second, first))}
        written: dict[str, Path] = {}
        for (engine, way, turn), code in JOBS.items():
            out = folder / f"{engine}-{way}-{turn}.parquet"
            state = folder / f"{engine}.coua"
            before = written.get(engine, folder / "none")
            seconds, megabytes = run(engine, code, [folder / f"{turn}.parquet", before, state, out])
            rows = pyarrow.parquet.read_metadata(out).num_rows
            if way.startswith(("unique", "distinct")) and turn == 1:
                written[engine] = out
            wrong = "" if way.startswith("reads") else rows - distinct[turn]
            yield {"engine": engine, "run": turn, "way": way, "seconds": seconds, "megabytes": megabytes, "wrong": wrong}


if __name__ == "__main__":
    print(json.dumps(list(measure(int(sys.argv[1])))))

"""The part `cores` of `measure`: the program with 1, 2, 4, ... threads.

It needs only Python (3.9), a shell, coreutils and gzip: `coua` and `coua-bench` are static programs in FOLDER. All data are
in memory, if a file system in memory is large enough, and are deleted as soon as they are not needed.

Sizes depend on the processors, the seconds and the memory. The most threads come first, then one: their times show whether
there is time for the others. Rounds continue while there is time; the medians count.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

# Sizes for 16 processors and these seconds. Smaller budgets and machines scale all of them by the same factor.
FULL = {"urls": 40_000_000, "short": 150_000_000, "packed": 49_000_000, "many": 1_000_000_000, "kept": 250_000_000, "added": 30_000_000}
FULL_SECONDS, FULL_PROCESSORS = 450, 16
QUICK_SECONDS = 100
# A billion short lines, a filter of half as many items, and everything else that is there at the same time.
FULL_BYTES = 28e9
SHORT_BYTES = 19
PACKED_FILES = 8
MOST_ROUNDS = 5
# The assumed slowdown with fewer threads, until a time is known.
SLOWER = 2.3
# In the order of measurement.
COLUMNS = [16, 1, 8, 4, 2]


@dataclass
class Job:
    """A command line of `coua`, with {n} for the number of threads, and the expected counts."""

    name: str
    command: str
    records: int
    expected: dict[str, int] = field(default_factory=dict)
    # A file that is removed before each run.
    removed: str = ""
    columns: list[int] = field(default_factory=lambda: COLUMNS)
    cells: dict[int, list[dict[str, float]]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def seconds(self, threads: int) -> float:
        """The expected seconds of a run; 0 if nothing is known."""
        if self.cells.get(threads):
            return statistics.median(cell["seconds"] for cell in self.cells[threads])
        fewer = [column for column in self.cells if column < threads]
        more = [column for column in self.cells if column > threads]
        return self.seconds(max(fewer)) if fewer else SLOWER * self.seconds(min(more)) if more else 0.0


@dataclass
class Group:
    """Jobs on the same data, and their share of the time."""

    share: float
    make: Callable[[Bench], None]
    jobs: list[Job]


class Bench:
    def __init__(self, programs: Path, seconds: float) -> None:
        self.programs = programs
        self.seconds = seconds
        self.processors = processors()
        part = min(1.0, seconds / FULL_SECONDS * self.processors / FULL_PROCESSORS)
        self.folder, room = scratch(FULL_BYTES * part)
        part = min(part, 0.8 * room / FULL_BYTES)
        self.sizes = {name: max(int(size * part), 80_000) // 16 * 16 for name, size in FULL.items()}
        self.columns = [threads for threads in COLUMNS if threads <= self.processors] or [1]
        self.begin = time.monotonic()

    def shell(self, command: str) -> None:
        subprocess.run(["sh", "-c", command], cwd=self.folder, env=self.environment(), check=True)

    def environment(self) -> dict[str, str]:
        return {"PATH": f"{self.programs}:{os.environ['PATH']}", "TMPDIR": str(self.folder)}

    def left(self, until: float) -> float:
        return self.begin + until - time.monotonic()

    def turn(self, job: Job, threads: int, until: float) -> None:
        """Runs a job once, if it can be expected to end in time."""
        if job.failed or self.left(until) < job.seconds(threads) or self.left(until) < 0:
            return
        for name in filter(None, ["out", job.removed]):
            (self.folder / name).unlink(missing_ok=True)
        command = job.command.format(n=threads)
        print(f"{self.left(self.seconds):4.0f} s left: {command}", file=sys.stderr)
        # The last group may use all the remaining time; a job that takes longer is ended.
        cell = measured(command, self.folder, self.environment(), self.left(self.seconds))
        (self.folder / "out").unlink(missing_ok=True)
        wrong = {name: cell.pop(name, None) for name in job.expected}
        if "seconds" not in cell or wrong != job.expected:
            job.failed.append(f"{threads} threads: {cell.get('error') or wrong}")
            print(f"  left out: {job.failed[-1]}", file=sys.stderr)
            return
        job.cells.setdefault(threads, []).append({name: cell[name] for name in ("seconds", "processor_seconds", "peak_bytes")})

    def run(self, group: Group, until: float) -> None:
        group.make(self)
        for _ in range(MOST_ROUNDS):
            for threads in self.columns:
                for job in group.jobs:
                    if threads in job.columns:
                        self.turn(job, threads, until)


def measured(command: str, folder: Path, environment: dict[str, str], limit: float) -> dict[str, Any]:
    """The time and memory of a command, with the counts that it prints as JSON; or its error."""
    with tempfile.TemporaryFile() as errors:
        begin = time.monotonic()
        words = ["timeout", "-k", "5", f"{max(limit, 1):.0f}", "sh", "-c", command]
        process = subprocess.Popen(words, cwd=folder, env=environment, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        process.returncode = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
        errors.seek(0)
        text = errors.read().decode(errors="replace")
    if process.returncode:
        return {"error": f"exit code {process.returncode} {text.strip()}"}
    figures = next((json.loads(line) for line in text.splitlines() if line.startswith("{")), {})
    times = {"seconds": wall, "processor_seconds": usage.ru_utime + usage.ru_stime}
    return figures | times | {"peak_bytes": usage.ru_maxrss * 1024}


def processors() -> int:
    """The processors that this process may use: a container may have fewer than the machine."""
    count = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, min(count, int(quota) // int(period)))
    except (OSError, ValueError):
        return count


def memory() -> float:
    """The bytes that are free, or that a container may still use."""
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    free = int(fields["MemAvailable"].split()[0]) * 1024
    try:
        limit, used = (int(Path("/sys/fs/cgroup", name).read_text()) for name in ("memory.max", "memory.current"))
        return min(free, limit - used)
    except (OSError, ValueError):
        return free


def scratch(wanted: float) -> tuple[Path, float]:
    """A folder with room for this number of bytes, in memory if possible; and the bytes that may be used of it."""
    places = [os.environ.get("TMPDIR"), "/dev/shm", "/run/shm", "/tmp", "/var/tmp"]
    free = {place: shutil.disk_usage(place).free for place in places if place and os.access(place, os.W_OK)}
    best = next((place for place, room in free.items() if room > wanted), max(free, key=lambda place: free[place]))
    return Path(tempfile.mkdtemp(prefix="coua-cores-", dir=best)), min(free[best], memory())


def file_system(folder: Path) -> str:
    return subprocess.run(["stat", "-f", "-c", "%T", folder], stdout=subprocess.PIPE, text=True).stdout.strip()


def make_lines(name: str, kind: str) -> Callable[[Bench], None]:
    return lambda bench: bench.shell(f"coua-bench lines {bench.sizes[name]} {kind} > {name}")


def make_packed(bench: Bench) -> None:
    """Compresses all files in parallel."""
    bench.shell("rm -f short filter")
    one = f"coua-bench lines {bench.sizes['packed']} urls $part/{PACKED_FILES} | gzip -1 > $part.gz &"
    bench.shell(f"for part in $(seq {PACKED_FILES}); do {one} done; wait")


def make_many(bench: Bench) -> None:
    bench.shell("rm -f *.gz")
    make_lines("many", "short")(bench)


def cut(name: str, size: str) -> Callable[[Bench], None]:
    """Keeps the first lines of the file: short lines all have the same length."""
    return lambda bench: os.truncate(bench.folder / name, bench.sizes[size] * SHORT_BYTES)


def make_short(bench: Bench) -> None:
    bench.shell("rm -f urls filter")
    make_lines("short", "short")(bench)


def groups(sizes: dict[str, int], columns: list[int]) -> list[Group]:
    urls, short, packed, many, kept, added = (sizes[name] for name in ("urls", "short", "packed", "many", "kept", "added"))
    dedup, files = "exec coua dedup -q --stats=json -j {n}", " ".join(f"{part}.gz" for part in range(1, PACKED_FILES + 1))
    of_urls, of_packed = {"unique": urls * 7 // 10}, {"unique": packed * 7 // 10}
    # With few threads it would take minutes.
    of_many = {"columns": [threads for threads in COLUMNS if 4 * threads > max(columns)]}
    half = lambda count: {"unique": count // 2}
    return [
        Group(0.20, make_lines("urls", "urls"), [
            Job("dedup of URLs, to a file", dedup + " -o out urls", urls, of_urls),
            Job("cat of the URLs", "exec cat urls > out", urls, columns=[1]),
            Job("dedup --filter NEW, URLs", dedup + " --filter filter -o out urls", urls, of_urls, "filter"),
            Job("the same again", dedup + " --filter filter -o out urls", urls, {"unique": 0}),
            Job("check -c, URLs", "exec coua check -q -j {n} -c filter urls > out", urls),
        ]),
        Group(0.12, make_short, [
            Job("dedup of short lines, to a file", dedup + " -o out short", short, half(short)),
            Job("cat of the short lines", "exec cat short > out", short, columns=[1]),
        ]),
        Group(0.14, cut("short", "added"), [
            Job("add NEW, short lines", "exec coua add -q --stats=json -j {n} filter short", added, {"added": added}, "filter"),
        ]),
        Group(0.22, make_packed, [Job(f"dedup of {PACKED_FILES} .gz, to nothing", f"{dedup} -o /dev/null {files}", packed, of_packed)]),
        Group(0.17, make_many, [Job("dedup of many short lines, to nothing", dedup + " -o /dev/null many", many, half(many), **of_many)]),
        Group(0.15, cut("many", "kept"), [
            Job("dedup of a quarter of them, to nothing", dedup + " -o /dev/null many", kept, half(kept), **of_many),
            Job("the same with --filter NEW", dedup + " --filter filter -o /dev/null many", kept, half(kept), "filter", **of_many),
        ]),
    ]


def told(job: Job) -> dict[str, Any]:
    cells = {}
    for threads, runs in sorted(job.cells.items()):
        median = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        cells[str(threads)] = median | {"rounds": len(runs)}
    return {"name": job.name, "records": job.records, "cells": cells, "failed": job.failed}


def measure(programs: Path, seconds: float, write: Callable[[dict[str, Any]], None]) -> None:
    """Writes the figures after each group, so that an early end loses only the last one."""
    missing = [word for word in ("sh", "cat", "gzip", "seq", "stat", "timeout") if not shutil.which(word)]
    missing += [str(programs / name) for name in ("coua", "coua-bench") if not os.access(programs / name, os.X_OK)]
    if missing:
        sys.exit(f"measure: cores needs these programs, which are not there: {', '.join(missing)}")
    bench = Bench(programs, seconds)
    try:
        done: list[dict[str, Any]] = []
        head = {"file_system": file_system(bench.folder), "processors": bench.processors, "seconds": seconds, "sizes": bench.sizes}
        until = 0.0
        for group in groups(bench.sizes, bench.columns):
            until += group.share * seconds
            bench.run(group, until)
            done += [told(job) for job in group.jobs]
            write(head | {"columns": sorted(bench.columns), "jobs": done})
    finally:
        shutil.rmtree(bench.folder)


def table(report: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """The header and rows of a table: seconds by threads."""
    columns = [str(column) for column in report["columns"]]
    rows = []
    for job in report["jobs"]:
        cells = job["cells"]
        times = [f"{cells[column]['seconds']:.2f}" if column in cells else "" for column in columns]
        ends = [cells[column] for column in (min(cells, key=int), max(cells, key=int))] if cells else []
        spent = " / ".join(f"{cell['processor_seconds']:.2f}" for cell in ends[: len(cells)])
        rows.append([job["name"], f"{job['records'] / 1e6:.3g}", *times, spent, f"{ends[-1]['peak_bytes'] / 2**20:.0f}" if ends else ""])
    return ["", "million records", *columns, "processor seconds", "MiB"], rows


def about(report: dict[str, Any]) -> str:
    """The note below the table."""
    failed = "".join(f" {job['name']} was left out ({why})." for job in report["jobs"] for why in job["failed"])
    return (
        f"Seconds by number of threads, on {report['processors']} processors; files in {report['file_system']}. Short lines have "
        f"{SHORT_BYTES} bytes, and half of them repeat; of the URLs 30 % do. Processor seconds are those of the least and the most threads, "
        f"memory is that of the most. Where a time is missing, the time for the measurement was over.{failed}"
    )


def text(report: dict[str, Any]) -> str:
    """The table, in aligned columns."""
    heads, rows = table(report)
    widths = [max(map(len, column)) for column in zip(heads, *rows)]
    lines = ([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))] for row in [heads, *rows])
    return "\n".join([*map("  ".join, lines), about(report)])

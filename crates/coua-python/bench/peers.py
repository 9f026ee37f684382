"""Coua beside other filters for Python: nanoseconds a key, bytes a key, keys lost, and the rate of wrong answers.

    peers.py [KEYS] [ROUNDS] [--out FILE] [--rust PROGRAM]

Needs the wheel, and the packages abloom, rbloom, zpds, cuckoopy, pyarrow. Each round runs all contestants one after the other, so
that a disturbance hits all; the median of the rounds counts. All are made for as many keys as are added (Coua also as a growing
filter), at a rate of 0.001 where one can be asked for. Times are processor time, with the loop that makes the calls. PROGRAM is
`batch.rs`, built: the same batches without Python.

FILE gets a line for each figure, tab-separated, under the names: keys, kind (u64 or str), filter, figure, value. A figure is a step
("add", "in, array"; the median, in ns a key), "bytes" and "pickled" (bytes a key), "rate", or "lost" (keys).
"""

import argparse
import pickle
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import abloom
import cuckoopy
import numpy as np
import pyarrow as pa
import rbloom
import zpds

import coua

RATE = 0.001
# More keys are not given to a package in pure Python, and they are given to it once.
MOST_IF_SLOW = 1_000_000
Sheet = dict[str, list[float]]


class Keys:
    """Keys in all forms: those that are added, and as many others."""

    def __init__(self, kind: str, number: int) -> None:
        chance = random.Random(number)
        bits = [chance.getrandbits(63) for _ in range(2 * number)]
        self.kind = kind
        self.objects: list[Any] = bits if kind == "u64" else [self.text(number) for number in bits]
        self.present, self.absent = self.objects[:number], self.objects[number:]
        self.array = np.array(self.present, "u8") if kind == "u64" else pa.array(self.present)
        self.absent_array = np.array(self.absent, "u8") if kind == "u64" else pa.array(self.absent)

    @staticmethod
    def text(bits: int) -> str:
        """Of 30 to 80 characters."""
        return f"https://example.org/{bits:016x}"[: 20 + 16] + "/path/of/a/page/that/has/a/name/of/some/length"[: bits % 45]


class Contestant:
    """What a peer calls each step; `None` where it cannot do it."""

    def __init__(self, name: str, make: Callable[[int], Any], **calls: str) -> None:
        self.name, self.make = name, make
        self.adds = calls.get("add", "add")
        self.many = calls.get("many")
        self.of_arrays = calls.get("arrays") == "yes"
        self.removes = calls.get("remove")
        self.size = calls.get("size")
        self.is_slow = name == "cuckoopy"

    def takes(self, keys: Keys, turn: int) -> bool:
        """cuckoopy has no integers."""
        return not self.is_slow or (turn == 0 and keys.kind == "str" and len(keys.present) <= MOST_IF_SLOW)


CONTESTANTS = [
    Contestant("coua", lambda n: coua.CuckooFilter(n, RATE), many="add_many", arrays="yes", remove="discard", size="memory_bytes"),
    Contestant("coua, growing", lambda n: coua.CuckooFilter(), many="add_many", arrays="yes", remove="discard", size="memory_bytes"),
    Contestant("coua BloomFilter", lambda n: coua.BloomFilter(n, RATE), many="add_many", arrays="yes", size="memory_bytes"),
    Contestant("abloom", lambda n: abloom.BloomFilter(n, RATE), many="update", size="byte_count"),
    Contestant("abloom, serializable", lambda n: abloom.BloomFilter(n, RATE, serializable=True), many="update", size="byte_count"),
    Contestant("rbloom", lambda n: rbloom.Bloom(n, RATE), many="update", size="size_in_bits"),
    Contestant("zpds", lambda n: zpds.CuckooFilter(capacity=n), many="add_many", arrays="yes", remove="remove"),
    Contestant("cuckoopy", lambda n: cuckoopy.CuckooFilter(n // 3, 4, 2), add="insert", remove="delete"),
]


def timed(sheet: Sheet, step: str, keys: int, work: Callable[[], Any]) -> Any:
    begin = time.process_time()
    result = work()
    sheet.setdefault(step, []).append((time.process_time() - begin) / keys * 1e9)
    return result


def for_each(method: Callable[[Any], Any], keys: list[Any]) -> None:
    for key in keys:
        method(key)


def count_in(filter: Any, keys: list[Any]) -> int:
    found = 0
    for key in keys:
        if key in filter:
            found += 1
    return found


def sizes_of(contestant: Contestant, filter: Any) -> dict[str, float]:
    """Bytes in memory, where the package tells them, and pickled, where it can."""
    sizes: dict[str, float] = {}
    if contestant.size:
        sizes["bytes"] = getattr(filter, contestant.size) / (8 if "bits" in contestant.size else 1)
    if contestant.name.startswith("coua"):
        sizes["pickled"] = len(pickle.dumps(filter))
    return sizes


def run(contestant: Contestant, keys: Keys, sheet: dict[str, Any]) -> None:
    number = len(keys.present)
    times: Sheet = sheet.setdefault("times", {})
    filter = contestant.make(number)
    if contestant.name == "zpds" and keys.kind == "u64":
        # It takes integers in arrays only.
        run_batch(contestant, keys.array, "array", sheet)
        absent = int(np.sum(contestant_filled(contestant, keys).contains_many(keys.absent_array)))
        sheet["rate"] = absent / number
        return
    timed(times, "add", number, lambda: for_each(getattr(filter, contestant.adds), keys.present))
    present = timed(times, "in, present", number, lambda: count_in(filter, keys.present))
    absent = timed(times, "in, absent", number, lambda: count_in(filter, keys.absent))
    sheet |= {"lost": number - present, "rate": absent / number}
    sheet |= {name: size / number for name, size in sizes_of(contestant, filter).items()}
    if contestant.removes:
        timed(times, "discard", number, lambda: for_each(getattr(filter, contestant.removes), keys.present))
    if not contestant.many:
        return
    forms = {"list": keys.present} | ({"array": keys.array} if contestant.of_arrays else {})
    for form, batch in forms.items():
        if contestant.name != "zpds" or form == "list":
            run_batch(contestant, batch, form, sheet)


def contestant_filled(contestant: Contestant, keys: Keys) -> Any:
    filter = contestant.make(len(keys.present))
    getattr(filter, contestant.many)(keys.array)
    return filter


def run_batch(contestant: Contestant, batch: Any, form: str, sheet: dict[str, Any]) -> None:
    number, times = len(batch), sheet["times"]
    filter = contestant.make(number)
    timed(times, f"add, {form}", number, lambda: getattr(filter, contestant.many)(batch))
    if not hasattr(filter, "contains_many"):
        return
    found = timed(times, f"in, {form}", number, lambda: filter.contains_many(batch))
    sheet["lost"] = max(sheet.get("lost", 0), number - int(np.sum(found)))
    for name in ("discard_many", "remove_many"):
        if hasattr(filter, name):
            timed(times, f"discard, {form}", number, lambda: getattr(filter, name)(batch))


def run_rust(program: Path, keys: Keys, sheets: dict[str, Any]) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(keys.array.tobytes() if keys.kind == "u64" else "\n".join(keys.present).encode())
        file.flush()
        done = subprocess.run([program, keys.kind, file.name], check=True, text=True, stdout=subprocess.PIPE)
    for line in done.stdout.splitlines():
        name, step, nanoseconds = line.split("\t")
        sheets.setdefault(name, {"times": {}})["times"].setdefault(step, []).append(float(nanoseconds))


def measure(number: int, rounds: int, rust: Path | None) -> dict[str, Any]:
    all_sheets: dict[str, Any] = {}
    for kind in ("u64", "str"):
        keys = Keys(kind, number)
        sheets: dict[str, Any] = all_sheets.setdefault(kind, {})
        for turn in range(rounds):
            for contestant in CONTESTANTS:
                if contestant.takes(keys, turn):
                    run(contestant, keys, sheets.setdefault(contestant.name, {}))
            if rust:
                run_rust(rust, keys, sheets)
            loop = sheets.setdefault("the loop alone", {"times": {}})["times"]
            timed(loop, "add", number, lambda: for_each(id, keys.present))
    return {"keys": number, "sheets": all_sheets}


def rows(result: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The figures: keys, kind, filter, figure, value."""
    for kind, contestants in result["sheets"].items():
        for name, sheet in contestants.items():
            figures = {step: round(statistics.median(times), 1) for step, times in sheet["times"].items()}
            figures |= {figure: sheet[figure] for figure in ("bytes", "pickled", "rate", "lost") if figure in sheet}
            for figure, value in figures.items():
                yield result["keys"], kind, name, figure, value


def table(all_rows: list[tuple[Any, ...]]) -> str:
    lines = []
    for kind in ("u64", "str"):
        cells = {(name, figure): value for _, of, name, figure, value in all_rows if of == kind}
        names, figures = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
        lines += [f"\n{all_rows[0][0]:,} keys, {kind}, ns a key\n", "| | " + " | ".join(figures) + " |", "|---" * (len(figures) + 1) + "|"]
        for name in names:
            row = (f"{cells[name, figure]:.3g}" if (name, figure) in cells else "" for figure in figures)
            lines.append(f"| {name} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Coua beside other filters for Python.")
    parser.add_argument("keys", type=int, nargs="?", default=1_000_000)
    parser.add_argument("rounds", type=int, nargs="?", default=3)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rust", type=Path)
    arguments = parser.parse_args()
    figures = list(rows(measure(arguments.keys, arguments.rounds, arguments.rust)))
    if arguments.out:
        lines = ("\t".join(map(str, line)) + "\n" for line in [("keys", "kind", "filter", "figure", "value"), *figures])
        arguments.out.write_text("".join(lines))
    print(table(figures))


if __name__ == "__main__":
    main()

"""Coua compared with other filters for Python: peers.py KEYS ROUNDS RUST. `measure` calls it.

Needs the wheel, and the packages of requirements.txt. Each round runs all contestants in turn, so that a disturbance affects
all of them; the median of the rounds counts. Each is built for the number of keys that are added (Coua also as a growing
filter), at a rate of 0.001 if it can be chosen. Times are processor time, including the loop of calls. RUST is the program
coua-bench: the same batches without Python.

Prints JSON: the figures by kind of key (u64 or str) and filter: steps ("add", "in, array"; the median, in ns per key), "bytes"
(per key), "rate", and "lost" (keys).
"""

import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import abloom
import cuckoopy
import numpy as np
import pyarrow as pa
import rbloom
import zpds

import coua

RATE = 0.001
# The most keys for a package in pure Python, which gets them only once.
MOST_IF_SLOW = 1_000_000
# The results of a contestant: its times by step, one per round, and other figures.
Sheet = dict[str, Any]


class Keys:
    """Keys in all forms: those that are added, and the same number of others."""

    def __init__(self, kind: str, number: int) -> None:
        chance = random.Random(number)
        bits = [chance.getrandbits(63) for _ in range(2 * number)]
        self.kind = kind
        objects: list[Any] = bits if kind == "u64" else [self.text(number) for number in bits]
        self.present, self.absent = objects[:number], objects[number:]
        self.array, self.absent_array = (
            np.array(keys, "u8") if kind == "u64" else pa.array(keys) for keys in (self.present, self.absent)
        )

    @staticmethod
    def text(bits: int) -> str:
        """A string of 30 to 80 characters."""
        return f"https://example.org/{bits:016x}"[: 20 + 16] + "/path/of/a/page/that/has/a/name/of/some/length"[: bits % 45]


@dataclass
class Contestant:
    """The names of a peer's methods for each step; empty if it has none."""

    name: str
    make: Callable[[int], Any]
    add: str = "add"
    many: str = ""
    arrays: bool = False
    remove: str = ""
    size: str = ""

    def takes(self, keys: Keys, turn: int) -> bool:
        """Whether the peer is measured: cuckoopy has no integers, and is slow."""
        return self.name != "cuckoopy" or (turn == 0 and keys.kind == "str" and len(keys.present) <= MOST_IF_SLOW)


CONTESTANTS = [
    Contestant("coua", lambda n: coua.CuckooFilter(n, RATE), many="add_many", arrays=True, remove="discard", size="memory_bytes"),
    Contestant("coua, growing", lambda n: coua.CuckooFilter(), many="add_many", arrays=True, remove="discard", size="memory_bytes"),
    Contestant("abloom", lambda n: abloom.BloomFilter(n, RATE), many="update", size="byte_count"),
    Contestant("rbloom", lambda n: rbloom.Bloom(n, RATE), many="update", size="size_in_bits"),
    Contestant("zpds", lambda n: zpds.CuckooFilter(capacity=n), many="add_many", arrays=True, remove="remove"),
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


def run(contestant: Contestant, keys: Keys, sheet: Sheet) -> None:
    number, times = len(keys.present), sheet.setdefault("times", {})
    # For integers, zpds accepts arrays only.
    if contestant.name == "zpds" and keys.kind == "u64":
        run_batch(contestant, keys, "array", sheet)
        return
    filter = contestant.make(number)
    timed(times, "add", number, lambda: for_each(getattr(filter, contestant.add), keys.present))
    present = timed(times, "in, present", number, lambda: count_in(filter, keys.present))
    absent = timed(times, "in, absent", number, lambda: count_in(filter, keys.absent))
    sheet |= {"lost": number - present, "rate": absent / number}
    if contestant.size:
        sheet["bytes"] = getattr(filter, contestant.size) / (8 if "bits" in contestant.size else 1) / number
    if contestant.remove:
        timed(times, "discard", number, lambda: for_each(getattr(filter, contestant.remove), keys.present))
    if contestant.many:
        run_batch(contestant, keys, "list", sheet)
        if contestant.arrays and contestant.name != "zpds":
            run_batch(contestant, keys, "array", sheet)


def run_batch(contestant: Contestant, keys: Keys, form: str, sheet: Sheet) -> None:
    batch = keys.array if form == "array" else keys.present
    number, times = len(batch), sheet["times"]
    filter = contestant.make(number)
    timed(times, f"add, {form}", number, lambda: getattr(filter, contestant.many)(batch))
    if not hasattr(filter, "contains_many"):
        return
    found = timed(times, f"in, {form}", number, lambda: filter.contains_many(batch))
    sheet["lost"] = max(sheet.get("lost", 0), number - int(np.sum(found)))
    if "rate" not in sheet:
        sheet["rate"] = int(np.sum(filter.contains_many(keys.absent_array))) / number
    for name in ("discard_many", "remove_many"):
        if hasattr(filter, name):
            timed(times, f"discard, {form}", number, lambda: getattr(filter, name)(batch))


def run_rust(program: str, keys: Keys, sheets: dict[str, Sheet]) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(keys.array.tobytes() if keys.kind == "u64" else "\n".join(keys.present).encode())
        file.flush()
        done = subprocess.run([program, "arrays", keys.kind, file.name], check=True, text=True, stdout=subprocess.PIPE)
    for line in done.stdout.splitlines():
        name, step, nanoseconds = line.split("\t")
        sheets.setdefault(name, {"times": {}})["times"].setdefault(step, []).append(float(nanoseconds))


def measure(number: int, rounds: int, rust: str) -> dict[str, dict[str, Any]]:
    kinds = {}
    for kind in ("u64", "str"):
        keys = Keys(kind, number)
        sheets: dict[str, Sheet] = {}
        for turn in range(rounds):
            for contestant in CONTESTANTS:
                if contestant.takes(keys, turn):
                    run(contestant, keys, sheets.setdefault(contestant.name, {}))
            run_rust(rust, keys, sheets)
            loop = sheets.setdefault("the loop alone", {"times": {}})["times"]
            timed(loop, "add", number, lambda: for_each(id, keys.present))
        for sheet in sheets.values():
            sheet |= {step: round(statistics.median(times), 1) for step, times in sheet.pop("times").items()}
        kinds[kind] = sheets
    return kinds


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))

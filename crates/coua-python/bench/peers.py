"""Coua beside other filters for Python: nanoseconds a key, bytes a key, keys lost, and the rate of wrong answers.

    peers.py [KEYS] [ROUNDS] [--markdown]

Needs the wheel, and the packages abloom, rbloom, zpds, pyarrow. Each round runs all contestants one after the other, so that a
disturbance hits all; the median of the rounds counts. All are made for as many keys as are added (Coua also as a growing
filter), at a rate of 0.001 where one can be asked for. Times are processor time, with the loop that makes the calls.
"""

import json
import pickle
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import abloom
import numpy as np
import pyarrow as pa
import rbloom
import zpds

import coua

RATE = 0.001
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
    """How a peer does each step; `None` where it cannot."""

    def __init__(self, name: str, make: Callable[[int], Any], **steps: str) -> None:
        self.name, self.make = name, make
        self.many = steps.get("many")
        self.of_arrays = steps.get("arrays") == "yes"
        self.removes = steps.get("remove")
        self.size = steps.get("size", "pickle")


CONTESTANTS = [
    Contestant("coua", lambda n: coua.CuckooFilter(n, RATE), many="add_many", arrays="yes", remove="discard"),
    Contestant("coua, growing", lambda n: coua.CuckooFilter(), many="add_many", arrays="yes", remove="discard"),
    Contestant("coua BloomFilter", lambda n: coua.BloomFilter(n, RATE), many="add_many", arrays="yes"),
    Contestant("abloom", lambda n: abloom.BloomFilter(n, RATE), many="update", size="byte_count"),
    Contestant("abloom, serializable", lambda n: abloom.BloomFilter(n, RATE, serializable=True), many="update", size="byte_count"),
    Contestant("rbloom", lambda n: rbloom.Bloom(n, RATE), many="update", size="size_in_bits"),
    Contestant("zpds", lambda n: zpds.CuckooFilter(capacity=n), many="add_many", arrays="yes", remove="remove", size="none"),
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


def bytes_of(contestant: Contestant, filter: Any) -> float | None:
    match contestant.size:
        case "pickle":
            return len(pickle.dumps(filter))
        case "byte_count":
            return filter.byte_count
        case "size_in_bits":
            return filter.size_in_bits / 8
    return None


def run(contestant: Contestant, keys: Keys, sheet: dict[str, Any]) -> None:
    number = len(keys.present)
    times: Sheet = sheet.setdefault("times", {})
    filter = contestant.make(number)
    if contestant.name == "zpds" and keys.kind == "u64":
        # It takes integers in arrays only.
        run_batch(contestant, keys.array, "array", sheet)
        absent = int(np.sum(contestant_filled(contestant, keys).contains_many(keys.absent_array)))
        sheet |= {"rate": absent / number, "bytes": None}
        return
    timed(times, "add", number, lambda: for_each(filter.add, keys.present))
    present = timed(times, "in, present", number, lambda: count_in(filter, keys.present))
    absent = timed(times, "in, absent", number, lambda: count_in(filter, keys.absent))
    size = bytes_of(contestant, filter)
    sheet |= {"lost": number - present, "rate": absent / number, "bytes": size and size / number}
    if contestant.removes:
        timed(times, "discard", number, lambda: for_each(getattr(filter, contestant.removes), keys.present))
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


def measure(number: int, rounds: int) -> dict[str, Any]:
    sheets: dict[str, Any] = {}
    for kind in ("u64", "str"):
        keys = Keys(kind, number)
        for _ in range(rounds):
            for contestant in CONTESTANTS:
                run(contestant, keys, sheets.setdefault(kind, {}).setdefault(contestant.name, {}))
            loop = sheets[kind].setdefault("the loop alone", {"times": {}})["times"]
            timed(loop, "add", number, lambda: for_each(id, keys.present))
    return {"keys": number, "rounds": rounds, "sheets": sheets}


def table(result: dict[str, Any]) -> str:
    lines = []
    for kind, contestants in result["sheets"].items():
        steps = list(dict.fromkeys(step for sheet in contestants.values() for step in sheet["times"]))
        lines.append(f"\n{result['keys']:,} keys, {kind}, ns a key\n")
        lines.append("| | " + " | ".join([*steps, "bytes a key", "rate", "lost"]) + " |")
        lines.append("|---" * (len(steps) + 4) + "|")
        for name, sheet in contestants.items():
            cells = [f"{statistics.median(sheet['times'][step]):.0f}" if step in sheet["times"] else "" for step in steps]
            size, rate = sheet.get("bytes"), sheet.get("rate")
            cells += [f"{size:.2f}" if size else "", f"{rate:.1e}" if rate is not None else "", str(sheet.get("lost", ""))]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    number, rounds = (int(argument) for argument in (*arguments, *("1000000", "3")[len(arguments) :]))
    result = measure(number, rounds)
    Path(f"peers-{number}.json").write_text(json.dumps(result))
    print(table(result))

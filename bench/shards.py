#!/usr/bin/env python3
"""Simulates a de-duplication on a thousand machines: figures of docs/scale.md that need more machines than we have.

    shards.py [--quick] [--json]

Records, some of whose keys are hot, are divided among 1,000 shards by the hash of the key, as `dedup --shard` and
filters on servers divide them; each shard has its own node. One node fails and restarts with its last commit. Finally
1,000 nodes become 1,200. Everything is drawn from one seed: the output is the same each time. It takes a minute
or two, with `--quick` a second.
"""

from __future__ import annotations

import argparse
import json
import math
from bisect import bisect
from itertools import accumulate
from typing import Any, Callable, Iterator

SHARDS, MORE_SHARDS = 1_000, 1_200
# Many more than nodes, which share them: the number of slots of a Valkey cluster.
FIXED_SHARDS = 1 << 14
RECORDS, QUICK_RECORDS = 4_000_000, 100_000
SEED = 2026
# The share of the hottest key in all records; the n-th hot key has 1 / n of that.
HOTTEST, HOT_KEYS = 0.01, 1_000
# Every other record has one of as many random keys as there are records.
# A sender may drop repeats among this number of its records before it sends them.
SENT_AT_ONCE = 10_000
# A node commits after each twentieth of its records, and one fails after this share of all records.
COMMITS, FAILING, FAILS_AT = 20, 417, 0.6037
MASK = (1 << 64) - 1


def mix(value: int) -> int:
    """A bijection of 64-bit numbers (SplitMix64), in place of the hash of a key."""
    value = ((value ^ (value >> 30)) * 0xBF58_476D_1CE4_E5B9) & MASK
    value = ((value ^ (value >> 27)) * 0x94D0_49BB_1331_11EB) & MASK
    return value ^ (value >> 31)


def share(hash_value: int, shares: int) -> int:
    """`KeyHash::share`: how the program, the library and servers divide keys."""
    return int.from_bytes(hash_value.to_bytes(8, "little"), "big") * shares >> 64


def stream(records: int) -> Iterator[int]:
    """The hashes of the records' keys."""
    borders = list(accumulate(HOTTEST / rank for rank in range(1, HOT_KEYS + 1)))
    for number in range(records):
        draw = mix((SEED << 40) + number)
        part = draw / 2.0**64
        yield mix(bisect(borders, part) if part < borders[-1] else HOT_KEYS + mix(draw) % records)


class Node:
    """The node that fails: the keys that it has seen, and which of them are committed."""

    def __init__(self, commits_after: int) -> None:
        self.commits_after = commits_after
        self.seen: set[int] = set()
        self.uncommitted: list[int] = []
        self.records = 0
        # The records since its last commit when it fails, and the number of their keys that were new.
        self.read_again = self.forgotten = 0
        self.printed_twice = 0
        self.printed: set[int] = set()

    def record(self, key: int) -> None:
        self.records += 1
        if key not in self.seen:
            self.seen.add(key)
            self.uncommitted.append(key)
            # Without its output it cannot know that it has printed this record before.
            self.printed_twice += key in self.printed
            self.printed.add(key)
        if self.records % self.commits_after == 0:
            self.uncommitted.clear()

    def fail(self) -> None:
        self.read_again = self.records % self.commits_after
        self.forgotten = len(self.uncommitted)
        self.seen.difference_update(self.uncommitted)
        self.uncommitted.clear()


def spread(counts: list[int]) -> dict[str, float]:
    """The sizes of shards relative to the mean. `by_chance` is the expected deviation if all keys are distinct."""
    mean = sum(counts) / len(counts)
    deviation = math.sqrt(sum((count - mean) ** 2 for count in counts) / len(counts)) / mean
    return {"mean": mean, "least": min(counts) / mean, "most": max(counts) / mean, "deviation": deviation, "by_chance": mean**-0.5}


def of_one_stream(records: int) -> dict[str, Any]:
    read, sent, keys = ([0] * SHARDS for _ in range(3))
    node = Node(max(records // SHARDS // COMMITS, 1))
    seen: set[int] = set()
    block: set[int] = set()
    for number, key in enumerate(stream(records)):
        if number == int(FAILS_AT * records):
            node.fail()
        if number % SENT_AT_ONCE == 0:
            block.clear()
        shard = share(key, SHARDS)
        read[shard] += 1
        if key not in block:
            block.add(key)
            sent[shard] += 1
        if key not in seen:
            seen.add(key)
            keys[shard] += 1
        if shard == FAILING:
            node.record(key)
    failed = {name: getattr(node, name) for name in ("records", "read_again", "forgotten", "printed_twice")}
    return {"records": spread(read), "sent": spread(sent), "keys": spread(keys), "failure": failed, "moved": moved(list(seen)[:200_000])}


def owners() -> tuple[list[int], list[int]]:
    """The node of each of the fixed shards, before and after: new nodes take shards from the nodes with most of them."""
    before = [shard % SHARDS for shard in range(FIXED_SHARDS)]
    held = [list(range(node, FIXED_SHARDS, SHARDS)) for node in range(SHARDS)]
    after = list(before)
    for node in range(SHARDS, MORE_SHARDS):
        for _ in range(FIXED_SHARDS // MORE_SHARDS):
            after[max(held, key=len).pop()] = node
    return before, after


def moved(keys: list[int]) -> dict[str, Any]:
    """The share of keys that move to another node, and the number of nodes from which a new one takes keys."""
    before, after = owners()
    ways: dict[str, Callable[[int], tuple[int, int]]] = {
        "hash mod N": lambda key: (key % SHARDS, key % MORE_SHARDS),
        "prefix: hash * N / 2^64": lambda key: (share(key, SHARDS), share(key, MORE_SHARDS)),
        f"{FIXED_SHARDS:,} shards, moved whole": lambda key: (before[share(key, FIXED_SHARDS)], after[share(key, FIXED_SHARDS)]),
    }
    told = {}
    for name, way in ways.items():
        pairs = [way(key) for key in keys]
        sources: dict[int, set[int]] = {}
        for old, new in pairs:
            if old != new:
                sources.setdefault(new, set()).add(old)
        told[name] = {"keys": sum(old != new for old, new in pairs) / len(pairs), "sources": max(map(len, sources.values()))}
    return told


def text(found: dict[str, Any]) -> str:
    rows = []
    for name, words in (("records", "records read"), ("sent", "sent, if senders drop their own repeats"), ("keys", "different keys")):
        figures = found[name]
        rows.append(
            f"{words:40} {figures['mean']:9,.0f} a shard; least {figures['least']:.3f}, most {figures['most']:.3f} of the mean; "
            f"deviation {figures['deviation']:.4f}, by chance {figures['by_chance']:.4f}"
        )
    failed = found["failure"]
    rows.append(
        f"a node of {failed['records']:,} records fails: {failed['read_again']:,} are read again with --resume; without, "
        f"{failed['forgotten']:,} keys are forgotten, and {failed['printed_twice']:,} of them printed twice"
    )
    for name, figures in found["moved"].items():
        rows.append(f"{SHARDS:,} nodes become {MORE_SHARDS:,}, {name:30} {figures['keys']:6.1%} of the keys move, to a node from at most {figures['sources']:,}")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    # The same as in the library's own test.
    golden = [0, 0x33, 0x34, 0x9999_9999_9999_9999, 0x1234_5678_9ABC_DEFF, MASK]
    assert [share(value, 5) for value in golden] == [0, 0, 1, 2, 4, 4]
    found = of_one_stream(QUICK_RECORDS if options.quick else RECORDS)
    print(json.dumps(found, indent=1) if options.json else text(found))


if __name__ == "__main__":
    main()

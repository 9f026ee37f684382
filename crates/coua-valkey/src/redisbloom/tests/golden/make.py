#!/usr/bin/env python3
"""Writes golden.txt: what a running RedisBloom makes of known commands, byte for byte.

    make.py SOCKET > golden.txt

SOCKET is the Unix socket of a server with RedisBloom loaded; golden.txt names the version. Needs the
package `redis`. Items are decimal numbers. Chunks longer than 600 bytes are given by their length and
hash only; the hash is MurmurHash64A, written here a second time.
"""

import sys

import redis

MASK = (1 << 64) - 1
MULTIPLIER = 0xC6A4A7935BD1E995


def murmur64(data, seed=0):
    value = seed ^ (len(data) * MULTIPLIER & MASK)
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        word = int.from_bytes(data[at : at + 8], "little") * MULTIPLIER & MASK
        word = (word ^ word >> 47) * MULTIPLIER & MASK
        value = (value ^ word) * MULTIPLIER & MASK
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * MULTIPLIER & MASK
    value = (value ^ value >> 47) * MULTIPLIER & MASK
    return value ^ value >> 47


class Case:
    """One filter: prints what is done to it, and what comes out."""

    def __init__(self, server, name, *arguments):
        self.server = server
        print("filter", name, *arguments)

    def call(self, command, *arguments):
        return self.server.execute_command(f"CF.{command}", "key", *arguments)

    def each(self, command, first, end):
        print(command.lower(), first, end)
        for item in range(first, end):
            self.call(command, str(item))
        return self

    def compact(self):
        print("compact")
        self.call("COMPACT")
        return self

    def answers(self, end):
        """Which of the items below `end` are there, as runs of yes and no."""
        runs, last = [], True
        for start in range(0, end, 1000):
            for answer in self.call("MEXISTS", *map(str, range(start, min(end, start + 1000)))):
                if bool(answer) != last or not runs:
                    if not runs and not answer:
                        runs.append(0)
                    runs.append(0)
                    last = bool(answer)
                runs[-1] += 1
        print("answers", *runs)
        return self

    def dump(self):
        info = self.call("INFO")
        print("info", *info[1::2])
        position = 0
        while True:
            position, chunk = self.call("SCANDUMP", position)
            if position == 0:
                break
            content = chunk.hex() if len(chunk) <= 600 else f"murmur {murmur64(chunk):016x}"
            print("chunk", position, len(chunk), content)
        dumped = self.server.dump("key")
        if len(dumped) < 1200:
            print("dump", dumped.hex())
        self.server.delete("key")
        print()


def cuckoo(server, name, capacity, bucket_size, iterations, expansion):
    case = Case(server, name, capacity, bucket_size, iterations, expansion)
    sizes = ("BUCKETSIZE", bucket_size, "MAXITERATIONS", iterations, "EXPANSION", expansion)
    case.call("RESERVE", capacity, *sizes)
    return case


def main():
    server = redis.Redis(unix_socket_path=sys.argv[1], protocol=2)
    server.flushall()
    server.config_set("rdbcompression", "no")
    version = next(m[b"ver"] for m in server.module_list() if m[b"name"] == b"bf")
    print(f"# RedisBloom {version // 10000}.{version // 100 % 100}.{version % 100}, by make.py\n")

    cuckoo(server, "small", 64, 2, 20, 1).each("ADD", 0, 50).dump()
    cuckoo(server, "one slot a bucket", 64, 1, 20, 1).each("ADD", 0, 1000).dump()
    cuckoo(server, "two", 64, 2, 20, 1).each("ADD", 0, 1000).answers(3000).dump()
    cuckoo(server, "four", 256, 4, 500, 1).each("ADD", 0, 1000).answers(3000).dump()
    cuckoo(server, "odd bucket size", 300, 7, 65535, 2).each("ADD", 0, 2000).dump()
    cuckoo(server, "doubling", 64, 2, 20, 2).each("ADD", 0, 1000).answers(3000).dump()
    cuckoo(server, "rounded expansion", 64, 2, 500, 3).each("ADD", 0, 1000).dump()
    cuckoo(server, "until refused", 4, 2, 20, 1).each("ADD", 0, 124).dump()
    cuckoo(server, "never grows", 4, 2, 20, 0).each("ADD", 0, 4).dump()
    cuckoo(server, "all arguments largest", 510, 255, 65535, 32768).each("ADD", 0, 300).dump()
    cuckoo(server, "unique", 64, 2, 20, 1).each("ADDNX", 0, 500).each("ADDNX", 0, 20).dump()
    case = cuckoo(server, "removed", 64, 2, 20, 1).each("ADD", 0, 500).each("DEL", 0, 45)
    case.answers(500).dump()
    case = cuckoo(server, "removed until compacted", 64, 2, 20, 2).each("ADD", 0, 900)
    case.each("DEL", 300, 700).each("ADD", 900, 1000).answers(1000).dump()
    case = cuckoo(server, "compacted", 128, 4, 20, 1).each("ADD", 0, 1000).each("DEL", 0, 90)
    case.compact().answers(1000).each("ADD", 0, 50).dump()
    cuckoo(server, "two chunks a sub-filter", 20000000, 2, 20, 1).each("ADD", 0, 500).dump()


main()

"""Every call that redis-py, or valkey-py, has for these filters, unchanged: cf(), sync and async,
RESP2 and RESP3: redis_py.py PORT redis|valkey"""

import asyncio
import importlib
import inspect
import sys

package = sys.argv[2]
redis = importlib.import_module(package)
connect = getattr(redis, package.capitalize())
connect_asynchronously = getattr(importlib.import_module(f"{package}.asyncio"), package.capitalize())
commands = importlib.import_module(f"{package}.commands.bf.commands")


class Recorder:
    """Calls, and remembers which."""

    def __init__(self, commands, called):
        self.commands, self.called = commands, called

    def __getattr__(self, name):
        call = getattr(self.commands, name)

        async def recorded(*arguments, **options):
            self.called.add(name)
            reply = call(*arguments, **options)
            return await reply if inspect.isawaitable(reply) else reply

        return recorded


def public(commands):
    return {name for name, value in vars(commands).items() if callable(value) and name[0] != "_"}


async def refused(call, text):
    try:
        await call
    except redis.exceptions.ResponseError as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"not refused: {text}")


async def cuckoo(cf):
    assert await cf.create("cf", 1000) is True
    assert await cf.reserve("cf2", 1000, expansion=3, bucket_size=4, max_iterations=50) is True
    await refused(cf.create("cf", 1000), "item exists")
    assert await cf.add("cf", "a") == 1
    assert await cf.addnx("cf", "a") == 0
    assert await cf.addnx("cf", "b") == 1
    assert await cf.insert("cf", ["c", "d"]) == [1, 1]
    assert await cf.insert("cf3", ["c"], capacity=500) == [1]
    await refused(cf.insert("cf4", ["c"], nocreate=True), "not found")
    assert await cf.insertnx("cf", ["d", "e"]) == [0, 1]
    assert await cf.insertnx("cf5", ["d", "e"], capacity=500) == [1, 1]
    await refused(cf.insertnx("cf4", ["c"], nocreate=True), "not found")
    assert await cf.exists("cf", "a") == 1
    assert await cf.exists("cf", "x") == 0
    assert await cf.mexists("cf", "a", "x") == [1, 0]
    assert await cf.count("cf", "a") == 1
    assert await cf.delete("cf", "a") == 1
    assert await cf.delete("cf", "a") == 0
    await refused(cf.delete("cf4", "a"), "Not found")
    info = await cf.info("cf2")
    field = info.get if isinstance(info, dict) else None
    if field is None:
        assert (info.bucketSize, info.expansionRate, info.maxIteration) == (4, 3, 50), vars(info)
        assert (info.insertedNum, info.deletedNum, info.filterNum) == (0, 0, 1), vars(info)
        assert info.size > 0 and info.bucketNum > 0, vars(info)
    else:
        info = {key.decode() if isinstance(key, bytes) else key: info[key] for key in info}
        assert info["Bucket size"] == 4 and info["Max iterations"] == 50, info
    await copied(cf, "cf", "cf6")
    assert await cf.mexists("cf6", "a", "b", "c") == [0, 1, 1]


async def copied(commands, source, destination):
    """As redis-py's documentation dumps and loads."""
    position, chunks = 0, []
    while True:
        position, chunk = await commands.scandump(source, position)
        if position == 0:
            break
        chunks.append((position, chunk))
    assert chunks
    for position, chunk in chunks:
        assert await commands.loadchunk(destination, position, chunk) in (b"OK", "OK", True)


async def run(client, flush):
    called = set()
    reply = flush()
    if inspect.isawaitable(reply):
        await reply
    await cuckoo(Recorder(client.cf(), called))
    missing = public(commands.CFCommands) - called
    assert not missing, f"not called: {missing}"


def main():
    port = int(sys.argv[1])
    for protocol in 2, 3:
        client = connect(port=port, protocol=protocol)
        asyncio.run(run(client, client.flushall))
        client.close()

        async def asynchronous():
            client = connect_asynchronously(port=port, protocol=protocol)
            await run(client, client.flushall)
            await client.aclose()

        asyncio.run(asynchronous())


main()

// Every call that node-redis has for these filters, under RESP2 and RESP3: node_redis.js PORT

const assert = require("node:assert/strict");
const { createClient } = require("redis");

async function cuckoo(cf) {
  assert.equal(await cf.reserve("cf", 1000), "OK");
  await cf.reserve("cf2", 1000, { BUCKETSIZE: 4, MAXITERATIONS: 50, EXPANSION: 3 });
  await assert.rejects(cf.reserve("cf", 1000), /item exists/);
  assert.equal(await cf.add("cf", "a"), true);
  assert.equal(await cf.addNX("cf", "a"), false);
  assert.deepEqual(await cf.insert("cf", ["b", "c"]), [true, true]);
  assert.deepEqual(await cf.insert("cf3", ["b"], { CAPACITY: 100 }), [true]);
  // Numbers under RESP3, as RedisBloom answers: there are three answers.
  assert.deepEqual((await cf.insertNX("cf", ["c", "d"])).map(Boolean), [false, true]);
  await assert.rejects(cf.insert("cf4", ["b"], { NOCREATE: true }), /not found/);
  assert.equal(await cf.exists("cf", "a"), true);
  assert.equal(await cf.exists("cf", "x"), false);
  assert.equal(await cf.count("cf", "a"), 1);
  assert.equal(await cf.del("cf", "a"), true);
  assert.equal(await cf.del("cf", "a"), false);
  const info = await cf.info("cf2");
  assert.deepEqual(Object.keys(info), [
    "Size", "Number of buckets", "Number of filters", "Number of items inserted",
    "Number of items deleted", "Bucket size", "Expansion rate", "Max iterations",
  ]);
  assert.equal(info["Bucket size"], 4);
  assert.equal(info["Max iterations"], 50);
}

async function copied(commands, source, destination) {
  for (let iterator = 0; ; ) {
    const dumped = await commands.scanDump(source, iterator);
    iterator = dumped.iterator;
    if (iterator === 0) break;
    assert.equal(await commands.loadChunk(destination, iterator, dumped.chunk), "OK");
  }
}

async function main() {
  for (const RESP of [2, 3]) {
    const client = createClient({ url: `redis://localhost:${process.argv[2]}`, RESP });
    await client.connect();
    await client.flushAll();
    await cuckoo(client.cf);
    // Chunks are bytes, which are no text.
    const bytes = client.withTypeMapping({ [36]: Buffer });
    await copied(bytes.cf, "cf", "cf5");
    assert.equal(await client.cf.exists("cf5", "d"), true);
    client.destroy();
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

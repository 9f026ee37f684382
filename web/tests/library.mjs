// The library in node: against an exact multiset, and its bytes against those of the native library.
// node library.mjs COUA_JS COUA_WASM SNAPSHOTS

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [script, module, snapshots] = process.argv.slice(2);
const { CuckooFilter, initialize, locateIn, tablesIn } = await import(pathToFileURL(script));
const compiled = await WebAssembly.compile(readFileSync(module));
assert.deepEqual(WebAssembly.Module.imports(compiled), [], "the module imports nothing");
await initialize(readFileSync(module));

let state = 1;
function random(bound) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return (state >>> 8) % bound;
}

/** Random operations on few keys, compared with a map of counts. A rate of 2^-40 and less: no answer may differ. */
function model(options, operations) {
  const filter = new CuckooFilter(options);
  const counts = new Map();
  for (let n = 0; n < operations; n += 1) {
    const key = `key-${random(400)}`;
    const count = counts.get(key) ?? 0;
    const what = random(8);
    if (what < 3) {
      assert.equal(filter.add(key), count === 0);
      counts.set(key, Math.max(1, count));
    } else if (what < 4) {
      filter.insert(key);
      counts.set(key, count + 1);
    } else if (what < 6) {
      assert.equal(filter.delete(key), count > 0);
      counts.set(key, Math.max(0, count - 1));
    } else {
      assert.equal(filter.has(key), count > 0);
      assert.equal(filter.count(key), count);
    }
  }
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  assert.equal(filter.size, all);
  const again = CuckooFilter.load(filter.save());
  for (const [key, count] of counts) assert.equal(again.count(key), count);
  assert.deepEqual(again.save(), filter.save());
}

for (const options of [{}, { capacity: 10 }, { seed: 2n ** 64n - 1n }]) {
  model(options, 20_000);
}
console.log("the model holds");

/** The operations of operations.rs. */
function snapshot(options) {
  const filter = new CuckooFilter(options);
  for (let n = 0; n < 15_000; n += 1) filter.add(`key-${n}`);
  for (let n = 0; n < 15_000; n += 3) filter.delete(`key-${n}`);
  for (let n = 0; n < 20; n += 1) filter.insert("copies");
  return filter.save();
}

const made = {
  fixed: { capacity: 20_000, rate: 0.01 }, growing: { capacity: 100 }, large: { capacity: 300_000, hashBits: 40 },
  seeded: { capacity: 1000, hashBits: 40, seed: 2n ** 64n - 1n },
};
for (const [name, options] of Object.entries(made)) {
  const native = readFileSync(join(snapshots, `${name}.coua`));
  assert.ok(native.equals(snapshot(options)), `${name}: the bytes are those of the native library`);
}
console.log("snapshots equal the native ones");

/** More memory than one mapping of the native library, grown from little, and none lost. */
const large = new CuckooFilter();
const some = 3_000_000;
for (let n = 0; n < some; n += 1) large.insert(`item-${n}`);
for (let n = 0; n < some; n += 1) assert.ok(large.has(`item-${n}`));
assert.ok(large.describe().segments > 100);
console.log("3,000,000 items: none lost");

/** A snapshot shows what the filter answers. */
const snapshotOfLarge = large.save();
const [table] = tablesIn(snapshotOfLarge);
assert.deepEqual([table.length, table.segments.length, table.isKeyed], [some, large.describe().segments, false]);
for (let n = 0; n < 20; n += 1) {
  const { representative, slots } = locateIn(snapshotOfLarge, `item-${n}`);
  assert.ok(slots.some((slot) => slot.r === representative));
}
for (const key of ["stranger", "stranger too"]) {
  const { representative, slots } = large.locate(key);
  assert.ok(slots.length > 0 && slots.every((slot) => slot.r !== representative));
}
console.log("a look into a snapshot");

/** What is wrong is said, and nothing traps. */
assert.throws(() => CuckooFilter.load(new Uint8Array(10)), /not a Coua filter/);
assert.throws(() => tablesIn(new Uint8Array(10)), /not a Coua filter/);
const small = new CuckooFilter({ capacity: 100, rate: 0.01 });
assert.throws(() => small.addMany(Array.from({ length: 200 }, (_, n) => `${n}`)), /full/);
assert.equal(small.size, 100);
const saved = small.save();
for (let at = 0; at < saved.length; at += 61) {
  const damaged = saved.slice();
  damaged[at] ^= 16;
  assert.throws(() => CuckooFilter.load(damaged), Error, `byte ${at}`);
}
small.free();
assert.throws(() => small.has("a"), /freed/);
console.log("errors are errors");

/** The module with a limit of memory, in pages of 64 KiB. */
function limited(wasm, pages) {
  const leb = (n) => (n < 128 ? [n] : [(n & 127) | 128, ...leb(n >>> 7)]);
  const read = (at) => (wasm[at] & 128 ? (wasm[at] & 127) + 128 * read(at + 1) : wasm[at]);
  const MEMORY = 5;
  let at = 8;
  while (wasm[at] !== MEMORY) at += 1 + leb(read(at + 1)).length + read(at + 1);
  const body = at + 1 + leb(read(at + 1)).length;
  const memory = [1, 1, ...leb(read(body + 2)), ...leb(pages)];
  return Buffer.concat([wasm.subarray(0, at), Buffer.from([MEMORY, ...leb(memory.length), ...memory]), wasm.subarray(body + read(at + 1))]);
}
await initialize(limited(readFileSync(module), 1024));

/** Memory that is refused is an error, at once and each time, and nothing is lost. */
const growing = new CuckooFilter();
let items = 0;
const first = performance.now();
try {
  for (; items < 50_000_000; items += 1) growing.insert(`item-${items}`);
} catch (error) {
  assert.match(error.message, /memory/);
}
const begin = performance.now();
for (let n = 0; n < 20_000; n += 1) {
  try {
    growing.insert(`more-${n}`);
    items += 1;
  } catch (error) {
    assert.match(error.message, /memory/);
  }
}
const each = (performance.now() - begin) / 20_000;
const usual = (begin - first) / items;
assert.ok(each < 20 * usual, `${each} ms for each item that finds no memory, ${usual} ms for one that does`);
assert.equal(growing.size, items);
for (let n = 0; n < 100_000; n += 1) assert.ok(growing.has(`item-${n}`));
console.log(`${items} items, then no memory: each more takes ${(each / usual).toFixed(1)} times as long`);

// The npm package as it was installed, in node: node package.mjs FILE, which gets a filter.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { inspect } from "node:util";
import { CouaError, CuckooFilter } from "coua";
import * as manual from "coua/manual";

const require = createRequire(import.meta.url);
const common = require("coua");

function works({ CuckooFilter }) {
  const seen = new CuckooFilter({ capacity: 1000, rate: 0.001 });
  assert.equal(seen.add("kestrel"), true);
  assert.equal(seen.add("kestrel"), false);
  assert.deepEqual(seen.addMany(["merlin", "kestrel", new Uint8Array([0, 255])]), [true, false, true]);
  assert.ok(seen.has("merlin") && !seen.has("owl"));
  assert.ok(seen.delete("merlin") && !seen.delete("merlin"));
  assert.equal(seen.size, 2);
  assert.ok(CuckooFilter.load(seen.save()).has("kestrel"));
  return seen.save();
}
const bytes = works({ CuckooFilter });
// What is passed from one to the other is bytes.
assert.deepEqual(works(common), bytes);
assert.throws(() => new common.CuckooFilter({ rate: 2 }), common.CouaError);
// The script of both is the same, so it is ready already; that it can be made ready is tried in the browser.
assert.deepEqual(works(manual), bytes);
await manual.init(readFileSync(require.resolve("coua/coua.wasm")));
assert.deepEqual(works(manual), bytes);
writeFileSync(process.argv[2], bytes);

// Bytes of every kind are bytes.
const filter = new CuckooFilter();
const buffer = Uint8Array.from([1, 2, 3, 4, 5, 6]).buffer;
filter.add(buffer);
for (const same of [new Uint8Array(buffer), new DataView(buffer), new Uint16Array(buffer), Buffer.from(buffer)]) {
  assert.ok(filter.has(same), same.constructor.name);
}
assert.ok(filter.has(new Uint8Array([0, 1, 2, 3, 4, 5, 6]).subarray(1)));
assert.ok(CuckooFilter.load(filter.save().slice().buffer).has(buffer));
const shared = new SharedArrayBuffer(6);
new Uint8Array(shared).set([1, 2, 3, 4, 5, 6]);
assert.ok(filter.has(shared) && filter.has(new Uint8Array(shared)));

// Many, all, and the union.
assert.deepEqual(filter.addMany(new Set(["a", "b", "c"])), [true, true, true]);
assert.deepEqual(filter.deleteMany(["a", "x", "a"]), [true, false, false]);
const other = new CuckooFilter();
other.addMany(["b", "d"]);
assert.equal(filter.merge(other).merge(filter), filter);
assert.deepEqual([filter.size, filter.count("b"), filter.has("d"), filter.has("a")], [4, 1, true, false]);
assert.equal(JSON.parse(JSON.stringify({ filter })).filter.length, 4);
assert.match(inspect(filter), /^CuckooFilter \{.*length: 4/s);
filter.clear();
assert.deepEqual([filter.size, filter.has("b")], [0, false]);

// Copies: every insert counts, and each copy is deleted for itself.
const copies = new CuckooFilter(1000, 0.001);
assert.equal(copies.insert("a").insertMany(["a", "b", new Uint8Array([1])]), copies);
assert.deepEqual(copies.countMany(["a", "b", "c", new Uint8Array([1])]), [2, 1, 0, 1]);
assert.deepEqual(copies.deleteMany(["a", "a", "a"]), [true, true, false]);
assert.throws(() => new CuckooFilter(2, 0.01, { whenFull: "refuse" }).insertMany(["a", "a", "b"]), (error) => error.done === 2);

// A filter that is freed while its own batch reads the keys: the batch fails, and other filters go on.
for (const many of ["addMany", "insertMany", "hasMany", "deleteMany", "countMany"]) {
  const freed = new CuckooFilter();
  const keys = function* () {
    yield "a";
    freed.free();
    yield "b";
  };
  assert.throws(() => freed[many](keys()), { code: "FREED" }, many);
  assert.ok(copies.has("b"), many);
}

// A subclass is loaded as one.
class Urls extends CuckooFilter {
  add(key) {
    return super.add(new URL(key).href);
  }
}
const urls = Urls.load(new Urls().save());
assert.ok(urls instanceof Urls && urls.add("http://a") && urls.has("http://a/"));
class Small extends CuckooFilter {
  constructor() {
    super(10, 0.01);
  }
}
assert.throws(() => Small.load(urls.save()), { name: "TypeError", message: /constructor of Small must pass/ });

// What is wrong is said, by errors that can be told apart.
const code = (code, message) => (error) => {
  assert.ok(error instanceof CouaError && error.name === "CouaError", `${error}`);
  assert.equal(error.code, code);
  assert.match(error.message, message);
  return true;
};
const type = (message) => ({ name: "TypeError", message });
for (const wrong of [[{}, 0.01], [null], ["7"], [1000, 0.01, {}, 1]]) {
  assert.throws(() => new CuckooFilter(...wrong), type(/^options must be one object, or capacity, rate and an object/));
}
for (const wrong of [[NaN, 0.01], [-1], [1.5]]) {
  assert.throws(() => new CuckooFilter(...wrong), type(/^capacity must be a whole number/));
}
for (const capacity of [-1, 1.5, NaN, "5", null, 1e300]) {
  assert.throws(() => new CuckooFilter({ capacity }), type(/^capacity must be a whole number from 0 on \(found /));
}
for (const rate of ["0.1", NaN, true]) assert.throws(() => new CuckooFilter({ rate }), type(/^rate must be a number/));
for (const seed of [-1, 1.5, 2n ** 64n, "7", 2 ** 60]) assert.throws(() => new CuckooFilter({ seed }), type(/^seed must be/));
assert.throws(() => new CuckooFilter({ whenFull: "toString" }), type(/^whenFull must be one of grow, refuse, exceed-rate/));
assert.throws(() => new CuckooFilter({ size: 2 }), type(/unknown option size/));
assert.throws(() => new CuckooFilter({ rate: 2 }), code("BAD_OPTIONS", /between 0 and 1/));
assert.throws(() => new CuckooFilter({ rate: 0.1 }), code("BAD_OPTIONS", /: set maxItems /));
for (const key of [7, 7n, null, undefined, {}, [1]]) {
  assert.throws(() => filter.has(key), type(/^a key must be a string or bytes \(found /));
  assert.throws(() => filter.addMany(["good", key]), type(/^a key must be a string or bytes/));
}
assert.throws(() => filter.add(7), type(/use String\(key\)$/));
assert.throws(() => filter.add({ id: 7 }), type(/found Object\); use a string that tells it from others, such as its id$/));
for (const key of ["\ud800", "a\udc00b", "\udc00\ud800"]) {
  assert.throws(() => filter.add(key), type(/half a surrogate pair/));
  assert.throws(() => filter.hasMany([key]), type(/half a surrogate pair/));
}
assert.ok(filter.add("\ud83e\udd89"));
for (const keys of ["abca", 7, {}, null, new Uint8Array(3)]) {
  assert.throws(() => filter.addMany(keys), type(/^keys must be an array, or another iterable \(found /));
}
assert.equal(filter.size, 1);
for (const bytes of ["x", 7, null, {}]) assert.throws(() => CuckooFilter.load(bytes), type(/^load needs bytes/));
assert.throws(() => CuckooFilter.load(new ArrayBuffer(10)), code("NOT_A_FILTER", /not a Coua filter/));
const small = new CuckooFilter({ capacity: 2, rate: 0.01, whenFull: "refuse" });
assert.throws(() => small.addMany(["a", "b", "c"]), (error) => code("FULL", /after 2 keys/)(error) && error.done === 2);
assert.throws(() => small.add("d"), code("FULL", /full/));
assert.throws(() => small.merge(new CuckooFilter({ seed: 1 })), code("CANNOT_MERGE", /./));
assert.throws(() => small.merge({}), type(/^merge needs a CuckooFilter \(found Object/));
assert.throws(() => structuredClone(small), { name: "DataCloneError" });
if (Symbol.dispose) small[Symbol.dispose]();
else small.free();
assert.throws(() => small.has("a"), code("FREED", /freed/));

// Capacity and rate by position, as other packages have it.
const { capacity, maxItems, falsePositiveRate } = new CuckooFilter(1000, 0.01, { whenFull: "refuse" }).describe();
assert.deepEqual([capacity >= 1000, maxItems, falsePositiveRate], [true, 1000, 0]);
assert.deepEqual(new CuckooFilter(1000, 0.01).save(), new CuckooFilter({ capacity: 1000, rate: 0.01 }).save());
assert.equal(new CuckooFilter(1000).describe().maxItems, undefined);

// Windows: of items, of times that are given, and of the system's clock.
const last = new CuckooFilter({ windowItems: 80, generations: 8 });
last.addMany(Array.from({ length: 200 }, (_, n) => `${n}`));
assert.ok(last.has("199") && last.has("120") && !last.has("100"));
assert.deepEqual(last.describe().window, { length: 80, clock: "count", generations: 8, windowBy: "first", forgotten: 200 - last.size });

const minute = new CuckooFilter({ window: 60_000, generations: 6, clock: "given" });
assert.deepEqual(minute.addMany(["a", "a", "b"], [5_000, new Date(30_000), 50_000]), [true, false, true]);
assert.equal(minute.add("a", 90_000), true);
assert.equal(minute.insert("b", 95_000).count("b"), 2);
assert.ok(minute.delete("b"));
const again = CuckooFilter.load(minute.save());
assert.equal(again.size, 2);
again.advance(new Date(500_000));
assert.deepEqual([again.size, again.has("a"), again.describe().window.forgotten], [0, false, 2]);
assert.equal(again.merge(minute).size, 0);
assert.deepEqual([minute.merge(CuckooFilter.load(minute.save())).count("a"), minute.size], [2, 4]);
minute.clear();
assert.deepEqual([minute.size, minute.describe().window.length], [0, 60_000]);
assert.throws(() => minute.addMany(["a", "b"], [1]), type(/^found 1 times for 2 keys/));
for (const time of [-1, NaN, "7", new Date(NaN)]) assert.throws(() => minute.add("a", time), type(/^a time must be a whole number/));

const renewed = new CuckooFilter({ window: 60_000, generations: 6, clock: "given", windowBy: "last" });
assert.deepEqual(renewed.addMany(["a", "a", "a"], [5_000, 50_000, 100_000]), [true, false, false]);

const lately = new CuckooFilter({ window: 100, generations: 2 });
assert.ok(lately.add("a") && lately.has("a"));
await new Promise((done) => setTimeout(done, 160));
assert.ok(!lately.has("a") && lately.describe().window.forgotten === 1);
for (const filter of [lately, last, new CuckooFilter()]) {
  assert.throws(() => filter.add("a", 7), type(/^times are for filters with a window and clock: "given"/));
  assert.throws(() => filter.advance(7), type(/^times are for filters/));
}
for (const options of [{ window: 1000, windowItems: 9 }, { windowItems: 9, clock: "given" }, { generations: 2 }, { window: 2 }]) {
  assert.throws(() => new CuckooFilter(options), code("BAD_OPTIONS", /window/));
}
assert.throws(() => new CuckooFilter({ window: 1000, clock: "mine" }), type(/^clock must be one of arrival, given \(found mine\)/));
assert.throws(() => new CuckooFilter().merge(last), code("CANNOT_MERGE", /window/));

// More than WebAssembly can address is an error of that call. Above 2 GiB in all, filters can still be saved.
const tooMany = (call) => assert.throws(call, code("FAILED", /^out of memory for 31457280\d\d bytes/));
const huge = new Uint8Array(3000 * 2 ** 20);
tooMany(() => CuckooFilter.load(huge));
tooMany(() => copies.add(huge));
tooMany(() => copies.hasMany([huge]));
const large = Array.from({ length: 3 }, () => new CuckooFilter({ capacity: 2e8 }));
assert.ok(large.reduce((sum, filter) => sum + filter.describe().memoryBytes, 0) > 3 * 2 ** 30);
assert.throws(() => large[0].save(), code("FAILED", /^out of memory for \d+ bytes; free a filter/));
assert.ok(CuckooFilter.load(copies.save()).has("b") && copies.add("k".repeat(1e6)));
for (const filter of large) filter.free();
console.log(`the package works in ${process.versions.deno ? "Deno" : process.versions.bun ? "Bun" : "node"}`);

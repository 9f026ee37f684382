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

// What is wrong is said, by errors that can be told apart.
const code = (code, message) => (error) => {
  assert.ok(error instanceof CouaError && error.name === "CouaError", `${error}`);
  assert.equal(error.code, code);
  assert.match(error.message, message);
  return true;
};
const type = (message) => ({ name: "TypeError", message });
for (const wrong of [[1000, 0.01], [{}, 0.01], [null], ["7"]]) {
  assert.throws(() => new CuckooFilter(...wrong), type(/options are one object: new CuckooFilter\(\{ capacity/));
}
for (const capacity of [-1, 1.5, NaN, "5", null, 1e300]) {
  assert.throws(() => new CuckooFilter({ capacity }), type(/^capacity is a whole number from 0 on \(found /));
}
for (const rate of ["0.1", NaN, true]) assert.throws(() => new CuckooFilter({ rate }), type(/^rate is a number/));
for (const seed of [-1, 1.5, 2n ** 64n, "7", 2 ** 60]) assert.throws(() => new CuckooFilter({ seed }), type(/^seed is/));
assert.throws(() => new CuckooFilter({ whenFull: "toString" }), type(/^whenFull is one of grow, refuse, exceed-rate/));
assert.throws(() => new CuckooFilter({ size: 2 }), type(/no option size/));
assert.throws(() => new CuckooFilter({ rate: 2 }), code("BAD_OPTIONS", /between 0 and 1/));
assert.throws(() => new CuckooFilter({ rate: 0.1 }), code("BAD_OPTIONS", /: give maxItems /));
for (const key of [7, 7n, null, undefined, {}, [1]]) {
  assert.throws(() => filter.has(key), type(/^a key is a string or bytes \(found /));
  assert.throws(() => filter.addMany(["good", key]), type(/^a key is a string or bytes/));
}
for (const key of ["\ud800", "a\udc00b", "\udc00\ud800"]) {
  assert.throws(() => filter.add(key), type(/half a surrogate pair/));
  assert.throws(() => filter.hasMany([key]), type(/half a surrogate pair/));
}
assert.ok(filter.add("\ud83e\udd89"));
for (const keys of ["abca", 7, {}, null, new Uint8Array(3)]) {
  assert.throws(() => filter.addMany(keys), type(/^keys are an array, or another iterable \(found /));
}
assert.equal(filter.size, 1);
for (const bytes of ["x", 7, null, {}]) assert.throws(() => CuckooFilter.load(bytes), type(/^load takes bytes/));
assert.throws(() => CuckooFilter.load(new ArrayBuffer(10)), code("NOT_A_FILTER", /not a Coua filter/));
const small = new CuckooFilter({ capacity: 2, rate: 0.01, whenFull: "refuse" });
assert.throws(() => small.addMany(["a", "b", "c"]), (error) => code("FULL", /after 2 keys/)(error) && error.done === 2);
assert.throws(() => small.add("d"), code("FULL", /full/));
assert.throws(() => small.merge(new CuckooFilter({ seed: 1 })), code("CANNOT_MERGE", /./));
assert.throws(() => small.merge({}), type(/^merge takes a CuckooFilter/));
assert.throws(() => structuredClone(small), { name: "DataCloneError" });
if (Symbol.dispose) small[Symbol.dispose]();
else small.free();
assert.throws(() => small.has("a"), code("FREED", /freed/));
console.log("the package works in node");

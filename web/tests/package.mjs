// The npm package as it was installed, in node.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { CuckooFilter } from "coua";

const seen = new CuckooFilter({ capacity: 1000, rate: 0.001 });
assert.equal(seen.add("kestrel"), true);
assert.equal(seen.add("kestrel"), false);
assert.deepEqual(seen.addMany(["merlin", "kestrel", new Uint8Array([0, 255])]), [true, false, true]);
assert.ok(seen.has("merlin") && !seen.has("owl"));
assert.ok(seen.delete("merlin") && !seen.delete("merlin"));
assert.equal(seen.size, 2);
assert.ok(CuckooFilter.load(seen.save()).has("kestrel"));
writeFileSync(process.argv[2], seen.save());
console.log("the package works in node");

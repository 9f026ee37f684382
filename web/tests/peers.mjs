// Coua beside other cuckoo filters of npm: keys that were added and are not found, time a key, and size.

import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { gzipSync } from "node:zlib";
import { CuckooFilter } from "coua";

const KEYS = Number(process.argv[2] ?? 200_000);
const keys = Array.from({ length: KEYS }, (_, n) => `https://example.org/pages/${n}`);
const strangers = keys.map((key) => `${key}?no`);

const makers = {
  coua: () => {
    const filter = new CuckooFilter({ capacity: KEYS, rate: 0.001 });
    // False means that it was taken for one that is there: it is found.
    return { add: (key) => filter.add(key) || true, has: (key) => filter.has(key) };
  },
  "@libp2p/utils": async () => {
    const { createCuckooFilter } = await import("@libp2p/utils");
    const filter = createCuckooFilter(KEYS, 0.001);
    const encoder = new TextEncoder();
    return { add: (key) => filter.add(encoder.encode(key)), has: (key) => filter.has(encoder.encode(key)) };
  },
  "bloom-filters": async () => {
    const { default: { CuckooFilter: Peer } } = await import("bloom-filters");
    const filter = Peer.create(KEYS, 0.001);
    return { add: (key) => filter.add(key), has: (key) => filter.has(key) };
  },
};

function timed(work) {
  const begin = process.hrtime.bigint();
  const result = work();
  return [result, Number(process.hrtime.bigint() - begin)];
}

/** Bytes of the package's own JavaScript and WebAssembly, compressed; without what it depends on. */
function packageBytes(name) {
  const require = createRequire(import.meta.url);
  const main = require.resolve.paths(name).map((folder) => `${folder}/${name}`).find((folder) => {
    try {
      return readdirSync(folder).length > 0;
    } catch {
      return false;
    }
  });
  const files = readdirSync(main, { recursive: true, withFileTypes: true });
  const code = files.filter((file) => file.isFile() && /\.(js|mjs|cjs|wasm)$/.test(file.name) && !/node_modules\/.*node_modules/.test(file.parentPath));
  return gzipSync(Buffer.concat(code.map((file) => readFileSync(`${file.parentPath}/${file.name}`)))).length;
}

console.log("filter           lost keys  wrong yes  add ns  has ns  package, gzipped");
for (const [name, make] of Object.entries(makers)) {
  const filter = await make();
  // A filter that is full says so by an exception, or by false; the key is asked for all the same.
  const [accepted, adding] = timed(() => keys.filter((key) => {
    try {
      return filter.add(key) !== false;
    } catch {
      return false;
    }
  }));
  const [lost, asking] = timed(() => accepted.filter((key) => !filter.has(key)).length);
  const wrong = strangers.filter((key) => filter.has(key)).length;
  const cells = [accepted.length < KEYS ? `${lost} (+${KEYS - accepted.length} refused)` : lost, `${((100 * wrong) / KEYS).toFixed(2)} %`,
    Math.round(adding / KEYS), Math.round(asking / accepted.length), `${(packageBytes(name) / 1024).toFixed(0)} KiB`];
  console.log([name.padEnd(16), ...cells.map((cell) => String(cell).padStart(9))].join(" "));
}

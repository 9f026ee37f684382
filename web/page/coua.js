// The library as JavaScript sees it: this file wraps the calls of ../src and nothing else does.
//
// A call finds its bytes in the input of the WebAssembly module and leaves its answer in the output.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

let wasm;

/** Makes the library ready: `bytes` are those of coua.wasm, or a compiled module. */
export async function initialize(bytes) {
  const made = await WebAssembly.instantiate(bytes, {});
  wasm = (made.instance ?? made).exports;
}

function bytesOf(key) {
  if (typeof key === "string") return encoder.encode(key);
  if (key instanceof Uint8Array) return key;
  throw new TypeError(`a key is a string or a Uint8Array (found ${typeof key})`);
}

function give(bytes) {
  const address = wasm.input(bytes.length);
  new Uint8Array(wasm.memory.buffer, address, bytes.length).set(bytes);
}

/** Strings are encoded where they are to lie: no copy, no garbage. */
function giveKey(key) {
  if (typeof key !== "string") return give(bytesOf(key));
  const most = key.length * 3;
  const address = wasm.input(most);
  const { written } = encoder.encodeInto(key, new Uint8Array(wasm.memory.buffer, address, most));
  if (written !== most) wasm.input(written);
}

function output() {
  return new Uint8Array(wasm.memory.buffer, wasm.output(), wasm.output_length());
}

const outputText = () => decoder.decode(output());
const outputJson = () => JSON.parse(outputText());

/** The result of a call, or its message as an error. */
function checked(number) {
  if (number < 0) throw new Error(outputText());
  return number;
}

/** Keys, each with its length (4 bytes) before it. As with one key, strings are encoded where they are to lie. */
function giveKeys(keys) {
  const mostOf = (key) => 4 + (typeof key === "string" ? 3 * key.length : bytesOf(key).length);
  const most = keys.reduce((sum, key) => sum + mostOf(key), 0);
  const address = wasm.input(most);
  const input = new Uint8Array(wasm.memory.buffer, address, most);
  const view = new DataView(wasm.memory.buffer, address, most);
  let at = 0;
  for (const key of keys) {
    let { length } = key;
    if (typeof key === "string") length = encoder.encodeInto(key, input.subarray(at + 4)).written;
    else input.set(key, at + 4);
    view.setUint32(at, length, true);
    at += 4 + length;
  }
  wasm.input(at);
}

const freed = new FinalizationRegistry(({ free, number }) => free(number));

/** Something in the module's memory, which is freed with the object that names it. */
class Held {
  #number;
  constructor(number, free) {
    this.#number = number;
    this.free = () => {
      freed.unregister(this);
      free(number);
      this.#number = undefined;
    };
    freed.register(this, { free, number }, this);
  }
  get number() {
    if (this.#number === undefined) throw new Error("it was freed");
    return this.#number;
  }
}

const WHEN_FULL = { grow: 0, refuse: 1, "exceed-rate": 2 };
const OPTIONS = ["capacity", "maxItems", "rate", "hashBits", "slotsPerBucket"];

function giveOptions(options) {
  for (const name of Object.keys(options)) {
    if (![...OPTIONS, "seed", "overlapping", "whenFull"].includes(name)) {
      throw new TypeError(`there is no option ${name}`);
    }
  }
  const { seed = 0n, overlapping = false, whenFull = "grow" } = options;
  if (!(whenFull in WHEN_FULL)) {
    throw new TypeError(`whenFull is one of ${Object.keys(WHEN_FULL).join(", ")} (found ${whenFull})`);
  }
  const view = new DataView(new ArrayBuffer(64));
  view.setBigUint64(0, BigInt(seed), true);
  OPTIONS.forEach((name, at) => view.setFloat64(8 + 8 * at, options[name] ?? NaN, true));
  view.setFloat64(48, Number(overlapping), true);
  view.setFloat64(56, WHEN_FULL[whenFull], true);
  give(new Uint8Array(view.buffer));
}

export class CuckooFilter {
  #held;

  constructor(options = {}) {
    if (options instanceof Held) {
      this.#held = options;
      return;
    }
    giveOptions(options);
    this.#held = new Held(checked(wasm.filter_new()), wasm.filter_free);
  }

  static load(bytes) {
    give(bytes);
    return new CuckooFilter(new Held(checked(wasm.filter_load()), wasm.filter_free));
  }

  save() {
    checked(wasm.filter_save(this.#held.number));
    return output().slice();
  }

  free() {
    this.#held.free();
  }

  add(key) {
    giveKey(key);
    return checked(wasm.filter_insert_unique(this.#held.number)) === 1;
  }

  addCopy(key) {
    giveKey(key);
    checked(wasm.filter_insert(this.#held.number));
    return this;
  }

  has(key) {
    giveKey(key);
    return wasm.filter_contains(this.#held.number) === 1;
  }

  delete(key) {
    giveKey(key);
    return wasm.filter_remove(this.#held.number) === 1;
  }

  count(key) {
    giveKey(key);
    return wasm.filter_count(this.#held.number);
  }

  addMany(keys) {
    const all = [...keys];
    giveKeys(all);
    const done = wasm.filter_insert_unique_each(this.#held.number);
    if (done < all.length) throw new Error(`${outputText()} (after ${done} keys)`);
    return Array.from(output(), (added) => added === 1);
  }

  hasMany(keys) {
    giveKeys([...keys]);
    wasm.filter_contains_each(this.#held.number);
    return Array.from(output(), (present) => present === 1);
  }

  get size() {
    return this.describe().length;
  }

  describe() {
    checked(wasm.filter_describe(this.#held.number));
    return outputJson();
  }

  /** Where the key lies, if it is there. */
  locate(key) {
    giveKey(key);
    checked(wasm.filter_locate(this.#held.number));
    return outputJson();
  }

  /** The segments, with their slots if these are wanted, and the overflow table. */
  table({ slots = true } = {}) {
    checked(wasm.filter_table(this.#held.number, Number(slots)));
    return outputJson();
  }
}

/** A Bloom filter of so many bits, to be compared with. */
export class BloomFilter {
  #held;

  constructor(bits, probes) {
    this.#held = new Held(checked(wasm.bloom_new(bits, probes)), wasm.bloom_free);
  }

  add(key) {
    giveKey(key);
    return wasm.bloom_insert(this.#held.number) === 1;
  }

  has(key) {
    giveKey(key);
    return wasm.bloom_contains(this.#held.number) === 1;
  }

  bytes() {
    wasm.bloom_bits(this.#held.number);
    return output().slice();
  }
}

/** Bytes that filters take, and others, for so many items at this false-positive rate. */
export function plan(items, rate) {
  checked(wasm.plan(items, rate));
  return outputJson();
}

/** A look into the file of a filter: `read(offset, length)` brings bytes of its `size`. */
export class FilterFile {
  #held;
  #read;

  constructor(size, read) {
    this.#held = new Held(wasm.file_new(size), wasm.file_free);
    this.#read = read;
  }

  /** Asks until no more bytes are wanted. */
  async #ask(question, reading = () => {}) {
    for (;;) {
      if (checked(question()) === 1) return outputJson();
      const { offset, length } = outputJson();
      reading(offset);
      const bytes = await this.#read(offset, length);
      if (bytes.length !== length) {
        throw new Error(`the file ended at byte ${offset + bytes.length}: it was changed meanwhile`);
      }
      give(bytes);
      wasm.file_give(this.#held.number, offset);
    }
  }

  open() {
    return this.#ask(() => wasm.file_open(this.#held.number));
  }

  /** Takes the secret key of the file's hash: 16 bytes. */
  setKey(key) {
    give(key);
    checked(wasm.file_key(this.#held.number));
  }

  /** What the log holds; `reading` is told the place in the file from time to time. */
  log(reading) {
    return this.#ask(() => wasm.file_log(this.#held.number), reading);
  }

  /** Copies of a key that the log inserts and removes. */
  logged(table, key, reading) {
    return this.#ask(() => {
      giveKey(key);
      return wasm.file_logged(this.#held.number, table);
    }, reading);
  }

  segment(table, segment, buckets = []) {
    return this.#ask(() => {
      give(new Uint8Array(Uint32Array.from(buckets).buffer));
      return wasm.file_segment(this.#held.number, table, segment);
    });
  }

  locate(table, key) {
    return this.#ask(() => {
      giveKey(key);
      return wasm.file_locate(this.#held.number, table);
    });
  }

  free() {
    this.#held.free();
  }
}

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

/** The same at once, where that is allowed: browsers refuse it for large modules. */
export function initializeNow(bytes) {
  wasm = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
}

/** What went wrong has a code: FULL, NOT_A_FILTER, BAD_OPTIONS, CANNOT_MERGE, FREED or FAILED. */
export class CouaError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "CouaError";
    this.code = code;
  }
}

/** What a value is, for a message. */
function kindOf(value) {
  if (value === null) return "null";
  return typeof value === "object" ? (value.constructor?.name ?? "object") : typeof value;
}

/** Bytes as they lie in memory; none if the value has no bytes. */
function viewOf(value) {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  // Also that of another realm, such as a frame.
  if (Object.prototype.toString.call(value) === "[object ArrayBuffer]") return new Uint8Array(value);
  return undefined;
}

const loneSurrogate = /\p{Surrogate}/u;

/** A string that has UTF-8. Others would all become the same key. */
function wellFormed(text) {
  if (text.isWellFormed?.() ?? !loneSurrogate.test(text)) return text;
  throw new TypeError(`a key has half a surrogate pair, which has no UTF-8: ${JSON.stringify(text)}`);
}

function bytesOf(key) {
  if (typeof key === "string") return encoder.encode(wellFormed(key));
  const bytes = viewOf(key);
  if (bytes) return bytes;
  throw new TypeError(`a key is a string or bytes (found ${kindOf(key)}): take String(key)`);
}

function give(bytes) {
  const address = wasm.input(bytes.length);
  new Uint8Array(wasm.memory.buffer, address, bytes.length).set(bytes);
}

/** Strings are encoded where they are to lie: no copy, no garbage. */
function giveKey(key) {
  if (typeof key !== "string") return give(bytesOf(key));
  const most = wellFormed(key).length * 3;
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
function checked(number, code = "FAILED") {
  if (number < 0) throw new CouaError(code, outputText());
  return number;
}

/** Keys, each with its length (4 bytes) before it. As with one key, strings are encoded where they are to lie. Returns
 * how many there are. */
function giveKeys(iterable) {
  // The characters of a string are hardly what was meant, nor are the bytes of one key.
  if (typeof iterable?.[Symbol.iterator] !== "function" || typeof iterable === "string" || viewOf(iterable)) {
    throw new TypeError(`keys are an array, or another iterable (found ${kindOf(iterable)})`);
  }
  const keys = Array.from(iterable, (key) => (typeof key === "string" ? wellFormed(key) : bytesOf(key)));
  const most = keys.reduce((sum, key) => sum + 4 + (typeof key === "string" ? 3 : 1) * key.length, 0);
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
  return keys.length;
}

/** The output as an answer for each key. */
const outputAnswers = () => Array.from(output(), (answer) => answer === 1);

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
    if (this.#number === undefined) throw new CouaError("FREED", "it was freed");
    return this.#number;
  }
}

const WHEN_FULL = { grow: 0, refuse: 1, "exceed-rate": 2 };
/** Options that are numbers: whether they are whole. */
const NUMBERS = { capacity: true, maxItems: true, rate: false, hashBits: true, slotsPerBucket: true };

/** An option's number; NaN if it is left to the library. */
function numberOf(options, name) {
  const value = options[name];
  if (value === undefined) return NaN;
  const whole = NUMBERS[name];
  const isRight = whole ? Number.isSafeInteger(value) && value >= 0 : typeof value === "number" && !Number.isNaN(value);
  if (isRight) return value;
  const found = typeof value === "number" ? value : kindOf(value);
  throw new TypeError(`${name} is a ${whole ? "whole number from 0 on" : "number"} (found ${found})`);
}

function seedOf(seed) {
  const isWhole = typeof seed === "bigint" || Number.isSafeInteger(seed);
  if (isWhole && seed >= 0 && seed < 2n ** 64n) return BigInt(seed);
  throw new TypeError("seed is a whole number from 0 to 2^64 - 1, above 2^53 a bigint");
}

function giveOptions(options, more) {
  if (typeof options !== "object" || options === null || more.length > 0) {
    throw new TypeError("options are one object: new CuckooFilter({ capacity: 1000, rate: 0.01 })");
  }
  for (const name of Object.keys(options)) {
    if (![...Object.keys(NUMBERS), "seed", "overlapping", "whenFull"].includes(name)) {
      throw new TypeError(`there is no option ${name}`);
    }
  }
  const { seed = 0n, overlapping = false, whenFull = "grow" } = options;
  if (!Object.hasOwn(WHEN_FULL, whenFull)) {
    throw new TypeError(`whenFull is one of ${Object.keys(WHEN_FULL).join(", ")} (found ${whenFull})`);
  }
  const view = new DataView(new ArrayBuffer(64));
  view.setBigUint64(0, seedOf(seed), true);
  Object.keys(NUMBERS).forEach((name, at) => view.setFloat64(8 + 8 * at, numberOf(options, name), true));
  view.setFloat64(48, Number(Boolean(overlapping)), true);
  view.setFloat64(56, WHEN_FULL[whenFull], true);
  give(new Uint8Array(view.buffer));
}

export class CuckooFilter {
  #held;

  constructor(options = {}, ...more) {
    if (options instanceof Held) {
      this.#held = options;
    } else {
      giveOptions(options, more);
      const number = wasm.filter_new();
      // The library's name of an option, in its only message that has one.
      if (number < 0) throw new CouaError("BAD_OPTIONS", outputText().replace("max_items", "maxItems"));
      this.#held = new Held(number, wasm.filter_free);
    }
    // A property of its own: a filter cannot be sent to another thread, and so structuredClone says so.
    this.free = () => this.#held.free();
  }

  static load(bytes) {
    const view = viewOf(bytes);
    if (!view) throw new TypeError(`load takes bytes, such as an ArrayBuffer (found ${kindOf(bytes)})`);
    give(view);
    return new CuckooFilter(new Held(checked(wasm.filter_load(), "NOT_A_FILTER"), wasm.filter_free));
  }

  save() {
    checked(wasm.filter_save(this.#held.number));
    return output().slice();
  }

  add(key) {
    giveKey(key);
    return checked(wasm.filter_insert_unique(this.#held.number), "FULL") === 1;
  }

  addCopy(key) {
    giveKey(key);
    checked(wasm.filter_insert(this.#held.number), "FULL");
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
    const all = giveKeys(keys);
    const done = wasm.filter_insert_unique_each(this.#held.number);
    if (done === all) return outputAnswers();
    const error = new CouaError("FULL", `${outputText()} (after ${done} keys)`);
    throw Object.assign(error, { done });
  }

  hasMany(keys) {
    giveKeys(keys);
    wasm.filter_contains_each(this.#held.number);
    return outputAnswers();
  }

  deleteMany(keys) {
    giveKeys(keys);
    wasm.filter_remove_each(this.#held.number);
    return outputAnswers();
  }

  clear() {
    wasm.filter_clear(this.#held.number);
  }

  merge(other) {
    if (!(other instanceof CuckooFilter)) throw new TypeError(`merge takes a CuckooFilter (found ${kindOf(other)})`);
    checked(wasm.filter_merge(this.#held.number, other.#held.number), "CANNOT_MERGE");
    return this;
  }

  toJSON() {
    return this.describe();
  }

  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    return `CuckooFilter ${inspect(this.describe(), options)}`;
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
// As `using filter = new CuckooFilter()` wants it.
if (Symbol.dispose) {
  CuckooFilter.prototype[Symbol.dispose] = function () {
    this.free();
  };
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

// The JavaScript interface of the library. Only this file calls ../src.
//
// A call reads its bytes from the input of the WebAssembly module and writes its answer to the output.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

let wasm;

/** Initializes the library: `bytes` are the contents of coua.wasm, or a compiled module. */
export async function initialize(bytes) {
  const made = await WebAssembly.instantiate(bytes, {});
  wasm = (made.instance ?? made).exports;
}

/** The same synchronously; browsers refuse this for large modules. */
export function initializeNow(bytes) {
  wasm = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports;
}

/** An error with a code: FULL, NOT_A_FILTER, BAD_OPTIONS, CANNOT_MERGE, FREED or FAILED. */
export class CouaError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "CouaError";
    this.code = code;
  }
}

/** The kind of a value, for a message. */
function kindOf(value) {
  if (value === null) return "null";
  return typeof value === "object" ? (value.constructor?.name ?? "object") : typeof value;
}

/** The bytes of a value; undefined if it has none. */
function viewOf(value) {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  // Works across realms, such as frames.
  const isBuffer = /^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(value));
  return isBuffer ? new Uint8Array(value) : undefined;
}

const loneSurrogate = /\p{Surrogate}/u;

/** A string that is valid in UTF-8. Invalid ones would all become the same key. */
function wellFormed(text) {
  if (text.isWellFormed?.() ?? !loneSurrogate.test(text)) return text;
  throw new TypeError(`a key has half a surrogate pair, which UTF-8 cannot encode: ${JSON.stringify(text)}`);
}

function bytesOf(key) {
  if (typeof key === "string") return encoder.encode(wellFormed(key));
  const bytes = viewOf(key);
  if (bytes) return bytes;
  const isPlain = ["number", "bigint", "boolean"].includes(typeof key);
  const advice = isPlain ? "use String(key)" : "use a string that tells it from others, such as its id";
  throw new TypeError(`a key must be a string or bytes (found ${kindOf(key)}); ${advice}`);
}

// WebAssembly allocates less than 2 GiB at once.
const MOST_BYTES = 2 ** 31 - 1;

/** Makes the input `length` bytes long. Returns its bytes. */
function input(length) {
  // An address of 0: there is no memory.
  const address = length > MOST_BYTES ? 0 : wasm.input(length) >>> 0;
  if (address === 0) throw new CouaError("FAILED", `out of memory for ${length} bytes; pass fewer at once`);
  return new Uint8Array(wasm.memory.buffer, address, length);
}

const give = (bytes) => input(bytes.length).set(bytes);

/** Encodes strings in place, without a copy or garbage. */
function giveKey(key) {
  if (typeof key !== "string") return give(bytesOf(key));
  const most = wellFormed(key).length * 3;
  const { written } = encoder.encodeInto(key, input(most));
  if (written !== most) wasm.input(written);
}

function output() {
  return new Uint8Array(wasm.memory.buffer, wasm.output() >>> 0, wasm.output_length());
}

const outputText = () => decoder.decode(output());

/** The result of a call, or its message as an error. */
function checked(number, code = "FAILED") {
  if (number < 0) throw new CouaError(code, outputText());
  return number;
}

/** The answer of a call that writes JSON. */
function answerOf(number) {
  checked(number);
  return JSON.parse(outputText());
}

/** Writes keys, each preceded by its length (4 bytes). Strings are encoded in place, as for a single key. Returns the
 * number of keys. */
function giveKeys(iterable) {
  // The characters of a string, or the bytes of one key, are surely a mistake.
  if (typeof iterable?.[Symbol.iterator] !== "function" || typeof iterable === "string" || viewOf(iterable)) {
    throw new TypeError(`keys must be an array, or another iterable (found ${kindOf(iterable)})`);
  }
  const keys = Array.from(iterable, (key) => (typeof key === "string" ? wellFormed(key) : bytesOf(key)));
  const most = keys.reduce((sum, key) => sum + 4 + (typeof key === "string" ? 3 : 1) * key.length, 0);
  const bytes = input(most);
  const view = new DataView(bytes.buffer, bytes.byteOffset, most);
  let at = 0;
  for (const key of keys) {
    let { length } = key;
    if (typeof key === "string") length = encoder.encodeInto(key, bytes.subarray(at + 4)).written;
    else bytes.set(key, at + 4);
    view.setUint32(at, length, true);
    at += 4 + length;
  }
  wasm.input(at);
  return keys.length;
}

// What the module does with keys.
const INSERT = 0;
const INSERT_UNIQUE = 1;
const CONTAINS = 2;
const REMOVE = 3;
const COUNT = 4;

/** The output as one answer per key. */
const outputAnswers = () => Array.from(output(), (answer) => answer === 1);

const freed = new FinalizationRegistry(({ free, number }) => free(number));

/** A filter in the module's memory, freed with the object that refers to it. */
class Held {
  #number;
  constructor(number) {
    this.#number = number;
    this.clock = answerOf(wasm.filter_describe(number)).window?.clock;
    // This module: the package may be initialized anew.
    freed.register(this, { free: wasm.filter_free, number }, this);
  }
  get number() {
    if (this.#number === undefined) throw new CouaError("FREED", "the filter was freed");
    if (this.clock === "arrival") wasm.filter_advance(this.#number, Date.now());
    return this.#number;
  }
  free() {
    if (this.#number === undefined) return;
    freed.unregister(this);
    wasm.filter_free(this.#number);
    this.#number = undefined;
  }
}

/** An option that is a number. */
const numeric = (isRight, what) => (value, name) => {
  if (typeof value === "number" && isRight(value)) return value;
  throw new TypeError(`${name} must be a ${what} (found ${typeof value === "number" ? value : kindOf(value)})`);
};
const whole = numeric((value) => Number.isSafeInteger(value) && value >= 0, "whole number from 0 on");
const fraction = numeric((value) => !Number.isNaN(value), "number");
const oneOf = (...names) => (value, name) => {
  if (names.includes(value)) return names.indexOf(value);
  throw new TypeError(`${name} must be one of ${names.join(", ")} (found ${value})`);
};

function seedOf(seed) {
  const isWhole = typeof seed === "bigint" || Number.isSafeInteger(seed);
  if (isWhole && seed >= 0 && seed < 2n ** 64n) return BigInt(seed);
  throw new TypeError("seed must be a whole number from 0 to 2^64 - 1, and a bigint above 2^53");
}

// The options except the seed, in the order in which the module reads them.
const OPTIONS = {
  capacity: whole, rate: fraction, maxItems: whole, hashBits: whole,
  whenFull: oneOf("grow", "refuse", "exceed-rate"),
  window: whole, windowItems: whole, clock: oneOf("arrival", "given"), generations: whole, windowBy: oneOf("first", "last"),
};

/** The options of a constructor: one object, or capacity, rate and the rest. */
function giveOptions([first = {}, rate, rest = {}, ...more]) {
  const byPosition = typeof first === "number";
  const options = byPosition ? { ...rest, capacity: first, rate } : first;
  if (typeof options !== "object" || options === null || more.length > 0 || (!byPosition && rate !== undefined)) {
    throw new TypeError("options must be one object, or capacity, rate and an object: ({ capacity: 1000, rate: 0.01 }) or (1000, 0.01)");
  }
  const unknown = Object.keys(options).find((name) => name !== "seed" && !Object.hasOwn(OPTIONS, name));
  if (unknown !== undefined) throw new TypeError(`unknown option ${unknown}`);
  const names = Object.keys(OPTIONS);
  const view = new DataView(new ArrayBuffer(8 * (names.length + 1)));
  view.setBigUint64(0, seedOf(options.seed ?? 0n), true);
  names.forEach((name, at) => {
    // The library chooses values that are not numbers.
    const value = options[name] === undefined ? NaN : OPTIONS[name](options[name], name);
    view.setFloat64(8 + 8 * at, value, true);
  });
  give(new Uint8Array(view.buffer));
}

/** The time of an item in milliseconds since 1970; NaN for the present. */
function timeOf(held, time) {
  if (time === undefined) return NaN;
  if (held.clock !== "given") throw new TypeError('times are for filters with a window and clock: "given"');
  return whole(time instanceof Date ? time.getTime() : time, "a time");
}

/** The error of a batch that found no room for a key. */
function stopped(message, done) {
  return Object.assign(new CouaError("FULL", `${message} (after ${done} keys)`), { done });
}

export class CuckooFilter {
  #held;

  constructor(...options) {
    if (options[0] instanceof Held) {
      [this.#held] = options;
    } else {
      giveOptions(options);
      const found = wasm.filter_new();
      // The library's name of an option, used in the only message that has one.
      if (found < 0) throw new CouaError("BAD_OPTIONS", outputText().replace("max_items", "maxItems"));
      this.#held = new Held(found);
    }
    // An own property: a filter cannot be sent to another thread, and structuredClone reports this.
    this.free = () => this.#held.free();
  }

  static load(bytes) {
    const view = viewOf(bytes);
    if (!view) throw new TypeError(`load needs bytes, such as an ArrayBuffer (found ${kindOf(bytes)})`);
    give(view);
    const held = new Held(checked(wasm.filter_load(), "NOT_A_FILTER"));
    const filter = new this(held);
    if (filter.#held === held) return filter;
    throw new TypeError(`load: the constructor of ${this.name} must pass its arguments to super`);
  }

  save() {
    checked(wasm.filter_save(this.#held.number));
    return output().slice();
  }

  /** Does something with a key. */
  #one(verb, key, time = NaN) {
    giveKey(key);
    return checked(wasm.filter_one(this.#held.number, verb, time), "FULL");
  }

  /** The same with many keys. The filter's number is used after they were given, because an iterator may free the filter. */
  #each(verb, keys, answers = outputAnswers) {
    const all = giveKeys(keys);
    const done = checked(wasm.filter_each(this.#held.number, verb));
    if (done < all) throw stopped(outputText(), done);
    return answers();
  }

  add(key, time) {
    return this.#one(INSERT_UNIQUE, key, timeOf(this.#held, time)) === 1;
  }

  insert(key, time) {
    this.#one(INSERT, key, timeOf(this.#held, time));
    return this;
  }

  addMany(keys, times) {
    if (times !== undefined) return this.#eachAt(keys, times, (key, time) => this.add(key, time));
    return this.#each(INSERT_UNIQUE, keys);
  }

  insertMany(keys, times) {
    if (times !== undefined) this.#eachAt(keys, times, (key, time) => this.insert(key, time));
    else this.#each(INSERT, keys);
    return this;
  }

  #eachAt(keys, times, call) {
    const all = [...keys];
    const given = Array.from(times, (time) => timeOf(this.#held, time));
    giveKeys(all);
    if (given.length !== all.length) throw new TypeError(`found ${given.length} times for ${all.length} keys`);
    return all.map((key, at) => {
      try {
        return call(key, given[at]);
      } catch (error) {
        throw stopped(error.message, at);
      }
    });
  }

  has(key) {
    return this.#one(CONTAINS, key) === 1;
  }

  hasMany(keys) {
    return this.#each(CONTAINS, keys);
  }

  delete(key) {
    return this.#one(REMOVE, key) === 1;
  }

  deleteMany(keys) {
    return this.#each(REMOVE, keys);
  }

  count(key) {
    return this.#one(COUNT, key);
  }

  countMany(keys) {
    return this.#each(COUNT, keys, () => Array.from(new BigUint64Array(output().slice().buffer), Number));
  }

  clear() {
    wasm.filter_clear(this.#held.number);
  }

  merge(other) {
    if (!(other instanceof CuckooFilter)) throw new TypeError(`merge needs a CuckooFilter (found ${kindOf(other)})`);
    checked(wasm.filter_merge(this.#held.number, other.#held.number), "CANNOT_MERGE");
    return this;
  }

  advance(time) {
    wasm.filter_advance(this.#held.number, timeOf(this.#held, time ?? NaN));
  }

  get size() {
    return this.describe().length;
  }

  describe() {
    return answerOf(wasm.filter_describe(this.#held.number));
  }

  toJSON() {
    return this.describe();
  }

  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    return `${this.constructor.name} ${inspect(this.describe(), options)}`;
  }

  /** The place of the key, if it is present. */
  locate(key) {
    return locateIn(this.save(), key);
  }

  /** The segments and their slots, and the overflow table. */
  table() {
    return tablesIn(this.save())[0];
  }
}
// For `using filter = new CuckooFilter()`.
if (Symbol.dispose) {
  CuckooFilter.prototype[Symbol.dispose] = function () {
    this.free();
  };
}

/** Bytes of filters and other structures for this number of items at this false-positive rate. */
export function plan(items, rate) {
  return answerOf(wasm.plan(items, rate));
}

/** The tables of a snapshot: one, or the template and the generations of a window. */
export function tablesIn(snapshot) {
  give(snapshot);
  return answerOf(wasm.snapshot_tables());
}

/** The place of a key in a table of a snapshot, and what is there. */
export function locateIn(snapshot, key, table = 0) {
  tablesIn(snapshot);
  giveKey(key);
  return answerOf(wasm.snapshot_locate(table));
}

/** Bytes as they lie in memory. */
export type Bytes = ArrayBufferLike | ArrayBufferView;

/** What is stored: the UTF-8 bytes of a string, or bytes as they are. */
export type Key = string | Bytes;

/** What went wrong. Wrong types of arguments are a `TypeError`. */
export class CouaError extends Error {
  readonly code: "BAD_OPTIONS" | "FULL" | "NOT_A_FILTER" | "CANNOT_MERGE" | "FREED" | "FAILED";
  /** How many keys `addMany` has done. */
  readonly done?: number;
}

/** How a filter is made. Without options it grows without limit and keeps all 64 bits of every hash. */
export interface Options {
  /** Items that there is room for without growing. */
  capacity?: number;
  /** Items up to which the rate holds. Default: the capacity if a rate is given, else no limit. */
  maxItems?: number;
  /** False-positive rate with `maxItems` items, between 0 and 1. */
  rate?: number;
  /** Bits of every hash to remember, 8 to 64, instead of a rate. */
  hashBits?: number;
  /** 1, 2, 4 (default) or 8. */
  slotsPerBucket?: number;
  /** Overlapping buckets: about a bit an item smaller, somewhat slower. */
  overlapping?: boolean;
  /** Of the hash. Filters with the same seed agree about every key. Default: 0. */
  seed?: number | bigint;
  /** What to do when an item finds no room. Default: "grow", up to `maxItems`. */
  whenFull?: "grow" | "refuse" | "exceed-rate";
}

/** A filter in numbers. */
export interface Description {
  length: number;
  capacity: number;
  /** Missing: no limit. */
  maxItems?: number;
  slots: number;
  segments: number;
  slotBits: number;
  slotsPerBucket: number;
  load: number;
  hashBits: number;
  /** Probability that `has` is true for a key that was never added, with the items stored now. */
  falsePositiveRate: number;
  memoryBytes: number;
}

/**
 * A set, or multiset, of keys in a few bytes each.
 *
 * `has` is never wrong about a key that was added and not deleted. About others it errs with the false-positive
 * rate's probability.
 */
export class CuckooFilter {
  constructor(options?: Options);
  /** Reads what `save` gave, in any language. Throws if a byte of it is wrong. */
  static load(bytes: Bytes): CuckooFilter;
  /** The filter as bytes, the same on every machine. */
  save(): Uint8Array;
  /**
   * Adds the key if it is absent, and says whether it was. Throws if the filter is full; nothing has changed then.
   *
   * With a rate, a key that is taken for another one is not stored: if keys are also deleted, use `addCopy`, or one of
   * them may take the other away.
   */
  add(key: Key): boolean;
  /** Adds a copy of the key. Throws if the filter is full; nothing has changed then. */
  addCopy(key: Key): this;
  /** `add` for many keys: whether each was absent. Throws at the first without room; those before it are in. */
  addMany(keys: Iterable<Key>): boolean[];
  /** Whether the key is there. */
  has(key: Key): boolean;
  /** `has` for many keys. */
  hasMany(keys: Iterable<Key>): boolean[];
  /** Takes one copy of the key away; false if there is none. Delete only what was added. */
  delete(key: Key): boolean;
  /** `delete` for many keys. */
  deleteMany(keys: Iterable<Key>): boolean[];
  /** Forgets all items. */
  clear(): void;
  /** Adds the items of the other filter that are absent. Both must have been made with the same options. */
  merge(other: CuckooFilter): this;
  /** How many copies of the key are there. */
  count(key: Key): number;
  /** Items, every copy counted. */
  readonly size: number;
  describe(): Description;
  /** As `describe`. For the filter itself use `save`. */
  toJSON(): Description;
  /** Gives the memory back now, rather than when the object is collected. */
  free(): void;
}

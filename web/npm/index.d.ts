/// <reference lib="esnext.disposable" />

/** Bytes in memory. */
export type Bytes = ArrayBufferLike | ArrayBufferView;

/** A key: the UTF-8 bytes of a string, or bytes. */
export type Key = string | Bytes;

/** An error of a filter. Wrong types of arguments are a `TypeError`. */
export class CouaError extends Error {
  readonly code: "BAD_OPTIONS" | "FULL" | "NOT_A_FILTER" | "CANNOT_MERGE" | "FREED" | "FAILED";
  /** The number of keys that `addMany` or `insertMany` has processed. */
  readonly done?: number;
}

/** The options of a filter. Without options it grows without limit and keeps all 64 bits of every hash. */
export interface Options {
  /** Items that fit without growth. */
  capacity?: number;
  /** Items up to which the rate holds. Default: the capacity if a rate is given, otherwise no limit. */
  maxItems?: number;
  /** False-positive rate with `maxItems` items, between 0 and 1. */
  rate?: number;
  /** Bits of every hash to remember, 8 to 64, instead of a rate. */
  hashBits?: number;
  /** Seed of the hash. Filters with the same seed compute the same hashes. Default: 0. */
  seed?: number | bigint;
  /** What to do when there is no room for an item. Default: "grow", up to `maxItems`. */
  whenFull?: "grow" | "refuse" | "exceed-rate";
  /** Forget items of this age, in milliseconds, or up to a generation older. */
  window?: number;
  /** Forget all but this number of last items. */
  windowItems?: number;
  /** Parts of the window; each is forgotten as a whole. Default: 8. */
  generations?: number;
  /** The time of an item: that of its arrival (default), or the one given with it. */
  clock?: "arrival" | "given";
  /** When an item's age begins: when it was new (default), or when `add` last saw it. */
  windowBy?: "first" | "last";
}

/** A filter in numbers. */
export interface Description {
  length: number;
  capacity: number;
  /** Missing if there is no limit. */
  maxItems?: number;
  slots: number;
  segments: number;
  slotBits: number;
  load: number;
  hashBits: number;
  /** Probability that `has` is true for a key that was never added, with the present items. */
  falsePositiveRate: number;
  memoryBytes: number;
  /** Missing if there is no window. */
  window?: {
    /** In milliseconds, or items. */
    length: number;
    clock: "arrival" | "given" | "count";
    generations: number;
    windowBy: "first" | "last";
    /** Items forgotten since the filter was created or loaded. */
    forgotten: number;
  };
}

/**
 * A set or multiset of keys, in a few bytes each.
 *
 * `has` is always true for a key that was added and not deleted. For others it is wrongly true with the probability
 * of the false-positive rate.
 */
export class CuckooFilter {
  constructor(options?: Options);
  constructor(capacity: number, rate?: number, options?: Omit<Options, "capacity" | "rate">);
  /** Loads the bytes of `save`, from any language, into a filter of this class. Throws if a byte is wrong. */
  static load<F extends CuckooFilter>(this: new (...options: any[]) => F, bytes: Bytes): F;
  /**
   * Adds the key if it is absent, and returns whether it was. Throws if the filter is full; nothing has changed then.
   *
   * With a rate, nothing is stored for a key that looks like another one, and deleting that one loses both. If you
   * delete keys, use `insert`.
   *
   * `time` is for `clock: "given"`, in milliseconds if it is a number. The latest so far is the present.
   */
  add(key: Key, time?: Date | number): boolean;
  /** Adds a copy of the key. Throws if the filter is full; nothing has changed then. */
  insert(key: Key, time?: Date | number): this;
  /** `add` for many keys: whether each was absent. Throws at the first without room; those before it were added. */
  addMany(keys: Iterable<Key>, times?: Iterable<Date | number>): boolean[];
  /** `insert` for many keys. Throws at the first without room; those before it were inserted. */
  insertMany(keys: Iterable<Key>, times?: Iterable<Date | number>): this;
  /** Whether the key is present. */
  has(key: Key): boolean;
  /** `has` for many keys. */
  hasMany(keys: Iterable<Key>): boolean[];
  /** Removes one copy of the key, the oldest. Returns false if there is none. Delete only what was added. */
  delete(key: Key): boolean;
  /** `delete` for many keys. */
  deleteMany(keys: Iterable<Key>): boolean[];
  /** The number of copies of the key. */
  count(key: Key): number;
  /** `count` for many keys. */
  countMany(keys: Iterable<Key>): number[];
  /** Sets the present of a filter with `clock: "given"`. */
  advance(time: Date | number): void;
  /**
   * Adds the items of the other filter that are absent. Both must have the same options. Items of windows
   * keep their times, and copies in both filters add up.
   */
  merge(other: CuckooFilter): this;
  /** The number of items, counting every copy. */
  readonly size: number;
  describe(): Description;
  /** The same as `describe`. To store the filter, use `save`. */
  toJSON(): Description;
  /** The filter as bytes, the same on every machine. */
  save(): Uint8Array;
  /** Removes all items. */
  clear(): void;
  /** Frees the memory now, not when the object is garbage-collected. */
  free(): void;
  /** `free`, at the end of a block with `using filter = new CuckooFilter()`. */
  [Symbol.dispose](): void;
}

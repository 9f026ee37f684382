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
  /** Forget items of this age, in milliseconds, or up to a generation older. */
  window?: number;
  /** Forget all but the last so many items. */
  windowItems?: number;
  /** Parts of the window, which are forgotten at once. Default: 8. */
  generations?: number;
  /** The time of an item: that of its arrival (default), or the one given with it. */
  clock?: "arrival" | "given";
  /** From when an item's age counts: when it was new (default), or when `add` saw it last. */
  windowBy?: "first" | "last";
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
  /** Missing: it never forgets. */
  window?: {
    /** In milliseconds, or items. */
    length: number;
    clock: "arrival" | "given" | "count";
    generations: number;
    windowBy: "first" | "last";
    /** Items forgotten since the filter was made or loaded. */
    forgotten: number;
  };
}

/**
 * A set, or multiset, of keys in a few bytes each.
 *
 * `has` is never wrong about a key that was added and not deleted. About others it errs with the false-positive
 * rate's probability.
 */
export class CuckooFilter {
  constructor(options?: Options);
  constructor(capacity: number, rate?: number, options?: Omit<Options, "capacity" | "rate">);
  /** Reads what `save` gave, in any language. Throws if a byte of it is wrong. */
  static load(bytes: Bytes): CuckooFilter;
  /**
   * Adds the key if it is absent, and says whether it was. Throws if the filter is full; nothing has changed then.
   *
   * With a rate, a key that is taken for another one is not stored: if keys are also deleted, use `addCopy`, or one of
   * them may take the other away.
   *
   * `time` is for `clock: "given"`, in milliseconds if it is a number. The latest so far is the present.
   */
  add(key: Key, time?: Date | number): boolean;
  /** Adds a copy of the key. Throws if the filter is full; nothing has changed then. */
  addCopy(key: Key, time?: Date | number): this;
  /** `add` for many keys: whether each was absent. Throws at the first without room; those before it are in. */
  addMany(keys: Iterable<Key>, times?: Iterable<Date | number>): boolean[];
  /** Whether the key is there. */
  has(key: Key): boolean;
  /** `has` for many keys. */
  hasMany(keys: Iterable<Key>): boolean[];
  /** Takes one copy of the key away, the oldest; false if there is none. Delete only what was added. */
  delete(key: Key): boolean;
  /** `delete` for many keys. */
  deleteMany(keys: Iterable<Key>): boolean[];
  /** How many copies of the key are there. */
  count(key: Key): number;
  /** Tells a filter with `clock: "given"` the present. */
  advance(time: Date | number): void;
  /**
   * Adds the items of the other filter that are absent. Both must have been made with the same options. Items of windows
   * keep their times, and copies that both have are added up.
   */
  merge(other: CuckooFilter): this;
  /** Items, every copy counted. */
  readonly size: number;
  describe(): Description;
  /** As `describe`. For the filter itself use `save`. */
  toJSON(): Description;
  /** The filter as bytes, the same on every machine. */
  save(): Uint8Array;
  /** Forgets all items. */
  clear(): void;
  /** Gives the memory back now, rather than when the object is collected. */
  free(): void;
}

/** How a Bloom filter is made: with a capacity and a rate, or with bits and probes. */
export type BloomOptions = ({ capacity: number; rate: number } | { bits: number; probes: number }) & {
  /** Of the hash. Filters with the same seed agree about every key. Default: 0. */
  seed?: number | bigint;
};

/** A Bloom filter in numbers. */
export interface BloomDescription {
  /** How many different keys were added, estimated; null if all bits are set. */
  countEstimate: number | null;
  bits: number;
  probes: number;
  falsePositiveRate: number;
  memoryBytes: number;
}

/** A set that can neither count nor delete, and is never full: beyond its capacity the rate rises. */
export class BloomFilter {
  constructor(options: BloomOptions);
  constructor(capacity: number, rate: number, options?: Pick<BloomOptions, "seed">);
  /** Reads what `save` gave, here or in Python. Throws if a byte of it is wrong. */
  static load(bytes: Bytes): BloomFilter;
  /** Adds the key, and says whether it was absent. */
  add(key: Key): boolean;
  /** `add` for many keys: whether each was absent. */
  addMany(keys: Iterable<Key>): boolean[];
  /** Whether the key is there. */
  has(key: Key): boolean;
  /** `has` for many keys. */
  hasMany(keys: Iterable<Key>): boolean[];
  /** Adds the keys of the other filter. Both must have the same bits, probes and seed. */
  merge(other: BloomFilter): this;
  describe(): BloomDescription;
  /** As `describe`. For the filter itself use `save`. */
  toJSON(): BloomDescription;
  /** The filter as bytes, the same on every machine. */
  save(): Uint8Array;
  /** Forgets all items. */
  clear(): void;
  /** Gives the memory back now, rather than when the object is collected. */
  free(): void;
}

// The structures of the textbooks: a Bloom filter, cuckoo hashing with whole words, and a cuckoo filter with 8-bit
// fingerprints, XOR and 500 kicks.

const MOST_KICKS = 500;

export const TEXTBOOK_BITS = 8;

/** `MurmurHash3_x86_32` of a text. */
function murmur3(text, seed) {
  const bytes = new TextEncoder().encode(text);
  const scrambled = (word) => {
    const mixed = Math.imul(word, 0xcc9e2d51);
    return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
  };
  let hash = seed;
  for (let at = 0; at < bytes.length; at += 4) {
    const word = [...bytes.slice(at, at + 4)].reduceRight((sum, byte) => (sum << 8) | byte, 0);
    hash ^= scrambled(word);
    if (at + 4 <= bytes.length) hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
  }
  hash ^= bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

export class TextbookBloom {
  constructor(bits, hashes) {
    /** The words of each bit that is set. */
    this.words = Array.from({ length: bits }, () => []);
    this.hashes = hashes;
  }

  /** The bit of a word by each hash function. */
  places(word) {
    return Array.from({ length: this.hashes }, (_, seed) => murmur3(word, seed) % this.words.length);
  }

  add(word) {
    for (const place of new Set(this.places(word))) this.words[place].push(word);
  }

  has(word) {
    return this.places(word).every((place) => this.words[place].length > 0);
  }

  /** The false-positive rate by the formula: (1 - e^(-k n / m))^k. */
  rate(items) {
    return (1 - Math.exp((-this.hashes * items) / this.words.length)) ** this.hashes;
  }
}

/** Cuckoo hashing: two tables of whole words, each with a hash function of its own. */
export class TextbookTables {
  constructor(slots, kicks) {
    this.slots = slots;
    this.kicks = kicks;
    this.rehashes = 0;
    this.clear();
  }

  clear() {
    this.tables = [Array(this.slots).fill(""), Array(this.slots).fill("")];
  }

  /** The slot of a word in table 0 or 1. */
  slot(table, word) {
    return murmur3(word, 2 * this.rehashes + table) % this.slots;
  }

  /** Kicks until a slot is free. Returns the kicks, and the word that has no slot in the end. */
  insert(word) {
    const moves = [];
    let hand = word;
    for (let table = 0; hand && moves.length < this.kicks; table = 1 - table) {
      const slot = this.slot(table, hand);
      const out = this.tables[table][slot];
      moves.push({ table, slot, hand, out });
      [this.tables[table][slot], hand] = [hand, out];
    }
    return { moves, homeless: hand };
  }

  /** Gives all words slots by new hash functions. Returns false if no functions were found. */
  rehash(words) {
    for (let tries = 0; tries < 1000; tries += 1) {
      this.rehashes += 1;
      this.clear();
      if (words.every((word) => !this.insert(word).homeless)) return true;
    }
    return false;
  }
}

export class TextbookFilter {
  /** `buckets` is a power of two, as XOR requires. */
  constructor(buckets, slots = 4) {
    this.buckets = buckets;
    this.table = Array.from({ length: buckets }, () => Array(slots).fill(undefined));
    this.random = 1;
  }

  /** Fingerprint and both buckets of a word. */
  place(word) {
    const fingerprint = murmur3(word, 1) & 255 || 1;
    const first = murmur3(word, 0) % this.buckets;
    return { fingerprint, first, second: this.other(first, fingerprint) };
  }

  other(bucket, fingerprint) {
    return bucket ^ (Math.imul(fingerprint, 0x5bd1e995) >>> 8) % this.buckets;
  }

  has(word) {
    const { fingerprint, first, second } = this.place(word);
    return [...this.table[first], ...this.table[second]].some((slot) => slot?.f === fingerprint);
  }

  /** Inserts a word. Returns the slots that were taken, in their order, and what was left without a slot. */
  insert(word) {
    const { fingerprint, first, second } = this.place(word);
    let hand = { f: fingerprint, word };
    let bucket = this.table[first].includes(undefined) ? first : second;
    const moves = [];
    for (;;) {
      const slots = this.table[bucket];
      const free = slots.indexOf(undefined);
      if (free < 0 && moves.length === MOST_KICKS) return { moves, homeless: hand };
      const at = free < 0 ? this.below(slots.length) : free;
      const out = slots[at];
      moves.push({ to: bucket * slots.length + at, hand, out });
      slots[at] = hand;
      if (!out) return { moves };
      hand = out;
      bucket = this.other(bucket, hand.f);
    }
  }

  /** A random number, the same ones each time. */
  below(bound) {
    this.random = (Math.imul(this.random, 1103515245) + 12345) >>> 0;
    return (this.random >>> 16) % bound;
  }
}

// The filters of the textbooks, for comparison: a Bloom filter, and a cuckoo filter with 8-bit fingerprints, XOR, and
// 500 evictions.

const MOST_KICKS = 500;

export const TEXTBOOK_BITS = 8;

export class TextbookFilter {
  /** `buckets` is a power of two, as XOR requires. */
  constructor(buckets, slots = 4) {
    this.buckets = buckets;
    this.table = Array.from({ length: buckets }, () => Array(slots).fill(0));
    this.random = 1;
  }

  /** Fingerprint and both buckets of a hash of sixteen hexadecimal digits. */
  place(hash) {
    const fingerprint = parseInt(hash.slice(0, 2), 16) || 1;
    const first = parseInt(hash.slice(2, 8), 16) % this.buckets;
    return { fingerprint, first, second: this.other(first, fingerprint) };
  }

  other(bucket, fingerprint) {
    return bucket ^ (Math.imul(fingerprint, 0x5bd1e995) >>> 8) % this.buckets;
  }

  has(hash) {
    const { fingerprint, first, second } = this.place(hash);
    return this.table[first].includes(fingerprint) || this.table[second].includes(fingerprint);
  }

  /** Whether the insert succeeded, and after how many evictions. A failed one loses the last evicted item. */
  insert(hash) {
    const { fingerprint, first, second } = this.place(hash);
    for (const bucket of [first, second]) {
      if (this.put(bucket, fingerprint)) return { done: true, kicks: 0 };
    }
    let [inHand, bucket] = [fingerprint, first];
    for (let kicks = 1; kicks <= MOST_KICKS; kicks += 1) {
      const slots = this.table[bucket];
      this.random = (Math.imul(this.random, 1103515245) + 12345) >>> 0;
      const at = (this.random >>> 16) % slots.length;
      [inHand, slots[at]] = [slots[at], inHand];
      bucket = this.other(bucket, inHand);
      if (this.put(bucket, inHand)) return { done: true, kicks };
    }
    return { done: false, kicks: MOST_KICKS };
  }

  put(bucket, fingerprint) {
    const free = this.table[bucket].indexOf(0);
    if (free >= 0) this.table[bucket][free] = fingerprint;
    return free >= 0;
  }
}

export class TextbookBloom {
  /** `hashes` bits of `bits` are set for each key. */
  constructor(bits, hashes) {
    this.bits = Array(bits).fill(false);
    this.hashes = hashes;
  }

  /** The numbers of a key's bits: multiples of the high half of its hash (FNV-1a), added to the hash. */
  places(key) {
    let hash = 0x811c9dc5;
    for (const byte of new TextEncoder().encode(key)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
    return Array.from({ length: this.hashes }, (_, n) => (hash + n * (hash >>> 16)) % this.bits.length);
  }

  add(key) {
    for (const place of this.places(key)) this.bits[place] = true;
  }

  has(key) {
    return this.places(key).every((place) => this.bits[place]);
  }
}

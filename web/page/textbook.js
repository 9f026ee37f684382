// The cuckoo filter of the textbooks, for comparison: 8-bit fingerprints, XOR, and 500 evictions.

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

//! Textbook Bloom filters, for learning and comparison.
//!
//! [`ClassicBloomFilter`] takes a hash function for each probe; [`fnv1`], [`fnv1a`] and
//! [`murmur3`] are the three that textbooks use. [`CountingBloomFilter`] can remove. In production, use a
//! [`BloomFilter`](super::BloomFilter), which hashes once and spreads well, or a
//! [`CuckooFilter`](crate::CuckooFilter), which removes and counts in a quarter of the memory.
//!
//! Operations on one key take O(k), building takes O(bits).

use super::bits::BitRow;
use super::probe::positions;
use crate::error::{Insertion, repeated};
use crate::hash::{Key, KeyHash, KeyHasher};
use crate::sizing::bloom::{BloomBuildError, BloomPlan, MAX_PROBES, rate_of_fill};
use crate::summary::summary;

/// A pure function from the bytes of a key to at most 64 bits.
pub type HashFunction = fn(&[u8]) -> u64;

/// A Bloom filter whose probes are the values of the caller's hash functions, modulo its number of bits.
///
/// Its keys are bytes, because these functions cannot be computed from a [`KeyHash`]. Any number of threads may
/// share it. The reported rate holds if the functions are good and independent; FNV-1 and
/// FNV-1a are neither for short, similar keys.
///
/// ```
/// use coua::bloom::classic::{ClassicBloomFilter, fnv1, fnv1a, murmur3};
///
/// // The classic three over 2^18 bits (32 KiB).
/// let seen = ClassicBloomFilter::new(1 << 18, &[fnv1, fnv1a, |key| murmur3(key, 0)])?;
/// assert!(seen.insert_unique("kestrel").is_new());
/// assert!(seen.contains("kestrel") && !seen.contains("osprey"));
/// # Ok::<(), coua::bloom::BloomBuildError>(())
/// ```
#[derive(Clone)]
pub struct ClassicBloomFilter {
    row: BitRow,
    functions: Vec<HashFunction>,
}

impl ClassicBloomFilter {
    /// A filter of `bits` bits with one probe for each of `functions`.
    ///
    /// # Errors
    ///
    /// Returns an error if `bits` is 0, if there are not between 1 and 64 functions, or if memory is short.
    pub fn new(bits: u64, functions: &[HashFunction]) -> Result<Self, BloomBuildError> {
        let probes = functions.len();
        if !(1..=MAX_PROBES as usize).contains(&probes) {
            return Err(BloomBuildError::Probes { probes });
        }
        Ok(Self { row: BitRow::zeroed(bits)?, functions: functions.to_vec() })
    }

    /// Whether `key` was inserted: false is always right, true is sometimes wrong.
    pub fn contains<K: AsRef<[u8]>>(&self, key: K) -> bool {
        self.locate(key.as_ref()).all(|position| self.row.contains(position))
    }

    /// Inserts `key`, as [`BloomFilter::insert_unique`](super::BloomFilter::insert_unique) does.
    pub fn insert_unique<K: AsRef<[u8]>>(&self, key: K) -> Insertion {
        self.row.insert(self.locate(key.as_ref()))
    }

    /// The false-positive rate now, 0..=1, from the bits that are set. O(bits).
    pub fn false_positive_rate(&self) -> f64 {
        rate_of_fill(self.bits(), self.probes(), self.row.ones())
    }

    /// Bits of the filter, m.
    pub fn bits(&self) -> u64 {
        self.row.bits()
    }

    /// Probes per key, k: the number of hash functions.
    pub fn probes(&self) -> u32 {
        self.functions.len() as u32
    }

    fn locate<'a>(&'a self, key: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
        self.functions.iter().map(|function| function(key) % self.row.bits())
    }
}

summary!(ClassicBloomFilter: bits, probes);

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// FNV-1 with 64 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv): multiply, then add the byte without carry.
pub fn fnv1(key: &[u8]) -> u64 {
    key.iter().fold(FNV_OFFSET, |hash, &byte| hash.wrapping_mul(FNV_PRIME) ^ u64::from(byte))
}

/// FNV-1a with 64 bits: the steps of [`fnv1`] in the other order, which spreads the last byte.
pub fn fnv1a(key: &[u8]) -> u64 {
    key.iter().fold(FNV_OFFSET, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

/// Austin Appleby's `MurmurHash3_x86_32` with a seed: 32 bits, so only for filters of far fewer than 2^32 bits.
pub fn murmur3(key: &[u8], seed: u32) -> u64 {
    let scrambled =
        |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (chunks, rest) = key.as_chunks();
    let mut hash = seed;
    for chunk in chunks {
        hash ^= scrambled(u32::from_le_bytes(*chunk));
        hash = hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    // Up to three bytes are left, little endian; for zero bytes this changes nothing.
    hash ^= scrambled(rest.iter().rev().fold(0, |tail, &byte| (tail << 8) | u32::from(byte)));
    // The reference takes the length as an int; modulo 2^32 it is the same.
    hash ^= key.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    u64::from(hash ^ (hash >> 16))
}

/// The highest value of a counter, where it stays.
const STUCK: u64 = 15;
const COUNTERS_PER_WORD: u64 = 16;

/// A Bloom filter with a counter of four bits in place of every bit, so that keys can be removed (Fan, Cao,
/// Almeida, Broder 2000, "Summary cache: a scalable wide-area web cache sharing protocol").
///
/// A counter that reaches 15 stays there: the true number is unknown, and removing one copy too many would
/// lose another key. Its keys can then never be removed. Distinct keys hardly ever cause this (about one
/// counter in 10^15); a key inserted fifteen times does.
///
/// ```
/// use coua::bloom::classic::CountingBloomFilter;
///
/// let mut filter = CountingBloomFilter::with_capacity(1_000, 0.01)?;
/// filter.insert("kestrel");
/// filter.insert("kestrel");
/// assert_eq!(filter.count("kestrel"), Some(2));
/// assert!(filter.remove("kestrel") && filter.remove("kestrel"));
/// assert!(!filter.contains("kestrel"));
/// # Ok::<(), coua::bloom::BloomBuildError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct CountingBloomFilter {
    /// Counter i in bits 4 (i % 16).. of word i / 16.
    words: Vec<u64>,
    plan: BloomPlan,
    hasher: KeyHasher,
}

impl CountingBloomFilter {
    /// The smallest filter that keeps the false-positive rate `rate` (0..1) while it holds at most
    /// `items` distinct keys; 0 counts as 1.
    ///
    /// # Errors
    ///
    /// Returns an error if `rate` is not between 0 and 1 or too low for a 64-bit hash, or if memory is short.
    pub fn with_capacity(items: u64, rate: f64) -> Result<Self, BloomBuildError> {
        Self::from_plan(BloomPlan::for_rate(items, rate)?, KeyHasher::default())
    }

    /// A filter with a counter for each bit of `plan`, and another hasher.
    ///
    /// # Errors
    ///
    /// Returns an error if memory is short.
    pub fn from_plan(plan: BloomPlan, hasher: KeyHasher) -> Result<Self, BloomBuildError> {
        Ok(Self { words: repeated(0, plan.bits().div_ceil(COUNTERS_PER_WORD))?, plan, hasher })
    }

    /// Whether `key` was inserted more often than removed: false is always right, true is wrong at
    /// the false-positive rate.
    pub fn contains<K: Key>(&self, key: K) -> bool {
        self.count(key) != Some(0)
    }

    /// The number of copies of `key`: never fewer than were inserted and not removed,
    /// more if counters are shared. `None` if it may be any number from 15 up.
    pub fn count<K: Key>(&self, key: K) -> Option<u64> {
        let hash = key.hash_with(self.hasher);
        let lowest = self.locate(hash).map(|position| self.counter(position)).min();
        lowest.filter(|&count| count < STUCK)
    }

    /// Adds a copy of `key`.
    pub fn insert<K: Key>(&mut self, key: K) {
        let hash = key.hash_with(self.hasher);
        for position in self.locate(hash) {
            if self.counter(position) < STUCK {
                self.words[word_of(position)] += 1 << shift_of(position);
            }
        }
    }

    /// Removes a copy of `key`, or changes nothing and returns false if there is none.
    ///
    /// Remove only what was inserted: removing a false positive damages other keys, which may then be
    /// missed.
    pub fn remove<K: Key>(&mut self, key: K) -> bool {
        let hash = key.hash_with(self.hasher);
        if !self.contains(hash) {
            return false;
        }
        for position in self.locate(hash) {
            // A counter is zero here only for a false positive with two probes at one counter.
            if (1..STUCK).contains(&self.counter(position)) {
                self.words[word_of(position)] -= 1 << shift_of(position);
            }
        }
        true
    }

    /// Bytes of memory that hold the counters.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&self.words[..])
    }

    fn locate(&self, hash: KeyHash) -> impl Iterator<Item = u64> + use<> {
        positions(hash.to_u64(), self.plan.probes(), self.plan.bits())
    }

    fn counter(&self, position: u64) -> u64 {
        (self.words[word_of(position)] >> shift_of(position)) & STUCK
    }
}

fn word_of(position: u64) -> usize {
    (position / COUNTERS_PER_WORD) as usize
}

fn shift_of(position: u64) -> u64 {
    position % COUNTERS_PER_WORD * 4
}

summary!(CountingBloomFilter: memory_bytes);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv_has_its_published_values() {
        // The test vectors of the FNV reference code.
        for (key, one, one_a) in [
            ("", 0xcbf2_9ce4_8422_2325, 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_bd4c_8601_b7be, 0xaf63_dc4c_8601_ec8c),
            ("b", 0xaf63_bd4c_8601_b7bd, 0xaf63_df4c_8601_f1a5),
            ("foobar", 0x340d_8765_a4dd_a9c2, 0x8594_4171_f739_67e8),
        ] {
            assert_eq!((fnv1(key.as_bytes()), fnv1a(key.as_bytes())), (one, one_a), "{key}");
        }
    }

    #[test]
    fn murmur3_has_its_published_values() {
        for (key, seed, value) in [
            ("", 0, 0),
            ("", 1, 0x514e_28b7),
            ("", 0xffff_ffff, 0x81f1_6f39),
            ("a", 0x9747_b28c, 0x7fa0_9ea6),
            ("aa", 0x9747_b28c, 0x5d21_1726),
            ("aaa", 0x9747_b28c, 0x283e_0130),
            ("aaaa", 0x9747_b28c, 0x5a97_808a),
            ("test", 0, 0xba6b_d213),
            ("Hello, world!", 0, 0xc036_3e43),
            ("Hello, world!", 0x9747_b28c, 0x2488_4cba),
            ("The quick brown fox jumps over the lazy dog", 0, 0x2e4f_f723),
            ("The quick brown fox jumps over the lazy dog", 0x9747_b28c, 0x2fa8_26cd),
        ] {
            assert_eq!(murmur3(key.as_bytes(), seed), value, "{key} {seed:x}");
        }
    }

    #[test]
    fn positions_are_hash_values_modulo_bits() {
        let functions: [HashFunction; 3] = [fnv1, fnv1a, |key| murmur3(key, 0)];
        let filter = ClassicBloomFilter::new(1 << 18, &functions).unwrap();
        filter.insert_unique("foobar");
        let values: [u64; 3] = [0x340d_8765_a4dd_a9c2, 0x8594_4171_f739_67e8, 0xa4c4_d4bd];
        assert!(values.iter().all(|value| filter.row.contains(value % (1 << 18))));
        assert_eq!(filter.row.ones(), 3);
    }
}

//! [`BloomFilter`]: m bits, k probes, shared by any number of threads.

use std::io::{self, Write};
use std::ops::BitOr;

use super::bits::BitRow;
use super::error::{BloomLoadError, BloomMergeError, check_equal};
use super::probe::positions;
use crate::error::Insertion;
use crate::hash::{Key, KeyHash, KeyHasher};
use crate::sizing::bloom::{BloomBuildError, BloomPlan, count_estimate, rate_of_fill};
use crate::summary::summary;

/// The classic Bloom filter (1970), with any number of bits and probes.
///
/// Keys are inserted through a shared reference, so many threads may insert at once, and nothing is
/// lost. Keys cannot be removed; see [`CuckooFilter`](crate::CuckooFilter) for that.
///
/// An operation on one key makes up to k memory accesses, O(k), in batches too. Building, reading and writing a filter
/// take O(bits); methods that describe it take O(1) unless they say otherwise.
///
/// ```
/// use coua::{Insertion, bloom::BloomFilter};
///
/// let filter = BloomFilter::with_capacity(1_000_000, 0.01)?;
/// assert_eq!(filter.insert_unique("kestrel"), Insertion::Inserted);
/// assert_eq!(filter.insert_unique("kestrel"), Insertion::AlreadyPresent);
/// assert!(filter.contains("kestrel"));
/// assert!(!filter.contains("osprey"));
/// # Ok::<(), coua::bloom::BloomBuildError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct BloomFilter {
    pub(super) row: BitRow,
    probes: u32,
    hasher: KeyHasher,
}

impl BloomFilter {
    /// The smallest filter that keeps the false-positive rate `rate` (0..1) up to `items` distinct
    /// keys; 0 counts as 1. Beyond that the rate rises; [`false_positive_rate`] returns it.
    ///
    /// [`false_positive_rate`]: Self::false_positive_rate
    ///
    /// # Errors
    ///
    /// A rate that is not between 0 and 1 or too low for a 64-bit hash; not enough memory.
    pub fn with_capacity(items: u64, rate: f64) -> Result<Self, BloomBuildError> {
        Self::from_plan(BloomPlan::for_rate(items, rate)?, KeyHasher::default())
    }

    /// A filter of `bits` bits that makes `probes` probes per key.
    ///
    /// # Errors
    ///
    /// No bits; probes not between 1 and 64; not enough memory.
    pub fn with_bits(bits: u64, probes: u32) -> Result<Self, BloomBuildError> {
        Self::from_plan(BloomPlan::new(bits, probes)?, KeyHasher::default())
    }

    /// A filter as planned, with another hasher: a seed, or a secret key.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    pub fn from_plan(plan: BloomPlan, hasher: KeyHasher) -> Result<Self, BloomBuildError> {
        Ok(Self { row: BitRow::zeroed(plan.bits())?, probes: plan.probes(), hasher })
    }

    /// Whether `key` was inserted: false is always right, true is wrong at the false-positive rate.
    #[inline]
    pub fn contains<K: Key>(&self, key: K) -> bool {
        let hash = key.hash_with(self.hasher);
        self.locate(hash).all(|position| self.row.contains(position))
    }

    /// Inserts `key`. `Inserted` is certain. `AlreadyPresent` may be a false positive; the filter is then unchanged.
    ///
    /// If threads insert the same new key at once, at least one of them gets `Inserted`. Every
    /// new bit costs a locked instruction; an exclusive owner inserts two to four times as
    /// fast with [`extend`](Extend::extend), which needs none.
    #[inline]
    pub fn insert_unique<K: Key>(&self, key: K) -> Insertion {
        let hash = key.hash_with(self.hasher);
        self.row.insert(self.locate(hash))
    }

    /// Removes all keys. Keys that other threads insert meanwhile may be removed too. O(bits).
    pub fn clear(&self) {
        self.row.clear();
    }

    /// Union: afterwards the filter holds the keys of both, bit for bit as if they had been
    /// inserted into it. Other threads may continue to insert meanwhile. O(bits).
    ///
    /// # Errors
    ///
    /// Different bits, probes or hash; nothing is changed.
    #[doc(alias = "union")]
    pub fn merge(&self, other: &Self) -> Result<(), BloomMergeError> {
        self.check_same_probes(other)?;
        self.row.union_with(&other.row)
    }

    /// Intersection: afterwards the filter holds the keys that were in both. Its false-positive
    /// rate is at most the lower one of the two, but higher than that of a filter with only the
    /// common keys. O(bits).
    ///
    /// # Errors
    ///
    /// Different bits, probes or hash; nothing is changed.
    #[doc(alias = "intersection")]
    pub fn intersect(&mut self, other: &Self) -> Result<(), BloomMergeError> {
        self.check_same_probes(other)?;
        self.row.intersect_with(&other.row)
    }

    /// How many distinct keys were inserted, estimated from the bits that are set (Swamidass and
    /// Baldi 2007). In a filter filled as planned the standard deviation is about a quarter of the
    /// root of their number. Infinite if every bit is set. O(bits).
    pub fn count_estimate(&self) -> f64 {
        count_estimate(self.bits(), self.probes, self.row.ones())
    }

    /// The false-positive rate now, 0..=1, from the bits that are set. O(bits).
    pub fn false_positive_rate(&self) -> f64 {
        rate_of_fill(self.bits(), self.probes, self.row.ones())
    }

    /// Bits of the filter, m.
    pub fn bits(&self) -> u64 {
        self.row.bits()
    }

    /// Probes per key, k.
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// The hash of the keys.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Bytes of memory that hold the bits.
    pub fn memory_bytes(&self) -> usize {
        self.row.bytes()
    }

    /// The bits as bytes: bit i is bit i % 8 of byte i / 8, padded to a multiple of 8 bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.row.to_bytes()
    }

    /// Writes the bytes of [`to_bytes`](Self::to_bytes) without the first `start` bytes, and without allocating
    /// memory for all of them.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_bytes_from<W: Write>(&self, start: u64, mut out: W) -> io::Result<()> {
        self.row.write_from(start, &mut out)
    }

    /// Reads the bits that [`to_bytes`](Self::to_bytes) returned.
    ///
    /// # Errors
    ///
    /// A length that does not fit the plan, bits set after the last, not enough memory.
    pub fn from_bytes(
        plan: BloomPlan,
        hasher: KeyHasher,
        bytes: &[u8],
    ) -> Result<Self, BloomLoadError> {
        Ok(Self { row: BitRow::from_bytes(plan.bits(), bytes)?, probes: plan.probes(), hasher })
    }

    #[inline]
    pub(super) fn locate(&self, hash: KeyHash) -> impl Iterator<Item = u64> + use<> {
        positions(hash.to_u64(), self.probes, self.row.bits())
    }

    /// [`insert_unique`](Self::insert_unique) for the only owner.
    #[inline]
    pub(super) fn insert_alone(&mut self, hash: KeyHash) -> Insertion {
        self.row.insert_alone(self.locate(hash))
    }

    fn check_same_probes(&self, other: &Self) -> Result<(), BloomMergeError> {
        check_equal(self.hasher, other.hasher, |_, _| BloomMergeError::Hash)?;
        let error = |left, right| BloomMergeError::Probes { left, right };
        check_equal(self.probes, other.probes, error)
    }
}

impl BitOr for &BloomFilter {
    type Output = Result<BloomFilter, BloomMergeError>;

    /// The union, as by [`merge`](BloomFilter::merge). O(bits).
    fn bitor(self, other: Self) -> Self::Output {
        let union = self.clone();
        union.merge(other).map(|()| union)
    }
}

impl<K: Key> Extend<K> for BloomFilter {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert_alone(key.hash_with(self.hasher));
        }
    }
}

summary!(BloomFilter: bits, probes, count_estimate);

//! [`ClassicBloomFilter`]: the Bloom filter of the textbooks, one hash function per probe.

use super::BloomFilter;
use super::bits::BitRow;
use super::error::{BloomBuildError, BloomMergeError, check_equal};
use super::hash_function::HashFunction;
use crate::error::Insertion;
use crate::sizing::bloom::{BloomPlan, count_estimate, rate_of_fill};
use crate::summary::summary;

/// A Bloom filter with hash functions of the user's own, one probe each, taken modulo the number of
/// bits. Built by [`BloomFilter::with_hash_functions`]. An operation on one key runs every function
/// once; what describes the filter takes O(1) unless it says otherwise.
///
/// A type of its own because its keys are always bytes: these functions cannot be computed from a
/// `KeyHash`.
///
/// Inserts go through a shared reference, as with [`BloomFilter`]. The rates that it reports hold if the
/// functions are good and independent of each other; FNV-1 and FNV-1a are neither for short keys
/// that resemble each other.
///
/// ```
/// use coua::{Insertion, bloom::{BloomFilter, HashFunction}};
///
/// // The classic three over 2^18 bits (32 KiB).
/// let functions =
///     vec![HashFunction::fnv1(), HashFunction::fnv1a(), HashFunction::murmur3(0)];
/// let seen = BloomFilter::with_hash_functions(1 << 18, functions)?;
/// assert_eq!(seen.insert_unique("kestrel"), Insertion::Inserted);
/// assert!(seen.contains("kestrel") && !seen.contains("osprey"));
/// # Ok::<(), coua::bloom::BloomBuildError>(())
/// ```
#[derive(Clone)]
pub struct ClassicBloomFilter {
    row: BitRow,
    functions: Vec<HashFunction>,
}

impl BloomFilter {
    /// A filter of `bits` bits with one probe per function of `functions`.
    ///
    /// # Errors
    ///
    /// No bits; not between 1 and 64 functions; not enough memory.
    pub fn with_hash_functions(
        bits: u64,
        functions: Vec<HashFunction>,
    ) -> Result<ClassicBloomFilter, BloomBuildError> {
        let found = functions.len();
        let probes = u32::try_from(found).map_err(|_| BloomBuildError::Probes { probes: found })?;
        let plan = BloomPlan::new(bits, probes)?;
        Ok(ClassicBloomFilter { row: BitRow::zeroed(plan.bits())?, functions })
    }
}

impl ClassicBloomFilter {
    /// Whether `key` was inserted: never wrong with no, sometimes with yes.
    pub fn contains<K: AsRef<[u8]>>(&self, key: K) -> bool {
        self.locate(key.as_ref()).all(|position| self.row.contains(position))
    }

    /// Inserts `key`; see [`BloomFilter::insert_unique`].
    pub fn insert_unique<K: AsRef<[u8]>>(&self, key: K) -> Insertion {
        self.row.insert(self.locate(key.as_ref()))
    }

    /// Forgets every key. O(bits).
    pub fn clear(&mut self) {
        self.row.clear();
    }

    /// Union; see [`BloomFilter::merge`]. O(bits). Functions count as equal if they agree on a few sample
    /// keys.
    ///
    /// # Errors
    ///
    /// Different bits or functions; nothing is changed.
    #[doc(alias = "union")]
    pub fn merge(&self, other: &Self) -> Result<(), BloomMergeError> {
        self.check_same_functions(other)?;
        self.row.union_with(&other.row)
    }

    /// Intersection; see [`BloomFilter::intersect`]. O(bits).
    ///
    /// # Errors
    ///
    /// As [`merge`](Self::merge).
    #[doc(alias = "intersection")]
    pub fn intersect(&mut self, other: &Self) -> Result<(), BloomMergeError> {
        self.check_same_functions(other)?;
        self.row.intersect_with(&other.row)
    }

    /// How many distinct keys were inserted; see [`BloomFilter::count_estimate`]. O(bits).
    pub fn count_estimate(&self) -> f64 {
        count_estimate(self.bits(), self.probes(), self.row.ones())
    }

    /// The false-positive rate now, 0..=1, from the bits that are set, for a key that every
    /// function spreads evenly. O(bits).
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

    /// Bytes of memory that hold the bits.
    pub fn memory_bytes(&self) -> usize {
        self.row.bytes()
    }

    fn locate<'a>(&'a self, key: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
        self.functions.iter().map(|function| function.hash(key) % self.row.bits())
    }

    fn check_same_functions(&self, other: &Self) -> Result<(), BloomMergeError> {
        let error = |left, right| BloomMergeError::Probes { left, right };
        check_equal(self.probes(), other.probes(), error)?;
        let mut pairs = self.functions.iter().zip(&other.functions);
        let seem_equal = pairs.all(|(ours, theirs)| ours.seems_equal(theirs));
        if seem_equal { Ok(()) } else { Err(BloomMergeError::Hash) }
    }
}

summary!(ClassicBloomFilter: bits, probes, count_estimate);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_hash_values_modulo_bits() {
        let functions = vec![HashFunction::fnv1(), HashFunction::fnv1a(), HashFunction::murmur3(0)];
        let filter = BloomFilter::with_hash_functions(1 << 18, functions).unwrap();
        filter.insert_unique("foobar");
        let values: [u64; 3] = [0x340d_8765_a4dd_a9c2, 0x8594_4171_f739_67e8, 0xa4c4_d4bd];
        assert!(values.iter().all(|value| filter.row.contains(value % (1 << 18))));
        assert_eq!(filter.row.ones(), 3);
    }
}

//! [`ClassicBloomFilter`]: the Bloom filter of the textbooks, one hash function per probe.

use std::fmt;

use super::BloomFilter;
use super::bits::BitRow;
use super::error::{BloomBuildError, BloomMergeError};
use super::hash_function::HashFunction;
use crate::Insertion;
use crate::sizing::bloom::{BloomPlan, count_estimate, rate_of_fill};

/// A Bloom filter with hash functions of the user's own, one probe each, taken modulo the number of
/// bits. Built by [`BloomFilter::with_hash_functions`]. An operation on one key runs every function
/// once; what describes the filter takes O(1) unless it says otherwise.
///
/// A type of its own because its keys are always bytes: a `KeyHash` made elsewhere cannot stand for
/// what these functions would have said.
///
/// Inserts go through a shared reference, as with [`BloomFilter`]. The rates it tells hold if the
/// functions are good and independent of each other; FNV-1 and FNV-1a are neither for short keys
/// that resemble each other.
///
/// ```
/// use coua::{BloomFilter, HashFunction, Insertion};
///
/// // The classic three over 2^18 bits (32 KiB).
/// let functions =
///     vec![HashFunction::fnv1(), HashFunction::fnv1a(), HashFunction::murmur3(0)];
/// let seen = BloomFilter::with_hash_functions(1 << 18, functions)?;
/// assert_eq!(seen.insert("kestrel"), Insertion::Inserted);
/// assert!(seen.contains("kestrel") && !seen.contains("osprey"));
/// # Ok::<(), coua::BloomBuildError>(())
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
    /// No bits; not between 1 and 64 functions; memory not to be had.
    ///
    /// ```
    /// # use coua::{BloomFilter, HashFunction};
    /// let of_length = HashFunction::new(|key| key.len() as u64);
    /// let filter = BloomFilter::with_hash_functions(100, vec![of_length])?;
    /// filter.insert("wren");
    /// assert!(filter.contains("gull") && !filter.contains("robin"));
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
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
    ///
    /// ```
    /// # use coua::{BloomFilter, HashFunction};
    /// let filter = BloomFilter::with_hash_functions(100, vec![HashFunction::fnv1a()])?;
    /// assert!(!filter.contains("wren"));
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    pub fn contains<K: AsRef<[u8]>>(&self, key: K) -> bool {
        self.locate(key.as_ref()).all(|position| self.row.contains(position))
    }

    /// Inserts `key`; see [`BloomFilter::insert`].
    ///
    /// ```
    /// # use coua::{BloomFilter, HashFunction, Insertion};
    /// let filter = BloomFilter::with_hash_functions(100, vec![HashFunction::fnv1a()])?;
    /// assert_eq!(filter.insert("wren"), Insertion::Inserted);
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    pub fn insert<K: AsRef<[u8]>>(&self, key: K) -> Insertion {
        self.row.insert(self.locate(key.as_ref()))
    }

    /// [`contains`](Self::contains) for many keys: `present` is cleared, then holds one answer per
    /// key, in order.
    ///
    /// ```
    /// let filter = coua::BloomFilter::with_hash_functions(4096, vec![coua::HashFunction::fnv1a()])?;
    /// let mut present = Vec::new();
    /// filter.contains_batch(&["a"], &mut present);
    /// assert_eq!(present, [false]);
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    pub fn contains_batch<K: AsRef<[u8]>>(&self, keys: &[K], present: &mut Vec<bool>) {
        present.clear();
        present.extend(keys.iter().map(|key| self.contains(key)));
    }

    /// [`insert`](Self::insert) for many keys: `outcome` is cleared, then holds one answer per key,
    /// in order.
    ///
    /// ```
    /// let filter = coua::BloomFilter::with_hash_functions(4096, vec![coua::HashFunction::fnv1a()])?;
    /// let mut outcome = Vec::new();
    /// filter.insert_batch(&["a"], &mut outcome);
    /// assert!(filter.contains("a"));
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    pub fn insert_batch<K: AsRef<[u8]>>(&self, keys: &[K], outcome: &mut Vec<Insertion>) {
        outcome.clear();
        outcome.extend(keys.iter().map(|key| self.insert(key)));
    }

    /// Forgets every key. O(bits).
    ///
    /// ```
    /// let mut filter = coua::BloomFilter::with_hash_functions(4096, vec![coua::HashFunction::fnv1a()])?;
    /// filter.clear();
    /// assert!(!filter.contains("a"));
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    pub fn clear(&mut self) {
        self.row.clear();
    }

    /// Union; see [`BloomFilter::merge`]. O(bits). Functions are taken for equal if they agree about a few
    /// sample keys, one by one and in order.
    ///
    /// # Errors
    ///
    /// Different bits or functions; nothing is changed.
    ///
    /// ```
    /// let functions = || vec![coua::HashFunction::fnv1a()];
    /// let filter = coua::BloomFilter::with_hash_functions(4096, functions())?;
    /// let other = coua::BloomFilter::with_hash_functions(4096, functions())?;
    /// filter.merge(&other).expect("equal functions");
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
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
    ///
    /// ```
    /// let functions = || vec![coua::HashFunction::fnv1a()];
    /// let mut filter = coua::BloomFilter::with_hash_functions(4096, functions())?;
    /// let other = coua::BloomFilter::with_hash_functions(4096, functions())?;
    /// filter.intersect(&other).expect("equal functions");
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    #[doc(alias = "intersection")]
    pub fn intersect(&mut self, other: &Self) -> Result<(), BloomMergeError> {
        self.check_same_functions(other)?;
        self.row.intersect_with(&other.row)
    }

    /// How many distinct keys were inserted; see [`BloomFilter::count_estimate`]. O(bits).
    ///
    /// ```
    /// let filter = coua::BloomFilter::with_hash_functions(4096, vec![coua::HashFunction::fnv1a()])?;
    /// assert!(filter.count_estimate() < 1.0);
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    pub fn count_estimate(&self) -> f64 {
        count_estimate(self.bits(), self.probes(), self.row.ones())
    }

    /// The false-positive rate now, 0..=1, from the bits that are set, for a key that every
    /// function spreads evenly. O(bits).
    ///
    /// ```
    /// let filter = coua::BloomFilter::with_hash_functions(4096, vec![coua::HashFunction::fnv1a()])?;
    /// assert!(filter.false_positive_rate() < 0.01);
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    pub fn false_positive_rate(&self) -> f64 {
        rate_of_fill(self.bits(), self.probes(), self.row.ones())
    }

    /// Bits of the filter, m.
    ///
    /// ```
    /// let filter = coua::BloomFilter::with_hash_functions(4096, vec![coua::HashFunction::fnv1a()])?;
    /// assert!(filter.bits() > 0);
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    pub fn bits(&self) -> u64 {
        self.row.bits()
    }

    /// Probes per key, k: the number of hash functions.
    ///
    /// ```
    /// let filter = coua::BloomFilter::with_hash_functions(4096, vec![coua::HashFunction::fnv1a()])?;
    /// assert!(filter.probes() > 0);
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    pub fn probes(&self) -> u32 {
        self.functions.len() as u32
    }

    /// Bytes of memory that hold the bits.
    ///
    /// ```
    /// let filter = coua::BloomFilter::with_hash_functions(4096, vec![coua::HashFunction::fnv1a()])?;
    /// assert!(filter.memory_bytes() > 0);
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    pub fn memory_bytes(&self) -> usize {
        self.row.bytes()
    }

    fn locate<'a>(&'a self, key: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
        self.functions.iter().map(|function| function.hash(key) % self.row.bits())
    }

    fn check_same_functions(&self, other: &Self) -> Result<(), BloomMergeError> {
        let (left, right) = (self.probes(), other.probes());
        if left != right {
            return Err(BloomMergeError::Probes { left, right });
        }
        let mut pairs = self.functions.iter().zip(&other.functions);
        if pairs.all(|(ours, theirs)| ours.seems_equal(theirs)) {
            Ok(())
        } else {
            Err(BloomMergeError::Hash)
        }
    }
}

impl fmt::Debug for ClassicBloomFilter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ClassicBloomFilter")
            .field("bits", &self.bits())
            .field("probes", &self.probes())
            .field("count_estimate", &self.count_estimate())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn batches_of_every_size_are_single_operations_in_order() {
        let (mut outcome, mut present) = (vec![Insertion::Inserted], vec![true]);
        for size in 0..=1_000_u64 {
            let made = || {
                let functions = vec![HashFunction::fnv1a(), HashFunction::murmur3(0)];
                BloomFilter::with_hash_functions(size + 1, functions).unwrap()
            };
            let (one, many) = (made(), made());
            let key = |i: u64| (i * i % (size / 2 + 1)).to_le_bytes();
            let keys: Vec<[u8; 8]> = (0..size).map(key).collect();
            let expected: Vec<Insertion> = keys.iter().map(|key| one.insert(key)).collect();
            many.insert_batch(&keys, &mut outcome);
            assert!(outcome == expected && one.row == many.row, "size {size}");
            let questions: Vec<[u8; 8]> = (0..size).map(u64::to_le_bytes).collect();
            many.contains_batch(&questions, &mut present);
            let there: Vec<bool> = questions.iter().map(|key| one.contains(key)).collect();
            assert_eq!(present, there, "size {size}");
        }
    }

    #[test]
    fn positions_are_hash_values_modulo_bits() {
        let functions = vec![HashFunction::fnv1(), HashFunction::fnv1a(), HashFunction::murmur3(0)];
        let filter = BloomFilter::with_hash_functions(1 << 18, functions).unwrap();
        filter.insert("foobar");
        let values: [u64; 3] = [0x340d_8765_a4dd_a9c2, 0x8594_4171_f739_67e8, 0xa4c4_d4bd];
        assert!(values.iter().all(|value| filter.row.contains(value % (1 << 18))));
        assert_eq!(filter.row.ones(), 3);
    }
}

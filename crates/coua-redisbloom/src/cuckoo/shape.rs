//! What a cuckoo filter of the peer was made with, and where that puts a fingerprint.

use super::super::error::{LoadError, number};
use super::super::hash::murmur64;

/// Seed of filters that say nothing of a seed.
pub(super) const DEFAULT_SEED: u64 = 0;
/// The peer computes places with 32 bits: beyond this many slots it loses fingerprints itself.
const MAX_SUB_FILTER_BYTES: u64 = 1 << 32;
const MAX_EXPANSION: u64 = 1 << 15;

/// The parameters of a filter, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Buckets of the first sub-filter; a power of two, as the partner rule needs.
    pub(super) buckets: u64,
    /// Slots of a bucket, a byte each.
    pub(super) bucket_size: u16,
    pub(super) max_iterations: u16,
    /// Each sub-filter has this many times the buckets of the one before; 0: there is only one.
    pub(super) expansion: u16,
    pub(super) seed: u64,
}

/// The size of a sub-filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// A power of two.
    pub(super) buckets: u64,
    pub(super) bytes: u64,
}

/// Where an item belongs, whatever the number of buckets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) hash: u64,
    /// Never 0, which is an empty slot.
    pub(super) fingerprint: u8,
}

impl Shape {
    pub(super) fn check(&self) -> Result<(), LoadError> {
        number("bucket size", self.bucket_size, |n| (1..=255).contains(&n), "1 to 255")?;
        number("number of buckets", self.buckets, u64::is_power_of_two, "a power of two")?;
        number("max iterations", self.max_iterations, |n| n > 0, "1 to 65535")?;
        let is_stated = |n: u64| n == 0 || n <= MAX_EXPANSION && n.is_power_of_two();
        number("expansion", self.expansion, is_stated, "0, or a power of two up to 32768")
    }

    /// The size of sub-filter `index`; none if it would be beyond the layout.
    pub(super) fn size_of(&self, index: u32) -> Option<Size> {
        if index == 0 {
            return self.size(self.buckets);
        }
        let doublings = self.expansion.checked_ilog2()?.checked_mul(index)?;
        self.size(self.buckets.checked_mul(1_u64.checked_shl(doublings)?)?)
    }

    fn size(&self, buckets: u64) -> Option<Size> {
        let bytes = buckets.checked_mul(u64::from(self.bucket_size))?;
        (bytes <= MAX_SUB_FILTER_BYTES).then_some(Size { buckets, bytes })
    }

    pub(super) fn place(&self, item: &[u8]) -> Place {
        let hash = murmur64(item, self.seed);
        Place { hash, fingerprint: (hash % 255 + 1) as u8 }
    }
}

impl Place {
    /// A place whose buckets are those of the same fingerprint in the other sub-filters, as long as they
    /// have no more buckets: a bucket's number is the hash's low bits.
    pub(super) fn of_slot(bucket: u64, fingerprint: u8) -> Self {
        Self { hash: bucket, fingerprint }
    }

    pub(super) fn partner(self) -> u64 {
        partner(self.hash, self.fingerprint)
    }
}

/// The other bucket of a fingerprint; applied twice, in a power of two of buckets, the first one again.
pub(super) fn partner(bucket: u64, fingerprint: u8) -> u64 {
    bucket ^ (u64::from(fingerprint) * 0x5bd1_e995)
}

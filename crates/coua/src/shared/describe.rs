//! Descriptions of a shared filter. While other threads write, the parts of a sum are from slightly different
//! moments.

use crate::filter::CuckooFilter;
use crate::hash::KeyHasher;
use crate::shared::{LockedShard, SharedCuckooFilter};
use crate::sizing::design_load;
use crate::summary::summary;

impl SharedCuckooFilter {
    pub(super) fn sum(&self, of: impl Fn(&CuckooFilter) -> u64) -> u64 {
        let each = self.shards.iter().map(|shard| of(&shard.read()));
        each.fold(0, u64::saturating_add)
    }

    /// Items stored, every copy counted. O(1): reads each of the up to 64 shards.
    pub fn len(&self) -> u64 {
        self.sum(CuckooFilter::len)
    }

    /// Whether no item is stored. O(1), as [`len`](Self::len).
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items for which the current memory is planned. O(1), as [`len`](Self::len).
    pub fn capacity(&self) -> u64 {
        // The shards' own limits are only their permits.
        let slots = self.sum(CuckooFilter::slots);
        ((slots as f64 * design_load(&self.plan.geometry)) as u64).min(self.plan.policy.max_items)
    }

    /// Items up to which the stated rate holds; `u64::MAX` if there is no limit.
    pub fn max_items(&self) -> u64 {
        self.plan.policy.max_items
    }

    /// Slots in use, 0..=1. O(1), as [`len`](Self::len).
    pub fn load_factor(&self) -> f64 {
        let stored = self.sum(|shard| shard.stored().saturating_sub(shard.overflow().overflowed()));
        stored as f64 / self.sum(CuckooFilter::slots) as f64
    }

    /// Bits of every key's hash that the filter remembers: the false-positive rate with n items is
    /// n / 2^`hash_bits`.
    pub fn hash_bits(&self) -> f64 {
        self.plan.geometry.cells().log2()
    }

    /// Probability that `contains` is true for a key that is absent, with the items stored now. O(1),
    /// as [`len`](Self::len).
    pub fn false_positive_rate(&self) -> f64 {
        let stored: u64 = self.sum(CuckooFilter::stored);
        (stored as f64 / self.plan.geometry.cells()).min(1.0)
    }

    /// Bytes of memory: tables, directories, overflow tables, and the locks. O(1), as [`len`](Self::len).
    pub fn memory_bytes(&self) -> usize {
        let locks = self.shards.len() * (size_of::<LockedShard>() - size_of::<CuckooFilter>());
        let filters = self.shards.iter().map(|shard| shard.read().memory_bytes());
        size_of::<Self>() + filters.fold(locks, usize::saturating_add)
    }

    /// The number of shards, the parts of the filter that have a lock each: four for each processor when it was
    /// created, at most 64.
    pub fn shards(&self) -> usize {
        self.shards.len()
    }

    /// The hasher that turns keys into [`KeyHash`](crate::KeyHash)es for this filter.
    pub fn hasher(&self) -> KeyHasher {
        self.plan.hasher
    }
}

summary!(SharedCuckooFilter: len, capacity, load_factor, false_positive_rate, hash_bits, shards, memory_bytes);

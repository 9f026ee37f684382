//! Descriptions of a filter: counts, rates, memory.

use super::{CuckooFilter, WhenFull};
use crate::hash::KeyHasher;
use crate::kernel::Resolution;
use crate::sizing;
use crate::summary::summary;

impl CuckooFilter {
    /// Items stored, every copy counted.
    pub fn len(&self) -> u64 {
        u64::try_from(u128::from(self.stored) + self.overflow.extra()).unwrap_or(u64::MAX)
    }

    /// Whether no item is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items that the present memory is planned for; a growing filter allocates more when needed.
    pub fn capacity(&self) -> u64 {
        let load = sizing::design_load(self.segments.geometry());
        ((self.slots() as f64 * load) as u64).min(self.policy.max_items)
    }

    /// Items up to which the stated rate holds; `u64::MAX` if there is no limit.
    pub fn max_items(&self) -> u64 {
        self.policy.max_items
    }

    /// What happens when no slot is free for an item.
    pub fn when_full(&self) -> WhenFull {
        self.policy.when_full
    }

    /// Slots of all segments.
    pub fn slots(&self) -> u64 {
        self.segments.slots()
    }

    /// The number of segments, which are independent runs of buckets.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Bits of a slot in the segments that were split most. O(segments).
    pub fn slot_bits(&self) -> u32 {
        self.segments.slot_bits()
    }

    /// The hash that turns keys into [`KeyHash`](crate::KeyHash)es for this filter.
    pub fn hasher(&self) -> KeyHasher {
        self.hasher
    }

    /// Slots in use, 0..=1.
    pub fn load_factor(&self) -> f64 {
        // A forged mapped file may state any number in use.
        self.stored.saturating_sub(self.overflow.overflowed()) as f64 / self.slots() as f64
    }

    /// Bits of every key's hash that the filter remembers. The false-positive rate with n items is
    /// n / 2^`hash_bits`.
    pub fn hash_bits(&self) -> f64 {
        self.segments.geometry().cells().log2()
    }

    /// Probability that `contains` is true for an absent key, with the present items. An upper bound, because
    /// items that share a cell are all counted. Above 0.1 this matters: the probability is 1 - exp(-rate).
    pub fn false_positive_rate(&self) -> f64 {
        (self.stored as f64 / self.segments.geometry().cells()).min(1.0)
    }

    /// Whether the filter can be rebuilt to any size: it was built without a rate, or to grow.
    pub(crate) fn is_resizable(&self) -> bool {
        matches!(self.segments.geometry().resolution, Resolution::Prefix { .. })
    }

    /// Bytes of memory: table, directory, overflow table, and this value itself.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.segments.memory_bytes() + self.overflow.memory_bytes()
    }

    /// The part of [`memory_bytes`](Self::memory_bytes) that does not come from the allocator: tables of 2 MiB or more
    /// are mapped. O(number of mappings), at most some hundreds.
    pub fn mapped_bytes(&self) -> usize {
        self.segments.mapped_bytes()
    }
}

summary!(CuckooFilter:
    len, capacity, load_factor, false_positive_rate, hash_bits, slot_bits, segments, memory_bytes
);

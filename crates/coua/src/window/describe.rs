//! Descriptions: sums over all generations.

use std::ops::Add;

use crate::filter::CuckooFilter;
use crate::hash::KeyHasher;
use crate::summary::summary;
use crate::window::Generations;

impl Generations {
    /// Items forgotten since this value was created or loaded.
    pub fn forgotten(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.forgotten)
    }

    /// Items that were too old to be inserted, since this value was created or loaded.
    pub fn outdated(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.outdated)
    }

    /// Items that the present memory is planned for.
    pub fn capacity(&self) -> u64 {
        self.sum(CuckooFilter::capacity)
    }

    /// Slots of all generations.
    pub fn slots(&self) -> u64 {
        self.sum(CuckooFilter::slots)
    }

    /// Bits of a slot in the segments that were split most. O(segments).
    pub fn slot_bits(&self) -> u32 {
        let least = self.filters().map(CuckooFilter::slot_bits).min();
        least.unwrap_or_else(|| self.template().slot_bits())
    }

    /// Segments of all generations.
    pub fn segments(&self) -> u64 {
        self.sum(|filter| filter.segments() as u64)
    }

    /// The hash of the keys.
    pub fn hasher(&self) -> KeyHasher {
        self.template().hasher()
    }

    /// Slots in use, 0..=1.
    pub fn load_factor(&self) -> f64 {
        let used = self.filters().map(|filter| filter.load_factor() * filter.slots() as f64);
        used.fold(0.0, f64::add) / self.slots().max(1) as f64
    }

    /// Bits of every key's hash that are remembered. A lookup searches all generations, so the
    /// false-positive rate with n items in them together is n / 2^`hash_bits`.
    pub fn hash_bits(&self) -> f64 {
        self.template().hash_bits()
    }

    /// Probability that `contains` is true for an absent key, with the present items.
    pub fn false_positive_rate(&self) -> f64 {
        self.filters().map(CuckooFilter::false_positive_rate).fold(0.0, f64::add).min(1.0)
    }

    /// Bytes of memory, including the template.
    pub fn memory_bytes(&self) -> usize {
        let template = self.state.as_ref().map_or(0, |state| state.template.memory_bytes());
        template + self.filters().map(CuckooFilter::memory_bytes).sum::<usize>()
    }
}

summary!(Generations: window, clock, len, template);

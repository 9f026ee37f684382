//! Looks up many keys, and counts their copies.

use crate::filter::CuckooFilter;
use crate::hash::{Key, KeyHash};
use crate::kernel::{AnyLevel, Levels, with_levels};
use crate::segments::Prefetcher;
use crate::simd::{Isa, Kernel, with_bit_instructions};

impl CuckooFilter {
    /// [`contains`](Self::contains) for many keys: one answer for each, in order. O(keys). Like all batches, takes 8
    /// bytes of temporary memory per key for its hash, unless the keys are hashes.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut present = Vec::new();
        self.contains_hashes(K::hash_all(keys, self.hasher(), &mut Vec::new()), &mut present);
        present
    }

    /// `present` is cleared, then holds an answer for each key.
    pub(crate) fn contains_hashes(&self, hashes: &[KeyHash], present: &mut Vec<bool>) {
        present.clear();
        present.resize(hashes.len(), false);
        if !self.contains_in_vectors(hashes, present) {
            with_bit_instructions(Lookup { filter: self, hashes, present });
        }
    }

    /// [`count`](Self::count) for many keys: one number for each, in order. O(keys).
    pub fn count_batch<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        let mut counts = Vec::new();
        self.count_hashes(K::hash_all(keys, self.hasher(), &mut Vec::new()), &mut counts);
        counts
    }

    /// `counts` is cleared, then holds a number for each key.
    pub(crate) fn count_hashes(&self, hashes: &[KeyHash], counts: &mut Vec<u64>) {
        counts.clear();
        counts.reserve(hashes.len());
        let mut prefetcher = Prefetcher::new(self.as_segments(), AnyLevel, hashes, 0);
        while let Some(place) = prefetcher.next(self.as_segments(), AnyLevel) {
            counts.push(self.count_at(&place));
        }
    }
}

/// A batch of lookups, in segments of several levels or slot by slot.
struct Lookup<'a> {
    filter: &'a CuckooFilter,
    hashes: &'a [KeyHash],
    present: &'a mut [bool],
}

impl Kernel for Lookup<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        with_levels!(self.filter.as_segments().uniform().copied(), |levels| self.look_up(levels));
    }
}

impl Lookup<'_> {
    #[inline(always)]
    fn look_up(self, levels: impl Levels) {
        let segments = self.filter.as_segments();
        let mut prefetcher = Prefetcher::new(segments, levels, self.hashes, 0);
        for present in self.present {
            let Some(place) = prefetcher.next(segments, levels) else { break };
            *present = self.filter.contains_at(levels, &place);
        }
    }
}

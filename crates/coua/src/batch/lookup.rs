//! Looks up many keys, and counts their copies.

use crate::filter::{CuckooFilter, by_level};
use crate::hash::{Key, KeyHash};
use crate::segments::Prefetcher;

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
        by_level(self, hashes, present, |filter, level, hashes, present| {
            filter.contains_in_level(level, hashes, present);
        });
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
        counts.resize(hashes.len(), 0);
        by_level(self, hashes, counts, |filter, level, hashes, counts| {
            let mut prefetcher = Prefetcher::new(filter.as_segments(), level, hashes, 0);
            for count in counts {
                let Some(place) = prefetcher.next(filter.as_segments()) else { break };
                *count = filter.count_at(&place);
            }
        });
    }
}

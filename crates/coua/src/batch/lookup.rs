//! Looks up many keys, and counts their copies.

use crate::filter::{CuckooFilter, by_level};
use crate::hash::{Key, KeyHash};
use crate::segments::Prefetcher;

impl CuckooFilter {
    /// [`contains`](Self::contains) for many keys: one answer for each, in order. O(keys). Like all batches, takes 8
    /// bytes of temporary memory per key for its hash, unless the keys are hashes.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        self.contains_hashes(K::hash_all(keys, self.hasher(), &mut Vec::new()))
    }

    pub(crate) fn contains_hashes(&self, hashes: &[KeyHash]) -> Vec<bool> {
        let mut present = vec![false; hashes.len()];
        by_level(self, hashes, &mut present, |filter, level, hashes, present| {
            filter.contains_in_level(level, hashes, present);
        });
        present
    }

    /// [`count`](Self::count) for many keys: one number for each, in order. O(keys).
    pub fn count_batch<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        self.count_hashes(K::hash_all(keys, self.hasher(), &mut Vec::new()))
    }

    pub(crate) fn count_hashes(&self, hashes: &[KeyHash]) -> Vec<u64> {
        let mut counts = vec![0; hashes.len()];
        by_level(self, hashes, &mut counts, |filter, level, hashes, counts| {
            let mut prefetcher = Prefetcher::new(filter.as_segments(), level, hashes, 0);
            for count in counts {
                let Some(place) = prefetcher.next(filter.as_segments()) else { break };
                *count = filter.count_at(&place);
            }
        });
        counts
    }
}

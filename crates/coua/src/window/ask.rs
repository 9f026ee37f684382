//! Asking all generations.

use crate::hash::{Key, KeyHash};
use crate::window::Generations;

impl Generations {
    /// Whether the key is remembered; true for another key with the false-positive rate's probability.
    pub fn contains<K: Key>(&self, key: K) -> bool {
        if let Some(plain) = self.unbounded() {
            return plain.contains(key);
        }
        let hash = key.hash_with(self.hasher());
        self.filters().any(|filter| filter.contains(hash))
    }

    /// How many copies of the key are remembered, in all generations.
    pub fn count<K: Key>(&self, key: K) -> u64 {
        let hash = key.hash_with(self.hasher());
        self.sum(|filter| filter.count(hash))
    }

    /// [`contains`](Self::contains) for many keys: one answer for each, in order. O(keys *
    /// generations): each key until one has it.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.hasher(), &mut space);
        // Most repeats are recent.
        let mut filters = self.live.iter().rev().map(|live| &live.filter);
        let Some(newest) = filters.next() else { return vec![false; hashes.len()] };
        let mut present = newest.contains_batch(hashes);
        for filter in filters {
            let places: Vec<_> = (0..hashes.len()).filter(|&place| !present[place]).collect();
            if places.is_empty() {
                break;
            }
            let asked: Vec<KeyHash> = places.iter().map(|&place| hashes[place]).collect();
            for (&place, answer) in places.iter().zip(filter.contains_batch(&asked)) {
                present[place] = answer;
            }
        }
        present
    }

    /// [`count`](Self::count) for many keys: one number for each, in order. O(keys * generations).
    pub fn count_batch<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.hasher(), &mut space);
        let mut counts = vec![0_u64; hashes.len()];
        for filter in self.filters() {
            for (count, more) in counts.iter_mut().zip(filter.count_batch(hashes)) {
                *count = count.saturating_add(more);
            }
        }
        counts
    }
}

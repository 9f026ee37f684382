//! Asking all generations.

use std::borrow::Cow;

use crate::hash::{Key, KeyHash};
use crate::window::Generations;
use crate::window::generations::Live;

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
        self.newest(hashes).iter().map(Option::is_some).collect()
    }

    /// The newest generation that has each hash.
    pub(super) fn newest(&self, hashes: &[KeyHash]) -> Vec<Option<u64>> {
        let mut newest = vec![None; hashes.len()];
        let mut places: Vec<usize> = (0..hashes.len()).collect();
        let mut asked = Cow::Borrowed(hashes);
        // Most repeats are recent.
        for Live { number, filter } in self.live.iter().rev() {
            if places.is_empty() {
                break;
            }
            for (&place, _) in
                places.iter().zip(filter.contains_batch(&asked)).filter(|found| found.1)
            {
                newest[place] = Some(*number);
            }
            places.retain(|&place| newest[place].is_none());
            asked = places.iter().map(|&place| hashes[place]).collect();
        }
        newest
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

//! Lookups in all generations.

use crate::hash::{Key, KeyHash};
use crate::window::Generations;
use crate::window::generations::Live;

impl Generations {
    /// Whether the key is remembered. Also true for an absent key, with the probability of the false-positive rate.
    pub fn contains<K: Key>(&self, key: K) -> bool {
        if let Some(plain) = self.unbounded() {
            return plain.contains(key);
        }
        let hash = key.hash_with(self.hasher());
        self.filters().any(|filter| filter.contains(hash))
    }

    /// The number of copies of the key, in all generations.
    pub fn count<K: Key>(&self, key: K) -> u64 {
        let hash = key.hash_with(self.hasher());
        self.sum(|filter| filter.count(hash))
    }

    /// [`contains`](Self::contains) for many keys: one answer for each, in order. O(keys *
    /// generations); the search for a key ends when one has it.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.hasher(), &mut space);
        self.newest(hashes).iter().map(Option::is_some).collect()
    }

    /// The newest generation that has each hash.
    pub(super) fn newest(&self, hashes: &[KeyHash]) -> Vec<Option<u64>> {
        // Most repeats are recent.
        let mut generations = self.live.iter().rev();
        let Some(Live { number, filter }) = generations.next() else {
            return vec![None; hashes.len()];
        };
        let present = filter.contains_batch(hashes);
        let mut newest: Vec<_> = present.iter().map(|present| present.then_some(*number)).collect();
        for Live { number, filter } in generations {
            let places: Vec<_> = (0..hashes.len()).filter(|&at| newest[at].is_none()).collect();
            if places.is_empty() {
                break;
            }
            let asked: Vec<KeyHash> = places.iter().map(|&place| hashes[place]).collect();
            for (&place, answer) in places.iter().zip(filter.contains_batch(&asked)) {
                newest[place] = answer.then_some(*number);
            }
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

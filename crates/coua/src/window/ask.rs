//! Asking all generations.

use crate::KeyHash;
use crate::window::Generations;

impl Generations {
    /// Whether the key is remembered; true for another key with the false-positive rate's probability.
    ///
    /// ```
    /// assert!(!coua::Generations::default().contains("a"));
    /// ```
    pub fn contains<K: AsRef<[u8]>>(&self, key: K) -> bool {
        self.contains_hash(self.hasher().hash(key.as_ref()))
    }

    /// [`contains`](Self::contains) for a key that is hashed already.
    ///
    /// ```
    /// assert!(!coua::Generations::default().contains_hash(coua::KeyHash::from_u64(1)));
    /// ```
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        self.filters().any(|filter| filter.contains_hash(hash))
    }

    /// [`contains`](Self::contains) for many keys that are hashed already: `present` is cleared and
    /// then holds one answer for each, in order. O(keys * generations): a key is asked for until one
    /// has it.
    ///
    /// ```
    /// let mut present = Vec::new();
    /// let seen = coua::Generations::default();
    /// seen.contains_hash_batch(&[coua::KeyHash::from_u64(1)], &mut present);
    /// assert_eq!(present, [false]);
    /// ```
    pub fn contains_hash_batch(&self, hashes: &[KeyHash], present: &mut Vec<bool>) {
        // Most repeats are recent.
        let mut filters = self.live.iter().rev().map(|live| &live.filter);
        if let Some(newest) = filters.next() {
            newest.contains_hash_batch(hashes, present);
        } else {
            present.clear();
            present.resize(hashes.len(), false);
        }
        let (mut places, mut asked, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        for filter in filters {
            places.clear();
            places.extend((0..hashes.len()).filter(|&place| !present[place]));
            if places.is_empty() {
                return;
            }
            asked.clear();
            asked.extend(places.iter().map(|&place| hashes[place]));
            filter.contains_hash_batch(&asked, &mut answers);
            for (&place, &answer) in places.iter().zip(&answers) {
                present[place] = answer;
            }
        }
    }

    /// How many copies of each key are remembered, in all generations; `counts` is cleared first.
    /// O(keys * generations).
    ///
    /// ```
    /// let mut counts = Vec::new();
    /// let seen = coua::Generations::default();
    /// seen.count_hash_batch(&[coua::KeyHash::from_u64(1)], &mut counts);
    /// assert_eq!(counts, [0]);
    /// ```
    pub fn count_hash_batch(&self, hashes: &[KeyHash], counts: &mut Vec<u64>) {
        let (mut filters, mut of_one) = (self.filters(), Vec::new());
        if let Some(first) = filters.next() {
            first.count_hash_batch(hashes, counts);
        } else {
            counts.clear();
            counts.resize(hashes.len(), 0);
        }
        for filter in filters {
            filter.count_hash_batch(hashes, &mut of_one);
            for (count, more) in counts.iter_mut().zip(&of_one) {
                *count = count.saturating_add(*more);
            }
        }
    }
}

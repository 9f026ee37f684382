//! Sets from iterators.

use crate::filter::CuckooFilter;
use crate::hash::Key;

/// Keys per batch.
const BATCH: usize = 1 << 13;

impl<K: Key> Extend<K> for CuckooFilter {
    /// Inserts the keys that are absent, in batches. O(1) expected for each.
    ///
    /// # Panics
    ///
    /// If the filter is full: `extend` cannot refuse, and nothing may be lost silently. Use
    /// [`insert_unique_batch`](CuckooFilter::insert_unique_batch) for filters with a limit.
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        let mut keys = keys.into_iter();
        let mut batch = Vec::with_capacity(BATCH.min(keys.size_hint().0));
        loop {
            batch.clear();
            batch.extend(keys.by_ref().take(BATCH));
            if batch.is_empty() {
                return;
            }
            if let Err(stopped) = self.insert_unique_batch(&batch) {
                panic!("{}", stopped.full);
            }
        }
    }
}

impl<K: Key> FromIterator<K> for CuckooFilter {
    /// Collects the set of keys into a [`CuckooFilter::new`], which grows without limit. O(1) expected for each.
    ///
    /// # Panics
    ///
    /// If there is no memory for them.
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut filter = Self::new();
        filter.extend(keys);
        filter
    }
}

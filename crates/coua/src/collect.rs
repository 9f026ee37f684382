//! Sets from iterators.

use crate::error::Full;
use crate::filter::CuckooFilter;
use crate::hash::Key;
use crate::shared::SharedCuckooFilter;

/// Keys per batch.
const BATCH: usize = 1 << 13;

/// Calls `insert` for batches of keys.
///
/// # Panics
///
/// If an insert is refused.
fn in_batches<K: Key>(
    keys: impl IntoIterator<Item = K>,
    mut insert: impl FnMut(&[K]) -> Result<(), Full>,
) {
    let mut keys = keys.into_iter();
    let mut batch = Vec::with_capacity(BATCH.min(keys.size_hint().0));
    loop {
        batch.clear();
        batch.extend(keys.by_ref().take(BATCH));
        if batch.is_empty() {
            return;
        }
        insert(&batch).unwrap_or_else(|full| panic!("{full}"));
    }
}

impl<K: Key> Extend<K> for CuckooFilter {
    /// Inserts the keys that are absent, in batches. O(1) expected for each.
    ///
    /// # Panics
    ///
    /// If the filter is full: `extend` cannot refuse, and nothing may be lost silently. Use
    /// [`insert_unique_batch`](CuckooFilter::insert_unique_batch) for filters with a limit.
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        let mut outcomes = Vec::new();
        in_batches(keys, |batch| {
            self.insert_unique_batch_into(batch, &mut outcomes).map_err(|stopped| stopped.full)
        });
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

impl<K: Key> Extend<K> for SharedCuckooFilter {
    /// Inserts the keys that are absent, in batches. O(1) expected for each.
    ///
    /// # Panics
    ///
    /// If the filter is full. Use [`insert_unique_batch`](SharedCuckooFilter::insert_unique_batch) for filters with
    /// a limit, and from several threads.
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        let mut outcomes = Vec::new();
        in_batches(keys, |batch| {
            self.insert_unique_batch_into(batch, &mut outcomes).map_err(|refused| refused.full)
        });
    }
}

impl<K: Key> FromIterator<K> for SharedCuckooFilter {
    /// Collects the set of keys into a [`SharedCuckooFilter::new`]. O(1) expected for each.
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

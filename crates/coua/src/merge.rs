//! Union of filters, and filters from iterators.

use crate::error::{FullReason, MergeError};
use crate::filter::CuckooFilter;
use crate::filter::IfPresent;
use crate::hash::Key;

/// Keys that `extend` inserts together.
const EXTEND_BATCH: usize = 1 << 13;

impl CuckooFilter {
    /// Adds all items of `other`, copies included: afterwards a key has as many copies as in both
    /// filters together. O(slots of both). This filter is copied first, so that a refusal changes
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`MergeError`] if the hashers differ, `other` remembers too few bits of its keys, or there is no
    /// room. Filters with the same capacity and rate can be merged up to their `max_items`; filters made
    /// without a rate, if they have equal hash bits.
    ///
    /// ```
    /// use coua::CuckooFilter;
    /// let (mut monday, mut tuesday) = (CuckooFilter::new(), CuckooFilter::new());
    /// monday.insert("a")?;
    /// tuesday.insert("a")?;
    /// monday.merge(&tuesday)?;
    /// assert_eq!(monday.count("a"), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        self.merge_as(other, IfPresent::AddCopy)
    }

    /// Adds the items of `other` that are absent: the union of two sets filled by
    /// [`insert_unique`](Self::insert_unique). O(slots of both).
    ///
    /// # Errors
    ///
    /// As [`merge`](Self::merge).
    pub fn merge_unique(&mut self, other: &Self) -> Result<(), MergeError> {
        self.merge_as(other, IfPresent::Skip)
    }

    fn merge_as(&mut self, other: &Self, if_present: IfPresent) -> Result<(), MergeError> {
        if self.hasher() != other.hasher() {
            return Err(MergeError::Hasher);
        }
        if !other.as_segments().geometry().resolves(self.as_segments().geometry()) {
            return Err(MergeError::Resolution {
                into_bits: self.hash_bits(),
                from_bits: other.hash_bits(),
            });
        }
        let no_memory = |_| MergeError::Full(self.full(FullReason::OutOfMemory));
        let mut union = self.try_clone().map_err(no_memory)?;
        // Reserving avoids growth during the merge. Without memory for that, the merge may still fit.
        let expected = match if_present {
            IfPresent::AddCopy => self.stored().saturating_add(other.stored()),
            IfPresent::Skip => self.stored().max(other.stored()),
        };
        let more = expected.min(self.policy().limit()).saturating_sub(self.stored());
        match union.reserve(more) {
            // The limit must not change the bytes, so it is checked afterwards.
            Err(full) if full.reason == FullReason::MemoryLimit => return Err(full.into()),
            Ok(()) | Err(_) => {}
        }
        union.absorb(other, if_present)?;
        *self = union;
        Ok(())
    }
}

impl<K: Key> Extend<K> for CuckooFilter {
    /// Inserts every key, in batches. O(1) expected for each.
    ///
    /// # Panics
    ///
    /// If the filter is full: `extend` cannot refuse, and nothing may be lost silently. Use
    /// [`insert_batch`](CuckooFilter::insert_batch) for filters with a limit.
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        let mut keys = keys.into_iter();
        let mut batch = Vec::with_capacity(EXTEND_BATCH.min(keys.size_hint().0));
        loop {
            batch.clear();
            batch.extend(keys.by_ref().take(EXTEND_BATCH));
            if batch.is_empty() {
                return;
            }
            self.insert_batch(&batch).unwrap_or_else(|stopped| panic!("{}", stopped.full));
        }
    }
}

impl<K: Key> FromIterator<K> for CuckooFilter {
    /// Collects keys into a filter made by [`CuckooFilter::new`], which grows without limit. O(1)
    /// expected for each.
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

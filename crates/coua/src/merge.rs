//! Union and intersection of filters.

use crate::error::{FullReason, MergeError, with_room};
use crate::filter::{CuckooFilter, IfPresent};
use crate::hash::KeyHash;
use crate::table::Segment;

impl CuckooFilter {
    /// Adds all items of `other`, copies included: afterwards a key has the copies of both
    /// filters. O(slots of both). Works on a copy, so a refusal changes nothing.
    ///
    /// # Errors
    ///
    /// [`MergeError`] if the hashers differ, `other` remembers too few bits of its keys, or there is no
    /// room. Filters with the same capacity and rate can be merged up to their `max_items`; filters
    /// without a rate, if their hash bits are equal.
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
        self.union_with(other, IfPresent::AddCopy).map(|union| *self = union)
    }

    /// Adds the items of `other` that are absent: the union of two sets filled by
    /// [`insert_unique`](Self::insert_unique). O(slots of both).
    ///
    /// # Errors
    ///
    /// As [`merge`](Self::merge).
    pub fn merge_unique(&mut self, other: &Self) -> Result<(), MergeError> {
        self.union_with(other, IfPresent::Skip).map(|union| *self = union)
    }

    /// Removes the items that are not in `other`, with all their copies: the intersection of two sets. O(slots).
    ///
    /// # Errors
    ///
    /// [`MergeError`] if the hashers differ, this filter remembers fewer bits of its keys than `other`, or there is no
    /// memory for a list of the hashes of one segment, or of the keys with copies in no slot.
    pub fn intersect(&mut self, other: &Self) -> Result<(), MergeError> {
        self.check_resolves(other)?;
        let no_memory = |_| MergeError::Full(self.full(FullReason::OutOfMemory));
        let fullest = self.as_segments().iter().map(Segment::occupied).max().unwrap_or(0);
        let mut hashes = with_room::<KeyHash>(fullest as usize).map_err(no_memory)?;
        let mut absent = with_room(self.overflow().len()).map_err(no_memory)?;
        absent.extend(self.overflow().iter().filter(|(hash, _)| !other.contains(*hash)));
        // Copies in no slot come first: removing a key takes them before those in slots.
        for (hash, entry) in absent {
            self.remove_overflow(hash, entry);
        }
        for index in 0..self.segments() as u32 {
            hashes.clear();
            hashes.extend(self.as_segments().representatives(index));
            let mut present = other.contains_batch(&hashes).into_iter();
            hashes.retain(|_| present.next() == Some(false));
            self.remove_batch(&hashes);
        }
        Ok(())
    }

    /// Whether the representatives of this filter's items are keys for the other one.
    fn check_resolves(&self, other: &Self) -> Result<(), MergeError> {
        if self.hasher() != other.hasher() {
            return Err(MergeError::Hasher);
        }
        if !self.as_segments().geometry().resolves(other.as_segments().geometry()) {
            return Err(MergeError::Resolution {
                into_bits: other.hash_bits(),
                from_bits: self.hash_bits(),
            });
        }
        Ok(())
    }

    fn union_with(&self, other: &Self, if_present: IfPresent) -> Result<Self, MergeError> {
        let no_memory = |_| MergeError::Full(self.full(FullReason::OutOfMemory));
        let mut union = self.try_clone().map_err(no_memory)?;
        union.unite(other, if_present).map(|()| union)
    }

    /// As [`merge`](Self::merge), without a copy: an error may leave the filters partly merged.
    #[doc(hidden)]
    pub fn unite(&mut self, other: &Self, if_present: IfPresent) -> Result<(), MergeError> {
        other.check_resolves(self)?;
        // Reserving avoids growth during the merge. A filter of fixed size without room for all may have room for some.
        let common = if if_present == IfPresent::Skip { self.stored() } else { 0 };
        let more = other.stored().saturating_sub(common);
        let reserved = self.reserve(more.min(self.policy().limit().saturating_sub(self.stored())));
        reserved.or_else(|full| (full.reason == FullReason::NoRoom).then_some(()).ok_or(full))?;
        Ok(self.insert_all_of(other, if_present)?)
    }
}

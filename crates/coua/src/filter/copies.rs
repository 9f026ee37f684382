//! Copies outside of the slots. The overflow table changes here alone, because each segment counts the items of its keys
//! that are without a slot.

use super::{CuckooFilter, OverflowEntry};
use crate::hash::KeyHash;
use crate::kernel::Place;

impl CuckooFilter {
    /// Copies of a key that are in no slot.
    pub(crate) fn overflow_copies(&self, place: &Place) -> u64 {
        if self.segments.get(place.segment).has_overflow() {
            self.overflow.of(self.segments.representative(place)).copies()
        } else {
            0
        }
    }

    /// Adds copies of a key to the overflow table.
    pub(super) fn add_overflow(&mut self, hash: KeyHash, entry: OverflowEntry) {
        let place = self.segments.locate(hash);
        self.overflow.add(self.segments.representative(&place), entry);
        self.segments.add_overflow(place.segment, entry.overflowed);
    }

    /// Adds copies of a key that has all its slots.
    pub(super) fn add_copies(&mut self, place: &Place, copies: u64) {
        let entry = OverflowEntry { extra: copies, overflowed: 0 };
        self.overflow.add(self.segments.representative(place), entry);
        self.segments.add_overflow(place.segment, 0);
    }

    /// Takes a copy of a key out of the overflow table that is in no slot; false if there is none.
    pub(super) fn take_overflowed(&mut self, segment: u32, representative: KeyHash) -> bool {
        let is_taken = self.overflow.take(representative, OverflowEntry::ONE_OVERFLOWED);
        self.segments.take_overflow(segment, u64::from(is_taken));
        is_taken
    }

    /// Counts what the overflow table has for the keys of a segment.
    pub(super) fn count_overflow(&mut self, index: u32) {
        self.segments.clear_overflow(index);
        let prefix = self.segments.get(index).prefix();
        let entries = self.overflow.under(prefix, self.segments.depth_of(index));
        for (_, entry) in entries {
            self.segments.add_overflow(index, entry.overflowed);
        }
    }

    /// Adds copies of a key that its segment counts already.
    pub(crate) fn adopt_overflow(&mut self, hash: KeyHash, entry: OverflowEntry) {
        let place = self.segments.locate(hash);
        self.overflow.add(self.segments.representative(&place), entry);
        self.stored += entry.overflowed;
    }

    /// Adds copies of a key that another filter, or a snapshot, had in its overflow table.
    pub(crate) fn restore_overflow(&mut self, hash: KeyHash, entry: OverflowEntry) {
        self.add_overflow(hash, entry);
        self.stored += entry.overflowed;
    }
}

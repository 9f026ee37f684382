//! Removes a copy of a key.

use super::{CuckooFilter, OverflowEntry, OverflowTable};
use crate::hash::Key;
use crate::kernel::{KnownLevel, Place, SlotCodec, with_level};
use crate::segments::{KeyGroup, Preview};

impl CuckooFilter {
    /// Removes one copy of the key. Returns false if there is none. O(1).
    ///
    /// A key that was never inserted may, with the probability of the false-positive rate, look like another one, whose
    /// copy is then removed. The same holds for a key that looked present to [`insert_unique`](Self::insert_unique):
    /// then both are gone.
    #[inline]
    pub fn remove<K: Key>(&mut self, key: K) -> bool {
        let hash = key.hash_with(self.hasher);
        with_level!(self.segments, hash, |level| {
            let place = self.segments.locate_by(level, hash);
            self.remove_at(level, &place)
        })
    }

    /// Removes all items, but keeps the memory, which [`compact`](Self::compact) frees. O(bytes).
    pub fn clear(&mut self) {
        self.segments.clear();
        self.overflow = OverflowTable::default();
        self.stored = 0;
    }

    /// Removes one copy, from the overflow table first, because slots are cheaper.
    #[inline(always)]
    pub(crate) fn remove_at(&mut self, level: impl KnownLevel, place: &Place) -> bool {
        if self.segments.get(place.segment).has_overflow() {
            return self.remove_beside_overflow(*place);
        }
        let is_taken = match self.segments.remove_from_slot(level, place) {
            Some(is_taken) => is_taken,
            None => self.segments.remove_from_slot_slow(*place),
        };
        self.count_removed(u64::from(is_taken));
        is_taken
    }

    /// Removes a copy from the slot that its preview found. Returns `None` if the preview is stale, or the copy may be
    /// in the overflow table.
    #[inline(always)]
    pub(crate) fn remove_previewed(
        &mut self,
        codec: &SlotCodec,
        keys: &KeyGroup,
        number: usize,
        preview: &Preview,
    ) -> Option<bool> {
        let is_taken = self.segments.remove_previewed(codec, keys, number, preview)?;
        if is_taken {
            self.count_removed(1);
        }
        Some(is_taken)
    }

    /// Subtracts removed items. A mapped file may have stated a smaller count.
    #[inline(always)]
    pub(super) fn count_removed(&mut self, items: u64) {
        self.stored = self.stored.saturating_sub(items);
    }

    #[cold]
    fn remove_beside_overflow(&mut self, place: Place) -> bool {
        let is_in_slot = self.segments.holds(self.segments.level_of(place.segment), &place);
        // Extra copies always have one in a slot.
        if !is_in_slot && self.segments.get(place.segment).overflowed() == 0 {
            return false;
        }
        let hash = self.segments.representative(&place);
        // Most keys have no entry, which takes one lookup.
        let held = self.overflow.of(hash);
        if held.extra > 0 {
            return self.overflow.subtract(hash, OverflowEntry::ONE_EXTRA);
        }
        let is_taken = if held.overflowed > 0 {
            self.take_overflowed(place.segment, hash)
        } else {
            self.segments.remove_from_slot_slow(place)
        };
        self.count_removed(u64::from(is_taken));
        is_taken
    }
}

//! The exact overflow table: copies beyond a bucket's worth, and the few items without a slot.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hint::black_box;

use super::CuckooFilter;
use crate::error::{OutOfMemory, with_room};
use crate::hash::KeyHash;
use crate::kernel::Place;
use crate::sizing::OVERFLOW_ENTRY_BYTES as ENTRY_BYTES;

/// Copies of one key that have no slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OverflowEntry {
    /// Copies beyond a bucket's worth.
    pub(crate) extra: u64,
    /// Copies whose eviction failed; they count as stored.
    pub(crate) overflowed: u64,
}

impl OverflowEntry {
    pub(crate) const ONE_EXTRA: Self = Self { extra: 1, overflowed: 0 };
    pub(crate) const ONE_OVERFLOWED: Self = Self { extra: 0, overflowed: 1 };

    pub(crate) fn copies(self) -> u64 {
        self.extra.saturating_add(self.overflowed)
    }
}

/// Copies by representative hash. A tree: its order groups a segment's entries and makes snapshots
/// reproducible, and no choice of keys makes it slow.
#[derive(Clone, Debug, Default)]
pub(crate) struct OverflowTable {
    entries: BTreeMap<u64, OverflowEntry>,
    overflowed: u64,
    /// Extra copies over all keys.
    extra: u128,
}

impl OverflowTable {
    /// Whether there is memory for so many entries. A tree cannot be asked to try.
    pub(crate) fn check_memory(entries: usize) -> Result<(), OutOfMemory> {
        // The compiler would remove memory that nobody uses.
        with_room::<[u8; ENTRY_BYTES]>(entries).map(|tried| drop(black_box(tried)))
    }

    /// A copy, if there is memory for it.
    pub(crate) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Self::check_memory(self.entries.len())?;
        Ok(self.clone())
    }

    /// The copies of a key.
    pub(crate) fn of(&self, representative: KeyHash) -> OverflowEntry {
        self.entries.get(&representative.to_u64()).copied().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, representative: KeyHash, entry: OverflowEntry) {
        let held = self.entries.entry(representative.to_u64()).or_default();
        let extra = held.extra.saturating_add(entry.extra);
        self.extra += u128::from(extra - held.extra);
        held.extra = extra;
        held.overflowed += entry.overflowed;
        self.overflowed += entry.overflowed;
    }

    /// Removes these copies, or returns false and changes nothing.
    pub(crate) fn take(&mut self, representative: KeyHash, copies: OverflowEntry) -> bool {
        let Entry::Occupied(mut entry) = self.entries.entry(representative.to_u64()) else {
            return false;
        };
        let held = entry.get_mut();
        if held.extra < copies.extra || held.overflowed < copies.overflowed {
            return false;
        }
        held.extra -= copies.extra;
        self.extra -= u128::from(copies.extra);
        held.overflowed -= copies.overflowed;
        self.overflowed -= copies.overflowed;
        if *held == OverflowEntry::default() {
            entry.remove();
        }
        true
    }

    /// Copies beyond a bucket's worth, over all keys.
    pub(crate) fn extra(&self) -> u128 {
        self.extra
    }

    /// Copies whose eviction failed, over all keys.
    pub(crate) fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// Whether a key may be here that is in no slot. Extra copies always have a copy in a slot.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.overflowed > 0
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (KeyHash, OverflowEntry)> + '_ {
        self.under(0, 0)
    }

    /// The entries whose hashes begin with the first `depth` bits of `prefix`, in order.
    pub(crate) fn under(
        &self,
        prefix: u64,
        depth: u32,
    ) -> impl Iterator<Item = (KeyHash, OverflowEntry)> + '_ {
        let last = prefix | u64::MAX.unbounded_shr(depth);
        self.entries.range(prefix..=last).map(|(&hash, &entry)| (KeyHash::from_u64(hash), entry))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.entries.len() * ENTRY_BYTES
    }
}

/// The table changes here alone, because each segment counts the items of its keys that are without a slot.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_taken_or_nothing_changes() {
        let (mut table, hash) = (OverflowTable::default(), KeyHash::from_u64(7));
        table.add(hash, OverflowEntry { extra: 1, overflowed: 3 });
        for copy in [OverflowEntry::ONE_OVERFLOWED, OverflowEntry::ONE_EXTRA] {
            assert!(table.take(hash, copy));
        }
        assert!(!table.take(hash, OverflowEntry::ONE_EXTRA));
        assert!(table.take(hash, OverflowEntry::ONE_OVERFLOWED));
        assert_eq!((table.overflowed(), table.extra(), table.of(hash).copies()), (1, 0, 1));
        assert!(table.take(hash, OverflowEntry::ONE_OVERFLOWED));
        assert_eq!((table.overflowed(), table.len()), (0, 0));
    }
}

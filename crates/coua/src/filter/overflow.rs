//! The exact overflow table: copies beyond a bucket's worth, and the few items without a slot.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::hint::black_box;

use super::CuckooFilter;
use super::copies::CopyTable;
use crate::error::{OutOfMemory, with_room};
use crate::hash::KeyHash;
use crate::kernel::{LevelGeometry, Place, SLOTS};
use crate::sizing::OVERFLOW_ENTRY_BYTES as ENTRY_BYTES;

/// At this width and above, a second slot for a key costs more than counting its copies.
const WIDE_SLOT_BITS: u32 = 32;

/// Repeats whose entries are being prefetched.
const REPEATS_AHEAD: usize = 16;

/// Copies of one key that have no slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverflowEntry {
    /// Copies beyond a bucket's worth; one more has a slot.
    pub extra: u64,
    /// Copies whose eviction failed; they count as stored.
    pub overflowed: u64,
}

impl OverflowEntry {
    pub(crate) const ONE_EXTRA: Self = Self { extra: 1, overflowed: 0 };
    pub(crate) const ONE_OVERFLOWED: Self = Self { extra: 0, overflowed: 1 };

    pub(crate) fn copies(self) -> u64 {
        self.extra.saturating_add(self.overflowed)
    }
}

/// One more copy of a key, to be counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeat {
    /// The number of the key in the batch.
    pub(crate) number: usize,
    pub(crate) segment: u32,
    pub(crate) representative: KeyHash,
}

/// Copies by representative hash. The order groups a segment's entries and makes snapshots reproducible. Each key is in
/// one place: if it has only extra copies, in a small and fast table, otherwise in a tree, which no choice
/// of keys makes slow.
#[derive(Clone, Debug, Default)]
pub(crate) struct OverflowTable {
    /// None if it would be empty.
    copies: Option<Box<CopyTable>>,
    tree: BTreeMap<u64, OverflowEntry>,
    overflowed: u64,
    /// Extra copies over all keys.
    extra: u128,
}

impl OverflowTable {
    /// Returns an error if there is no memory for `entries` entries. `BTreeMap` has no fallible insert.
    pub(crate) fn check_memory(entries: usize) -> Result<(), OutOfMemory> {
        // The compiler would remove unused memory.
        with_room::<[u8; ENTRY_BYTES]>(entries).map(|tried| drop(black_box(tried)))
    }

    /// A copy, if there is memory for it.
    pub(crate) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Self::check_memory(self.len())?;
        Ok(self.clone())
    }

    /// The copies of a key.
    pub(crate) fn of(&self, representative: KeyHash) -> OverflowEntry {
        let hash = representative.to_u64();
        match self.copies.as_ref().map_or(0, |copies| copies.get(hash)) {
            0 => self.tree.get(&hash).copied().unwrap_or_default(),
            extra => OverflowEntry { extra: extra.into(), overflowed: 0 },
        }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, representative: KeyHash, entry: OverflowEntry) {
        let hash = representative.to_u64();
        if entry.overflowed == 0
            && let Ok(more) = u32::try_from(entry.extra)
        {
            if let Some(copies) = self.copies_mut(hash) {
                if let Some(sum) = copies.checked_add(more) {
                    *copies = sum;
                    self.extra += u128::from(more);
                    return;
                }
            } else if self.insert_extra(hash, more) {
                return;
            }
        }
        self.add_to_tree(hash, entry);
    }

    /// Adds extra copies of a key that has no entry in the table of copies. Returns false if the table refuses them.
    fn insert_extra(&mut self, hash: u64, extra: u32) -> bool {
        let is_in_tree = !self.tree.is_empty() && self.tree.contains_key(&hash);
        if extra == 0 || is_in_tree {
            return false;
        }
        if !self.copies.get_or_insert_default().insert(hash, extra) {
            return false;
        }
        self.extra += u128::from(extra);
        true
    }

    #[cold]
    fn add_to_tree(&mut self, hash: u64, entry: OverflowEntry) {
        let moved = self.remove_copies(hash);
        let held = self.tree.entry(hash).or_default();
        held.extra += u64::from(moved);
        let extra = held.extra.saturating_add(entry.extra);
        self.extra += u128::from(extra - held.extra);
        held.extra = extra;
        held.overflowed += entry.overflowed;
        self.overflowed += entry.overflowed;
    }

    /// Removes these copies, or returns false and changes nothing.
    pub(crate) fn subtract(&mut self, representative: KeyHash, copies: OverflowEntry) -> bool {
        let hash = representative.to_u64();
        if let Some(held) = self.copies_mut(hash) {
            if copies.overflowed > 0 || u64::from(*held) < copies.extra {
                return false;
            }
            *held -= copies.extra as u32;
            if *held == 0 {
                self.remove_copies(hash);
            }
            self.extra -= u128::from(copies.extra);
            return true;
        }
        let Entry::Occupied(mut entry) = self.tree.entry(hash) else {
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
        if held.overflowed == 0 {
            let extra_alone = entry.remove();
            if extra_alone.extra > 0 {
                self.extra -= u128::from(extra_alone.extra);
                self.add(representative, extra_alone);
            }
        }
        true
    }

    /// The count of a key that has nothing but extra copies.
    #[inline(always)]
    fn copies_mut(&mut self, hash: u64) -> Option<&mut u32> {
        self.copies.as_mut()?.get_mut(hash)
    }

    /// Removes a key from the table of copies, and returns its number of copies there.
    fn remove_copies(&mut self, hash: u64) -> u32 {
        let Some(table) = &mut self.copies else { return 0 };
        let copies = table.remove(hash);
        if table.len() == 0 {
            self.copies = None;
        }
        copies
    }

    /// Copies beyond a bucket's worth, over all keys.
    pub(crate) fn extra(&self) -> u128 {
        self.extra
    }

    /// Copies whose eviction failed, over all keys.
    pub(crate) fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// Whether there may be a key without a slot. Extra copies always have a copy in a slot.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.overflowed > 0
    }

    pub(crate) fn len(&self) -> usize {
        self.copies.as_ref().map_or(0, |copies| copies.len()) + self.tree.len()
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
        let extra = |extra: u32| OverflowEntry { extra: extra.into(), overflowed: 0 };
        let copies = self.copies.iter().flat_map(move |copies| copies.range(prefix, last));
        let mut copies =
            copies.map(move |(hash, copies)| (KeyHash::from_u64(hash), extra(copies))).peekable();
        let mut tree = self.tree_under(prefix, depth).peekable();
        std::iter::from_fn(move || {
            let is_copy_next = match (copies.peek(), tree.peek()) {
                (Some((copy, _)), Some((hash, _))) => copy.to_u64() < hash.to_u64(),
                (copy, _) => copy.is_some(),
            };
            if is_copy_next { copies.next() } else { tree.next() }
        })
    }

    /// The entries of keys that may have items without a slot.
    pub(super) fn tree_under(
        &self,
        prefix: u64,
        depth: u32,
    ) -> impl Iterator<Item = (KeyHash, OverflowEntry)> + '_ {
        let last = prefix | u64::MAX.unbounded_shr(depth);
        self.tree.range(prefix..=last).map(|(&hash, &entry)| (KeyHash::from_u64(hash), entry))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.copies.as_ref().map_or(0, |copies| copies.memory_bytes())
            + self.tree.len() * ENTRY_BYTES
    }
}

/// The table changes only here, because each segment counts its items without a slot.
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
        self.overflow.add(self.segments.representative_of(hash, &place), entry);
        self.segments.get_mut(place.segment).add_overflow(entry.overflowed);
    }

    /// Slots that copies of a key may take in a segment of this level; further copies are counted. Copies of a key
    /// share two buckets, so they make evictions long and segments split early. With wide slots, a count takes
    /// hardly more memory than a slot.
    #[inline(always)]
    pub(crate) fn slots_for_copies(level: &LevelGeometry) -> u32 {
        if level.codec.slot_bits >= WIDE_SLOT_BITS { 1 } else { SLOTS }
    }

    /// The number of keys of a segment with copies that found no slot, up to `most`. If copies take one slot, being
    /// counted means nothing.
    pub(super) fn keys_without_room(&self, index: u32, most: usize) -> usize {
        let (segment, level) = (self.segments.get(index), self.segments.level_of(index));
        if Self::slots_for_copies(level) == 1 {
            return most.min(segment.overflowed() as usize);
        }
        self.overflow.under(segment.prefix(), level.depth).take(most).count()
    }

    /// Counts further copies of keys that have all their slots.
    #[inline(always)]
    pub(crate) fn count_repeats(&mut self, repeats: &mut Vec<Repeat>) {
        for (number, repeat) in repeats.iter().enumerate() {
            if let Some(copies) = &self.overflow.copies {
                let ahead = |distance: usize| repeats.get(number + distance);
                if let Some(repeat) = ahead(2 * REPEATS_AHEAD) {
                    copies.prefetch_page(repeat.representative.to_u64());
                }
                if let Some(repeat) = ahead(REPEATS_AHEAD) {
                    copies.prefetch(repeat.representative.to_u64());
                }
            }
            self.overflow.add(repeat.representative, OverflowEntry::ONE_EXTRA);
            self.segments.get_mut(repeat.segment).add_overflow(0);
        }
        repeats.clear();
    }

    /// Adds copies of a key that has all its slots.
    pub(crate) fn add_copies(&mut self, place: &Place, copies: u64) {
        let entry = OverflowEntry { extra: copies, overflowed: 0 };
        self.overflow.add(self.segments.representative(place), entry);
        self.segments.get_mut(place.segment).add_overflow(0);
    }

    /// Removes a copy of a key without a slot from the overflow table. Returns false if there is none.
    pub(super) fn take_overflowed(&mut self, segment: u32, representative: KeyHash) -> bool {
        let is_taken = self.overflow.subtract(representative, OverflowEntry::ONE_OVERFLOWED);
        self.segments.get_mut(segment).subtract_overflow(u64::from(is_taken));
        is_taken
    }

    /// Removes all copies of a key that are in no slot.
    pub(crate) fn remove_overflow(&mut self, hash: KeyHash, entry: OverflowEntry) {
        self.overflow.subtract(hash, entry);
        let segment = self.segments.segment_of(hash);
        self.segments.get_mut(segment).subtract_overflow(entry.overflowed);
        self.count_removed(entry.overflowed);
    }

    /// Recounts the entries of the overflow table for the keys of a segment.
    pub(super) fn count_overflow(&mut self, index: u32) {
        self.segments.get_mut(index).clear_overflow();
        let prefix = self.segments.get(index).prefix();
        let depth = self.segments.depth_of(index);
        if self.overflow.under(prefix, depth).next().is_some() {
            let overflowed =
                self.overflow.tree_under(prefix, depth).map(|(_, entry)| entry.overflowed);
            self.segments.get_mut(index).add_overflow(overflowed.sum());
        }
    }

    /// Announces `entries` entries, in the order of their hashes.
    pub(crate) fn reserve_overflow(&mut self, entries: usize) {
        if entries > 0 {
            self.overflow.copies.get_or_insert_default().expect(entries);
        }
    }

    /// Adds copies of a key that its segment has already counted.
    pub(crate) fn add_counted(&mut self, hash: KeyHash, entry: OverflowEntry) {
        let place = self.segments.locate(hash);
        self.overflow.add(self.segments.representative_of(hash, &place), entry);
        self.stored += entry.overflowed;
    }

    /// Adds copies of a key that another filter, or a snapshot, had in its overflow table.
    pub(crate) fn add_and_count(&mut self, hash: KeyHash, entry: OverflowEntry) {
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
            assert!(table.subtract(hash, copy));
        }
        assert!(!table.subtract(hash, OverflowEntry::ONE_EXTRA));
        assert!(table.subtract(hash, OverflowEntry::ONE_OVERFLOWED));
        assert_eq!((table.overflowed(), table.extra(), table.of(hash).copies()), (1, 0, 1));
        assert!(table.subtract(hash, OverflowEntry::ONE_OVERFLOWED));
        assert_eq!((table.overflowed(), table.len()), (0, 0));
    }
}

//! Looking keys up.

use super::CuckooFilter;
use crate::hash::{Key, KeyHash};
use crate::kernel::{Encoding, LevelGeometry, Levels, Place};
use crate::segments::Lookups;

impl CuckooFilter {
    /// Whether the key was inserted and not removed; true for another key with the false-positive
    /// rate's probability. O(1): two memory accesses.
    #[inline(always)]
    pub fn contains<K: Key>(&self, key: K) -> bool {
        self.contains_hash(key.hash_with(self.hasher))
    }

    /// How many copies of the key are stored: never fewer than were inserted and not removed, more
    /// only by the copies of a false positive. O(1), or O(log k) as said of [the type](Self).
    #[inline]
    pub fn count<K: Key>(&self, key: K) -> u64 {
        self.count_at(&self.segments.locate(key.hash_with(self.hasher)))
    }

    /// Whether the key is there. Only the common case is inlined, so rare cases add no register pressure.
    #[inline(always)]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        match self.segments.uniform() {
            Some(level) if self.is_plain(level, Encoding::Narrow) => {
                self.contains_in_slots(&level.with_encoding(Encoding::Narrow), hash)
            }
            Some(level) if self.is_plain(level, Encoding::Wide) => {
                self.contains_in_wide_slots(level, hash)
            }
            _ => self.contains_slow(hash),
        }
    }

    /// Whether buckets have this encoding, and no item is overflowed.
    #[inline(always)]
    fn is_plain(&self, level: &LevelGeometry, encoding: Encoding) -> bool {
        level.codec.encoding == encoding && !self.overflow.has_overflowed()
    }

    /// Where all segments have this level, and no item is overflowed.
    #[inline(always)]
    fn contains_in_slots(&self, level: &LevelGeometry, hash: KeyHash) -> bool {
        let place = self.segments.locate_in(level, hash);
        self.segments.holds(level, &place).unwrap_or_else(|| self.contains_slow(hash))
    }

    #[inline(never)]
    fn contains_in_wide_slots(&self, level: &LevelGeometry, hash: KeyHash) -> bool {
        self.contains_in_slots(&level.with_encoding(Encoding::Wide), hash)
    }

    #[inline(never)]
    fn contains_slow(&self, hash: KeyHash) -> bool {
        let level = self.segments.level_for(hash);
        let place = &self.segments.locate_in(level, hash);
        match level.codec.encoding {
            Encoding::Narrow => self.contains_at(&level.with_encoding(Encoding::Narrow), place),
            Encoding::Wide => self.contains_at(&level.with_encoding(Encoding::Wide), place),
            Encoding::WideOverlapping => self.contains_at(level, place),
        }
    }

    /// Whether a key is at its place.
    #[inline(always)]
    pub(crate) fn contains_at(&self, levels: impl Levels, place: &Place) -> bool {
        let level = self.segments.level_in(levels, place.segment);
        let is_held = match self.segments.holds(&level, place) {
            Some(is_held) => is_held,
            None => self.is_in_slots(*place),
        };
        // Whether it is held is unpredictable: no branch on it, but in filters with overflowed items.
        if self.overflow.has_overflowed() {
            let has_overflowed = self.segments.get(place.segment).overflowed() > 0;
            return is_held || has_overflowed && self.is_in_overflow(*place);
        }
        is_held
    }

    /// By value: a reference would force callers to spill the place.
    #[cold]
    fn is_in_overflow(&self, place: Place) -> bool {
        self.overflow_copies(&place) > 0
    }

    #[cold]
    fn is_in_slots(&self, place: Place) -> bool {
        self.segments.copies(&place) > 0
    }

    /// Copies of a key.
    pub(crate) fn count_at(&self, place: &Place) -> u64 {
        self.overflow_copies(place).saturating_add(u64::from(self.segments.copies(place)))
    }

    /// Looks many keys up where all segments have one level, with one answer for each; false, and none, if
    /// that is not possible.
    pub(crate) fn contains_in_vectors(&self, hashes: &[KeyHash], present: &mut [bool]) -> bool {
        let lookups = Lookups {
            hashes,
            has_overflowed: self.overflow.has_overflowed(),
            tables: 1 << self.shard.bits,
            contains: |hash| self.contains_hash(hash),
        };
        self.segments.contains_in_vectors(&lookups, present)
    }
}

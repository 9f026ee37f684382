//! Looking keys up.

use super::CuckooFilter;
use crate::hash::{Key, KeyHash};
use crate::kernel::{KnownLevel, LevelGeometry, Place, with_level};
use crate::segments::Lookups;

impl CuckooFilter {
    /// Whether the key was inserted and not removed. Also true for an absent key, with the probability of the
    /// false-positive rate. O(1): two memory accesses.
    #[inline(always)]
    pub fn contains<K: Key>(&self, key: K) -> bool {
        self.contains_hash(key.hash_with(self.hasher))
    }

    /// The number of copies of the key: never fewer than were inserted and not removed, and more
    /// only by the copies of a false positive. O(1), or O(log k) as described for [the type](Self).
    #[inline]
    pub fn count<K: Key>(&self, key: K) -> u64 {
        self.count_at(&self.segments.locate(key.hash_with(self.hasher)))
    }

    /// Whether the key is present.
    #[inline(always)]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        with_level!(self.segments, hash, |level| {
            self.contains_at(level, &self.segments.locate_by(level, hash))
        })
    }

    /// Whether a key is at its place.
    #[inline(always)]
    pub(crate) fn contains_at(&self, level: impl KnownLevel, place: &Place) -> bool {
        let is_held = match self.segments.holds(level, place) {
            Some(is_held) => is_held,
            None => self.is_in_slots(*place),
        };
        // The answer is unpredictable, so there is no branch on it, except in filters with overflowed items.
        if self.overflow.has_overflowed() {
            return is_held || self.is_in_overflow(*place);
        }
        is_held
    }

    /// By value: a reference would force callers to spill the place.
    #[cold]
    fn is_in_overflow(&self, place: Place) -> bool {
        self.segments.get(place.segment).overflowed() > 0 && self.overflow_copies(&place) > 0
    }

    #[cold]
    fn is_in_slots(&self, place: Place) -> bool {
        self.segments.copies(&place) > 0
    }

    /// Copies of a key.
    pub(crate) fn count_at(&self, place: &Place) -> u64 {
        self.overflow_copies(place).saturating_add(u64::from(self.segments.copies(place)))
    }

    /// Looks up many keys whose segments have this level, with one answer for each.
    pub(crate) fn contains_in_level(
        &self,
        level: &LevelGeometry,
        hashes: &[KeyHash],
        present: &mut [bool],
    ) {
        let lookups = Lookups {
            hashes,
            has_overflowed: self.overflow.has_overflowed(),
            tables: 1 << self.shard.bits,
            contains: |hash| self.contains_hash(hash),
        };
        self.segments.contains(level, &lookups, present);
    }
}

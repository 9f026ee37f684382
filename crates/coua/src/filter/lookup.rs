//! Looking keys up.

use super::CuckooFilter;
use crate::hash::{Key, KeyHash};
use crate::kernel::{LevelGeometry, Place, with_encoding, with_level};
use crate::segments::Lookups;

impl CuckooFilter {
    /// Whether the key was inserted and not removed. Also true for an absent key, with the probability of the
    /// false-positive rate. O(1): two memory accesses.
    #[inline(always)]
    pub fn contains<K: Key>(&self, key: K) -> bool {
        let hash = key.hash_with(self.hasher);
        if self.overflow.has_overflowed() {
            return self.contains_or_overflowed(hash);
        }
        // Nothing but the segments lives in a loop of lookups: a fifth fewer instructions.
        let segments = &self.segments;
        with_level!(segments, hash, |level| {
            segments.holds(level, &segments.locate_by(level, hash))
        })
    }

    /// The number of copies of the key: never fewer than were inserted and not removed, and more
    /// only by the copies of a false positive. O(1), or O(log k) as described for [the type](Self).
    #[inline]
    pub fn count<K: Key>(&self, key: K) -> u64 {
        self.count_at(&self.segments.locate(key.hash_with(self.hasher)))
    }

    /// Whether the key is present, in a slot or without one.
    #[inline(never)]
    fn contains_or_overflowed(&self, hash: KeyHash) -> bool {
        with_encoding!(*self.segments.level_for(hash), |level| {
            let place = self.segments.locate_by(level, hash);
            self.segments.holds(level, &place)
                || self.segments.get(place.segment).overflowed() > 0
                    && self.overflow_copies(&place) > 0
        })
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
            contains: |hash| self.contains(hash),
        };
        self.segments.contains(level, &lookups, present);
    }
}

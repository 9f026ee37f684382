//! Looking keys up.

use super::CuckooFilter;
use crate::hash::{Key, KeyHash};
use crate::kernel::{KnownLevel, LevelGeometry, Place, WithEncoding, with_encoding};
use crate::segments::{Comparison, Lookups, Segments};
use crate::simd::{Isa, Kernel};

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

    /// Whether the key is present. Only the common case is inlined, so rare cases add no register pressure.
    #[inline(always)]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        // First, so that nothing but this level lives in a loop of lookups: a tenth fewer instructions.
        if let Some(level) = self.segments.uniform_narrow()
            && !self.overflow.has_overflowed()
        {
            return self.contains_in(&WithEncoding::<false>(*level), hash);
        }
        match self.segments.comparison() {
            Comparison::Avx2(avx2) if !self.overflow.has_overflowed() => {
                avx2.run(LookUpOne { segments: &self.segments, hash })
            }
            _ => self.contains_in_words(hash),
        }
    }

    #[inline(never)]
    fn contains_in_words(&self, hash: KeyHash) -> bool {
        let level = self.segments.level_for(hash);
        with_encoding!(*level, |level| self.contains_in(level, hash))
    }

    /// Whether the key is present, if its segment has this level.
    #[inline(always)]
    fn contains_in(&self, level: impl KnownLevel, hash: KeyHash) -> bool {
        self.contains_at(level, &self.segments.locate_by(level, hash))
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

/// A lookup of one key in buckets that are compared whole.
struct LookUpOne<'a> {
    segments: &'a Segments,
    hash: KeyHash,
}

impl Kernel for LookUpOne<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self, _: I) -> bool {
        let level = &self.segments.known_avx2(self.hash);
        let place = self.segments.locate_by(level, self.hash);
        self.segments.holds(level, &place) == Some(true)
    }
}

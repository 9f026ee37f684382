//! Looking a key up.

use super::CuckooFilter;
use crate::hash::KeyHash;
use crate::kernel::{Encoding, LevelGeometry, Levels, Lookups, Pair, Probe, uniform};

impl CuckooFilter {
    /// Whether the key is there. Only the common case is inlined, so rare cases add no register pressure.
    #[inline(always)]
    pub(super) fn contains_located(&self, hash: KeyHash) -> bool {
        match &self.uniform {
            Some(level) if self.is_plain(level, Encoding::Narrow) => {
                self.contains_in_slots(level.with_encoding(Encoding::Narrow), hash)
            }
            Some(level) if self.is_plain(level, Encoding::Wide) => {
                self.contains_in_wide_slots(level, hash)
            }
            _ => self.contains_carefully(hash),
        }
    }

    /// Whether buckets have this encoding, and no item is overflowed.
    #[inline(always)]
    fn is_plain(&self, level: &LevelGeometry, encoding: Encoding) -> bool {
        level.codec.encoding == encoding && !self.overflow.has_overflowed()
    }

    /// Where all segments have this level, and no item is overflowed.
    #[inline(always)]
    fn contains_in_slots(&self, level: LevelGeometry, hash: KeyHash) -> bool {
        let probe = &self.locate_in(&level, hash);
        let segment = self.table.segment(probe.segment);
        let is_held = Pair::read(&level.codec, segment, probe).contains(segment, probe);
        is_held.unwrap_or_else(|| self.contains_carefully(hash))
    }

    #[inline(never)]
    fn contains_in_wide_slots(&self, level: &LevelGeometry, hash: KeyHash) -> bool {
        self.contains_in_slots(level.with_encoding(Encoding::Wide), hash)
    }

    #[inline(never)]
    fn contains_carefully(&self, hash: KeyHash) -> bool {
        let level = self.level_for(hash);
        let probe = &self.locate_in(level, hash);
        match level.codec.encoding {
            Encoding::Narrow => self.contains_at(&level.with_encoding(Encoding::Narrow), probe),
            Encoding::Wide => self.contains_at(&level.with_encoding(Encoding::Wide), probe),
            Encoding::WideOverlapping => self.contains_at(level, probe),
        }
    }

    /// Whether a key is at its place.
    #[inline(always)]
    pub(crate) fn contains_at(&self, levels: impl Levels, probe: &Probe) -> bool {
        let level = self.level_in(levels, probe.segment);
        let segment = self.table.segment(probe.segment);
        let is_held = match Pair::read(&level.codec, segment, probe).contains(segment, probe) {
            Some(is_held) => is_held,
            None => self.is_in_slots(*probe),
        };
        // Whether it is held is unpredictable: no branch on it, but in filters with overflowed items.
        if self.overflow.has_overflowed() {
            return is_held || segment.has_overflow() && self.is_in_overflow(*probe);
        }
        is_held
    }

    /// By value: a reference would force callers to spill the probe.
    #[cold]
    fn is_in_overflow(&self, probe: Probe) -> bool {
        self.overflow_copies(&probe) > 0
    }

    #[cold]
    fn is_in_slots(&self, probe: Probe) -> bool {
        self.slots_holding(&probe) > 0
    }

    /// Copies of a key.
    pub(crate) fn count_at(&self, probe: &Probe) -> u64 {
        self.overflow_copies(probe).saturating_add(u64::from(self.slots_holding(probe)))
    }

    /// Slots that hold a key.
    pub(crate) fn slots_holding(&self, probe: &Probe) -> u32 {
        let segment = self.table.segment(probe.segment);
        let codec = &self.level_of(probe.segment).codec;
        Pair::read(codec, segment, probe).count(segment, probe)
    }

    /// Copies of a key that are in no slot.
    pub(crate) fn overflow_copies(&self, probe: &Probe) -> u64 {
        if self.table.segment(probe.segment).has_overflow() {
            self.overflow.of(self.representative(probe)).copies()
        } else {
            0
        }
    }

    /// Looks many keys up where all segments have one level, with one answer for each; false, and none, if
    /// that is not possible.
    pub(crate) fn contains_in_uniform_table(
        &self,
        hashes: &[KeyHash],
        present: &mut [bool],
    ) -> bool {
        let lookups = Lookups {
            hashes,
            has_overflowed: self.overflow.has_overflowed(),
            tables: 1 << self.limits.shard_bits,
            contains: |hash| self.contains_located(hash),
        };
        let table = self.uniform_table();
        table.is_some_and(|table| uniform::contains(table, &lookups, present))
    }
}

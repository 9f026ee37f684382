//! Taking a copy of a key away.

use super::{CuckooFilter, OverflowEntry};
use crate::hash::KeyHash;
use crate::kernel::{Encoding, LevelGeometry, Levels, Pair, Probe, Probes, has};

impl CuckooFilter {
    /// Only the common case is inlined, so rare cases add no register pressure.
    #[inline(always)]
    pub(super) fn remove_one(&mut self, hash: KeyHash) -> bool {
        match &self.uniform {
            Some(level) if level.codec.encoding == Encoding::Narrow => {
                self.remove_at_level(level.with_encoding(Encoding::Narrow), hash)
            }
            _ => self.remove_in_any(hash),
        }
    }

    #[inline(never)]
    fn remove_in_any(&mut self, hash: KeyHash) -> bool {
        match &self.uniform {
            Some(level) if level.codec.encoding == Encoding::Wide => {
                self.remove_at_level(level.with_encoding(Encoding::Wide), hash)
            }
            _ => self.remove_at_level(*self.level_for(hash), hash),
        }
    }

    #[inline(always)]
    fn remove_at_level(&mut self, level: LevelGeometry, hash: KeyHash) -> bool {
        let probe = self.locate_in(&level, hash);
        self.remove_at(&level, &probe)
    }

    /// Takes one copy away, from the overflow table first: slots are the cheaper place.
    #[inline(always)]
    pub(crate) fn remove_at(&mut self, levels: impl Levels, probe: &Probe) -> bool {
        if self.table.segment(probe.segment).has_overflow() {
            return self.remove_beside_overflow(*probe);
        }
        let level = self.level_in(levels, probe.segment);
        let segment = &mut self.table.segment_mut(probe.segment);
        let pair = Pair::read(&level.codec, segment, probe);
        let is_taken = match pair.remove(segment, probe) {
            Some(is_taken) => is_taken,
            None => self.remove_any(*probe),
        };
        self.count_removed(u64::from(is_taken));
        is_taken
    }

    /// Takes a copy away whose slot was found by a probe; `None` if the probe is stale, or the copy may be in
    /// the overflow table.
    #[inline(always)]
    pub(crate) fn remove_probed(
        &mut self,
        levels: impl Levels,
        (segment, number): (u32, usize),
        probes: &Probes,
    ) -> Option<bool> {
        let level = self.level_in(levels, segment);
        let segment = &mut self.table.segment_mut(segment);
        if segment.has_overflow() {
            return None;
        }
        // Removals bring no key back.
        if has(probes.absent, number) {
            return Some(false);
        }
        if !probes.is_removable(number, segment) {
            return None;
        }
        probes.change(number, &level.codec, segment);
        segment.count_cleared();
        self.count_removed(1);
        Some(true)
    }

    /// A mapped file may have said that fewer items are stored.
    #[inline(always)]
    fn count_removed(&mut self, items: u64) {
        self.stored = self.stored.saturating_sub(items);
    }

    #[cold]
    fn remove_any(&mut self, probe: Probe) -> bool {
        let codec = self.level_of(probe.segment).codec;
        let segment = &mut self.table.segment_mut(probe.segment);
        Pair::read(&codec, segment, &probe).remove_any(segment, &probe)
    }

    #[cold]
    fn remove_beside_overflow(&mut self, probe: Probe) -> bool {
        let codec = self.level_of(probe.segment).codec;
        let segment = self.table.segment(probe.segment);
        let is_in_slot = Pair::read(&codec, segment, &probe).contains(segment, &probe);
        // Extra copies always have one in a slot.
        if is_in_slot == Some(false) && !self.overflow.has_overflowed() {
            return false;
        }
        let hash = self.representative(&probe);
        // Most keys have no entry: they are looked up once.
        let held = self.overflow.of(hash);
        if held.extra > 0 {
            return self.overflow.take(hash, OverflowEntry::ONE_EXTRA);
        }
        let is_taken = if held.overflowed > 0 {
            self.overflow.take(hash, OverflowEntry::ONE_OVERFLOWED)
        } else {
            self.remove_any(probe)
        };
        self.count_removed(u64::from(is_taken));
        is_taken
    }
}

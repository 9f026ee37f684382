//! Putting items back that are counted already: after a split, or when the filter is rebuilt.

use super::prefetch::Prefetcher;
use super::{CuckooFilter, EvictionChain, OverflowEntry};
use crate::hash::KeyHash;
use crate::kernel::{AnyLevel, Levels, Pair, Probe, Task, dispatch};

/// Overflowed items whose eviction may fail before the others are left in the overflow table.
const MOST_UNPLACED: u32 = 64;

impl CuckooFilter {
    /// Overflowed items that a filter takes before inserts are refused.
    pub(crate) fn overflow_limit(&self) -> u64 {
        16 + self.slots() / 64 + self.limits.spare_overflow
    }

    /// Puts an item into a free slot of the emptier of its buckets; false if both are full.
    #[inline(always)]
    pub(super) fn place(&mut self, levels: impl Levels, probe: &Probe) -> bool {
        let level = self.level_in(levels, probe.segment);
        let segment = &mut self.table.segment_mut(probe.segment);
        Pair::read(&level.codec, segment, probe).insert(segment, probe)
    }

    /// Puts an item into a slot.
    #[inline(always)]
    pub(super) fn reinsert(&mut self, levels: impl Levels, probe: &Probe) {
        if self.place(levels, probe) {
            return;
        }
        let chain = EvictionChain::new(probe);
        // Where many evictions have failed, one more would take all its steps and fail too.
        let is_hopeless = self.table.segment(probe.segment).is_overfull()
            && self.overflow.overflowed() >= self.overflow_limit();
        if is_hopeless { self.overflow_chain(chain) } else { self.finish_chain(chain) }
    }

    /// Puts items into slots.
    pub(super) fn reinsert_batch(&mut self, hashes: &[KeyHash]) {
        let uniform = self.uniform;
        dispatch(Reinsert { filter: self, hashes }, uniform);
    }

    /// Puts the overflowed copies of keys under `prefix` into slots, until too many evictions fail: a
    /// forged snapshot may have millions of them, and each would take all its steps.
    pub(super) fn reinsert_overflowed(&mut self, prefix: u64, depth: u32) {
        let overflowed: Vec<_> =
            self.overflow.under(prefix, depth).filter(|(_, entry)| entry.overflowed > 0).collect();
        let mut unplaced = 0;
        for (hash, entry) in overflowed {
            for _ in 0..entry.overflowed {
                if unplaced == MOST_UNPLACED {
                    return;
                }
                let before = self.overflow.overflowed();
                self.overflow.take(hash, OverflowEntry::ONE_OVERFLOWED);
                self.reinsert(AnyLevel, &self.locate(hash));
                unplaced += u32::from(self.overflow.overflowed() == before);
            }
        }
    }
}

/// A batch of items to be put into slots.
struct Reinsert<'a> {
    filter: &'a mut CuckooFilter,
    hashes: &'a [KeyHash],
}

impl Task for Reinsert<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, levels: impl Levels) {
        let mut prefetcher = Prefetcher::new(self.filter, levels, self.hashes, 0);
        while let Some(probe) = prefetcher.next(self.filter, levels) {
            self.filter.reinsert(levels, &probe);
        }
    }
}

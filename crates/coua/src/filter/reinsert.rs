//! Reinserts items that are already counted, after a split or during a rebuild, and handles those that find no slot.

use super::{CuckooFilter, OverflowEntry, by_level};
use crate::error::OutOfMemory;
use crate::hash::KeyHash;
use crate::kernel::{CandidateMove, KnownLevel, Place, with_encoding};
use crate::segments::{EvictionChain, Prefetcher, Split, Step};
use crate::simd::with_bit_instructions;

/// After this many failed evictions, the remaining overflowed items stay in the overflow table.
const MOST_UNPLACED: u32 = 64;

impl CuckooFilter {
    /// Runs an eviction chain to its end. An item that finds no slot goes to the overflow table.
    pub(crate) fn finish_chain(&mut self, chain: EvictionChain) {
        if let Some(failed) = self.segments.run_chain(chain, self.policy.max_evictions) {
            self.overflow_chain(failed);
        }
    }

    /// Moves one item of an eviction chain. Returns whether the chain continues.
    #[inline(always)]
    pub(crate) fn step_chain(
        &mut self,
        level: impl KnownLevel,
        chain: &mut EvictionChain,
        candidate: &CandidateMove,
    ) -> bool {
        match self.segments.step(level, chain, self.policy.max_evictions, candidate) {
            Step::Continues => return true,
            Step::Placed => {}
            Step::Failed => self.overflow_chain(*chain),
        }
        false
    }

    /// Puts a chain's item into the overflow table.
    #[cold]
    pub(crate) fn overflow_chain(&mut self, chain: EvictionChain) {
        let EvictionChain { segment, bucket, value, .. } = chain;
        self.segments.get_mut(segment).mark_overfull();
        // In a forged table it may be an item that no hash leads to. The overflow table must not hold such items, so it
        // becomes a copy of the item that its representative leads to.
        let hash = self.segments.representative_in(segment, bucket, value);
        self.add_overflow(hash, OverflowEntry::ONE_OVERFLOWED);
    }

    /// Splits a segment. Invalidates places that were located before.
    pub(super) fn split(&mut self, index: u32) -> Result<(), OutOfMemory> {
        let Split { prefix, depth, halves, unplaced } = self.segments.split(index)?;
        for half in halves {
            self.count_overflow(half);
        }
        for place in unplaced {
            self.reinsert(&place);
        }
        self.reinsert_overflowed(prefix, depth);
        for half in halves {
            self.count_overflow(half);
        }
        Ok(())
    }

    /// Puts an item into a slot.
    pub(super) fn reinsert(&mut self, place: &Place) {
        if !self.segments.place(place) {
            self.reinsert_blocked(place);
        }
    }

    /// Finds a slot for an item both of whose buckets are full.
    #[inline(never)]
    fn reinsert_blocked(&mut self, place: &Place) {
        let chain = EvictionChain::new(place);
        let segment = self.segments.get(place.segment);
        // If many evictions have failed, one more would take all its steps and fail too.
        let is_hopeless =
            segment.is_overfull() && segment.overflowed() >= self.thresholds.most_overflowed;
        if is_hopeless { self.overflow_chain(chain) } else { self.finish_chain(chain) }
    }

    /// Puts items into slots.
    pub(super) fn reinsert_batch(&mut self, hashes: &[KeyHash]) {
        by_level(self, hashes, &mut [], |filter, level, hashes, _: &mut [()]| {
            with_bit_instructions(
                #[inline(always)]
                || with_encoding!(*level, |level| filter.reinsert_in(level, hashes)),
            );
        });
    }

    #[inline(always)]
    fn reinsert_in(&mut self, level: impl KnownLevel, hashes: &[KeyHash]) {
        let mut prefetcher = Prefetcher::new(&self.segments, level, hashes, 0);
        while let Some(place) = prefetcher.next(&self.segments) {
            if !self.segments.place_in(level, &place) {
                self.reinsert_blocked(&place);
            }
        }
    }

    /// Puts the overflowed copies of keys under `prefix` into slots, until too many evictions fail: a
    /// forged snapshot may have millions of copies, and each would take all its steps.
    pub(super) fn reinsert_overflowed(&mut self, prefix: u64, depth: u32) {
        let overflowed: Vec<_> = self
            .overflow
            .tree_under(prefix, depth)
            .filter(|(_, entry)| entry.overflowed > 0)
            .collect();
        let mut unplaced = 0;
        for (hash, entry) in overflowed {
            for _ in 0..entry.overflowed {
                if unplaced == MOST_UNPLACED {
                    return;
                }
                let before = self.overflow.overflowed();
                let place = self.segments.locate(hash);
                self.take_overflowed(place.segment, hash);
                self.reinsert(&place);
                unplaced += u32::from(self.overflow.overflowed() == before);
            }
        }
    }
}

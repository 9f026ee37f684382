//! Eviction: items move to their alternate buckets until one finds a free slot.
//!
//! An eviction chain is a small state machine, so that a batch can keep many of them active and none waits
//! for memory. Each step looks at a full bucket and at the other buckets of all its items. If one of these
//! has a free slot, that item moves there, and the chain's item takes its place. If not, the chain's item
//! evicts a victim, which then looks for a slot in its other bucket. A chain has its segment to itself while
//! it is active, because its item is in no bucket. Victims are chosen by the item's value and the step
//! number, so the same inserts always give the same bytes.
//!
//! A chain never fails its caller: after `max_evictions` steps its item becomes *overflowed* and is kept,
//! exactly, in the overflow table. What that means for later inserts is in [`grow`](super::grow).

use std::ops::ControlFlow;

use super::{CuckooFilter, OverflowEntry};
use crate::kernel::{CandidateMove, Levels, Probe, Task, dispatch};

/// An item on its way to `bucket`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EvictionChain {
    pub(crate) segment: u32,
    steps: u32,
    /// The full bucket that it is at.
    pub(crate) bucket: u64,
    value: u64,
}

impl EvictionChain {
    /// A chain for an item both of whose buckets are full.
    pub(crate) fn new(probe: &Probe) -> Self {
        Self { segment: probe.segment, steps: 0, bucket: probe.primary, value: probe.value }
    }

    /// The position of the item that is evicted where none can move, in a bucket of so many slots: a mix of
    /// the chain's item and of how often this was tried.
    #[inline(always)]
    pub(crate) fn victim(&self, slots: u32) -> u32 {
        let step = u64::from(self.steps) + 1;
        let mixed = (self.value + step).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        mixed as u32 & (slots - 1)
    }
}

impl CuckooFilter {
    /// Runs a chain to its end.
    #[inline(never)]
    pub(crate) fn finish_chain(&mut self, chain: EvictionChain) {
        let level = *self.level_of(chain.segment);
        dispatch(Finish { filter: self, chain }, Some(level));
    }

    /// The next move of a chain.
    #[inline(always)]
    pub(crate) fn next_move(&self, levels: impl Levels, chain: &EvictionChain) -> CandidateMove {
        let level = self.level_in(levels, chain.segment);
        let victim = chain.victim(level.codec.slots);
        level.next_move(self.table.segment(chain.segment), chain.bucket, victim)
    }

    /// Moves one item; whether the chain goes on.
    #[inline(always)]
    pub(crate) fn step(
        &mut self,
        levels: impl Levels,
        chain: &mut EvictionChain,
        candidate: CandidateMove,
    ) -> ControlFlow<()> {
        let level = self.level_in(levels, chain.segment);
        if chain.steps == self.policy.max_evictions {
            self.overflow_chain(*chain);
            return ControlFlow::Break(());
        }
        chain.steps += 1;
        let segment = &mut self.table.segment_mut(chain.segment);
        if candidate.has_free_slot {
            level.move_to_free_slot(segment, chain.bucket, chain.value, &candidate);
            return ControlFlow::Break(());
        }
        level.exchange(segment, chain.bucket, chain.value, &candidate);
        (chain.bucket, chain.value) = (candidate.bucket, candidate.value);
        ControlFlow::Continue(())
    }

    /// Puts a chain's item into the overflow table.
    #[cold]
    pub(super) fn overflow_chain(&mut self, chain: EvictionChain) {
        let EvictionChain { segment, bucket, value, .. } = chain;
        self.table.segment_mut(segment).mark_overfull();
        // In a forged table it may be an item that no hash leads to. The overflow table has none of those: it
        // becomes a copy of the item that its hash leads to.
        let prefix = self.table.segment(segment).prefix();
        let hash = self.level_of(segment).representative(prefix, bucket, value);
        self.note_overflow(hash, OverflowEntry::ONE_OVERFLOWED);
    }

    /// Adds copies of a key to the overflow table.
    pub(super) fn note_overflow(&mut self, hash: crate::KeyHash, entry: OverflowEntry) {
        let probe = self.locate(hash);
        self.overflow.add(self.representative(&probe), entry);
        self.table.segment_mut(probe.segment).mark_overflow();
    }
}

/// A chain that runs to its end. It touches no other segment than its own.
struct Finish<'a> {
    filter: &'a mut CuckooFilter,
    chain: EvictionChain,
}

impl Task for Finish<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, levels: impl Levels) {
        let Self { filter, mut chain } = self;
        loop {
            let candidate = filter.next_move(levels, &chain);
            if filter.step(levels, &mut chain, candidate).is_break() {
                break;
            }
        }
    }
}

//! Eviction: items move to their alternate buckets until one finds a free slot.
//!
//! An eviction chain is a small state machine, so that a batch can keep many of them active and none waits
//! for memory. Each step reads a full bucket and the other buckets of all its items. If one of these
//! has a free slot, that item moves there, and the chain's item takes its place. If not, the chain's item
//! evicts a victim, which then looks for a slot in its other bucket. A chain has its segment to itself while
//! it is active, because its item is in no bucket. Victims are chosen by the item's value and the step
//! number, so the same inserts always give the same bytes.
//!
//! A chain that has taken all the steps that it may take fails. It then holds an item without a slot, which may be
//! another one than at first: the caller decides where that goes.

use super::Segments;
use crate::kernel::{CandidateMove, GroupMoves, KnownLevel, Place, SLOTS, with_encoding};
use crate::simd::with_bit_instructions;

/// An item on its way to `bucket`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EvictionChain {
    pub(crate) segment: u32,
    steps: u32,
    /// The full bucket that it is at.
    pub(crate) bucket: u64,
    pub(crate) value: u64,
}

impl EvictionChain {
    /// A chain for an item both of whose buckets are full.
    pub(crate) fn new(place: &Place) -> Self {
        Self { segment: place.segment, steps: 0, bucket: place.primary, value: place.value }
    }

    /// The position of the item to evict if no item can move: a mix of the chain's item and its number of steps.
    #[inline(always)]
    pub(crate) fn victim(&self) -> u32 {
        let step = u64::from(self.steps) + 1;
        let mixed = (self.value + step).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        mixed as u32 & (SLOTS - 1)
    }
}

/// The result of a chain's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Continues,
    /// All items have a slot.
    Placed,
    /// The chain has taken all its steps, and its item has no slot.
    Failed,
}

impl Segments {
    /// Runs a chain to its end, which it reaches after `most` steps. Returns it if its item has no slot.
    #[inline(never)]
    pub(crate) fn run_chain(&mut self, chain: EvictionChain, most: u32) -> Option<EvictionChain> {
        let level = *self.level_of(chain.segment);
        with_bit_instructions(
            #[inline(always)]
            || with_encoding!(level, |level| self.step_to_end(level, chain, most)),
        )
    }

    #[inline(always)]
    fn step_to_end(
        &mut self,
        level: impl KnownLevel,
        mut chain: EvictionChain,
        most: u32,
    ) -> Option<EvictionChain> {
        loop {
            let candidate = self.next_move(level, &chain);
            match self.step(level, &mut chain, most, &candidate) {
                Step::Continues => {}
                Step::Placed => return None,
                Step::Failed => return Some(chain),
            }
        }
    }

    /// The next move of a chain.
    #[inline(always)]
    pub(crate) fn next_move(&self, level: impl KnownLevel, chain: &EvictionChain) -> CandidateMove {
        let level = level.geometry();
        let segment = self.table.segment(chain.segment);
        level.on_words().next_move(segment, chain.bucket, chain.victim())
    }

    /// Prefetches all buckets that the items of a chain's bucket could move to; `moves` are those that were found.
    #[inline(always)]
    pub(crate) fn prefetch_moves(
        &self,
        level: impl KnownLevel,
        chain: &EvictionChain,
        moves: Option<(&GroupMoves, usize)>,
    ) {
        let level = level.geometry();
        let segment = self.table.segment(chain.segment);
        match moves {
            Some((moves, number)) => moves.prefetch(&level.codec, segment, number),
            None => level.on_words().prefetch_moves(segment, chain.bucket),
        }
    }

    /// Moves one item, unless the chain has taken `most` steps.
    #[inline(always)]
    pub(crate) fn step(
        &mut self,
        level: impl KnownLevel,
        chain: &mut EvictionChain,
        most: u32,
        candidate: &CandidateMove,
    ) -> Step {
        let level = level.geometry().on_words();
        if chain.steps == most {
            return Step::Failed;
        }
        chain.steps += 1;
        let segment = &mut self.table.segment_mut(chain.segment);
        if candidate.has_free_slot {
            level.move_to_free_slot(segment, chain.bucket, chain.value, candidate);
            return Step::Placed;
        }
        level.exchange(segment, chain.bucket, chain.value, candidate);
        (chain.bucket, chain.value) = (candidate.bucket, candidate.value);
        Step::Continues
    }
}

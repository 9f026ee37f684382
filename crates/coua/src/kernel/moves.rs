//! Candidate moves: where the items of a full bucket can go.

use std::hint::select_unpredictable;

use super::level::{ALTERNATE, SLOTS, SlotCodec};
use super::vectors::LevelVectors;
use crate::simd::{Isa, Words};
use crate::table::{Segment, SegmentMut};

/// Eviction chains that step together.
pub(crate) const GROUP: usize = 8;
/// Candidate moves of a full bucket: each item can go to its other bucket.
const MOVES: usize = SLOTS as usize;

/// An item of a full bucket, and where it can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CandidateMove {
    /// The item's position in the full bucket.
    pub(crate) position: u32,
    /// The target bucket, and its value there.
    pub(crate) bucket: u64,
    pub(crate) value: u64,
    /// Whether that bucket has a free slot; if not, one of its items is evicted in turn.
    pub(crate) has_free_slot: bool,
}

/// The candidate moves of a group of eviction chains, best first; field by field as vectors write them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GroupMoves {
    pub(crate) segment: [u64; GROUP],
    /// The full buckets.
    pub(crate) from: [u64; GROUP],
    pub(crate) bucket: [[u64; GROUP]; MOVES],
    pub(crate) value: [[u64; GROUP]; MOVES],
    /// The first move of each chain to a free slot, if it has one.
    pub(crate) first: [u64; GROUP],
    /// A bit for each chain that has one.
    pub(crate) free: u8,
}

impl GroupMoves {
    /// The next move of one chain of the group, which evicts the item at `victim` if none can move.
    #[inline(always)]
    pub(crate) fn next(&self, number: usize, victim: u32) -> CandidateMove {
        let has_free_slot = self.free >> number & 1 == 1;
        let first = self.first[number] as usize;
        let position = select_unpredictable(has_free_slot, first, victim as usize) % MOVES;
        CandidateMove {
            position: position as u32,
            bucket: self.bucket[position][number],
            value: self.value[position][number],
            has_free_slot,
        }
    }

    /// Prefetches all buckets that one chain's items could move to.
    #[inline(always)]
    pub(crate) fn prefetch(&self, codec: &SlotCodec, segment: &Segment, number: usize) {
        for buckets in &self.bucket {
            codec.prefetch(segment, buckets[number]);
        }
    }
}

impl LevelVectors<Words> {
    /// The next move from a full bucket: of the first item for which another slot is free, or else of the item
    /// at `victim` to its other bucket.
    #[inline(always)]
    pub(crate) fn next_move(&self, segment: &Segment, number: u64, victim: u32) -> CandidateMove {
        let full = self.bucket(segment, number);
        let (mut free, mut evicting) = ((0, 0, 0), (victim, 0, 0));
        let mut has_free_slot = false;
        // Which item can move is unpredictable: all are tested, the first one last.
        for position in (0..SLOTS).rev() {
            let value = self.stored_at(segment, &full, position);
            let moved = (position, self.other_bucket(number, value), value ^ ALTERNATE);
            let is_free = self.has_free_slot(segment, moved.1);
            free = select_unpredictable(is_free, moved, free);
            has_free_slot |= is_free;
            evicting = select_unpredictable(position == victim, moved, evicting);
        }
        let (position, bucket, value) = select_unpredictable(has_free_slot, free, evicting);
        CandidateMove { position, bucket, value, has_free_slot }
    }

    #[inline(always)]
    fn has_free_slot(&self, segment: &Segment, bucket: u64) -> bool {
        self.free_slots(&self.bucket(segment, bucket)).number() != 0
    }

    /// Prefetches all buckets that the items of a full bucket could move to.
    #[inline(always)]
    pub(crate) fn prefetch_moves(&self, segment: &Segment, number: u64) {
        let full = self.bucket(segment, number);
        for position in 0..SLOTS {
            let value = self.stored_at(segment, &full, position);
            self.codec().prefetch(segment, self.other_bucket(number, value));
        }
    }

    /// Moves an item to a free slot of its other bucket, and puts `value` into the slot in `from` that it leaves.
    #[inline(always)]
    pub(crate) fn move_to_free_slot(
        &self,
        segment: &mut SegmentMut<'_>,
        from: u64,
        value: u64,
        candidate: &CandidateMove,
    ) {
        let source: &Segment = segment;
        let target = self.bucket(source, candidate.bucket);
        let free = self.free_slots(&target);
        if free.number() != 0 {
            let (position, arriving) = (self.first_position(free), Words.splat(candidate.value));
            let change = self.change(&target, position, arriving);
            self.write(segment, &change);
            self.exchange(segment, from, value, candidate);
            segment.count_filled();
        }
    }

    /// Puts `value` into the slot in `from` whose item moves.
    #[inline(always)]
    pub(crate) fn exchange(
        &self,
        segment: &mut SegmentMut<'_>,
        from: u64,
        value: u64,
        candidate: &CandidateMove,
    ) {
        let source: &Segment = segment;
        let (bucket, position) =
            (self.bucket(source, from), Words.splat(candidate.position.into()));
        let stored = self.stored(source, &bucket, position);
        let change = self.change(&bucket, position, stored ^ Words.splat(value));
        self.write(segment, &change);
    }
}

//! Candidate moves: where the items of a full bucket can go.

use std::hint::select_unpredictable;

use super::codec::SlotCodec;
use super::level::ALTERNATE;
use super::vectors::LevelVectors;
use crate::simd::{Isa, Words};
use crate::table::{Segment, SegmentMut};

/// Eviction chains that step together.
pub(crate) const GROUP: usize = 8;
/// The most candidate moves of a bucket, which has at most 8 slots.
const MOST_MOVES: usize = 8;

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
    pub(crate) bucket: [[u64; GROUP]; MOST_MOVES],
    pub(crate) value: [[u64; GROUP]; MOST_MOVES],
    /// The first move of each chain to a free slot, if it has one.
    pub(crate) first: [u64; GROUP],
    /// A bit for each chain that has one.
    pub(crate) free: u8,
}

impl GroupMoves {
    /// The next move of one chain of the group, which evicts the item at `victim` if none can move.
    #[inline(always)]
    pub(crate) fn next(&self, codec: &SlotCodec, number: usize, victim: u32) -> CandidateMove {
        let has_free_slot = self.free >> number & 1 == 1;
        let per_item = codec.candidate_moves() / codec.slots as usize;
        // The last of a victim's moves is the one to its other bucket.
        let evicting = (victim as usize + 1) * per_item - 1;
        let number_of_move =
            select_unpredictable(has_free_slot, self.first[number] as usize, evicting) % MOST_MOVES;
        CandidateMove {
            position: (number_of_move / per_item) as u32,
            bucket: self.bucket[number_of_move][number],
            value: self.value[number_of_move][number],
            has_free_slot,
        }
    }

    /// Prefetches all buckets that one chain's items could move to.
    #[inline(always)]
    pub(crate) fn prefetch(&self, codec: &SlotCodec, segment: &Segment, number: usize) {
        for buckets in &self.bucket[..codec.candidate_moves()] {
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
        // Which item can move is unpredictable: all are looked at, the first one last.
        for position in (0..self.codec().slots).rev() {
            let (own, value) = self.item_at(segment, number, &full, position);
            let moved = (position, self.other_bucket(own, value), value ^ ALTERNATE);
            let is_free = self.has_free_slot(segment, moved.1);
            free = select_unpredictable(is_free, moved, free);
            has_free_slot |= is_free;
            if self.codec().overlap() {
                let is_free = self.has_free_slot(segment, own);
                free = select_unpredictable(is_free, (position, own, value), free);
                has_free_slot |= is_free;
            }
            evicting = select_unpredictable(position == victim, moved, evicting);
        }
        let (position, bucket, value) = select_unpredictable(has_free_slot, free, evicting);
        CandidateMove { position, bucket, value, has_free_slot }
    }

    #[inline(always)]
    fn has_free_slot(&self, segment: &Segment, bucket: u64) -> bool {
        self.free_slots(segment, &self.bucket(segment, bucket)).number() != 0
    }

    /// Prefetches all buckets that the items of a full bucket could move to.
    #[inline(always)]
    pub(crate) fn prefetch_moves(&self, segment: &Segment, number: u64) {
        let full = self.bucket(segment, number);
        for position in 0..self.codec().slots {
            let (own, value) = self.item_at(segment, number, &full, position);
            self.codec().prefetch(segment, self.other_bucket(own, value));
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
        let free = self.free_slots(source, &target);
        if free.number() != 0 {
            let position = self.first_position(free);
            let arriving = self.at_position(Words.splat(candidate.value), position);
            let change = self.change(source, &target, position, arriving);
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
        let arriving = self.at_position(Words.splat(value), position);
        let change = self.change(source, &bucket, position, stored ^ arriving);
        self.write(segment, &change);
    }
}

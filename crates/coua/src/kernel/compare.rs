//! Which positions of a bucket hold a value, or none: all slots at once.
//!
//! XOR with the repeated value, then find the zero lanes (Warren, Hacker's Delight, 6-1, in its exact
//! form).

use super::codec::{Encoding, SlotCodec};
use super::slots::Bucket;
use crate::table::{Segment, SegmentMut};

/// Some of a bucket's positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(u64);

impl Marks {
    pub(crate) fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub(crate) fn any(self) -> bool {
        self.0 != 0
    }
}

impl SlotCodec {
    /// The positions of a bucket that hold `value`.
    #[inline]
    pub(crate) fn matches(&self, segment: &Segment, bucket: &Bucket, value: u64) -> Marks {
        let mut left = self.candidates(segment, bucket, value).0;
        let mut fit = 0;
        while left != 0 {
            let lane = left & left.wrapping_neg();
            let position = self.position_of(Marks(lane));
            fit |= if self.confirms(segment, bucket, position, value) { lane } else { 0 };
            left ^= lane;
        }
        Marks(fit)
    }

    /// The positions whose lanes are those of `value`.
    #[inline(always)]
    pub(crate) fn candidates(&self, segment: &Segment, bucket: &Bucket, value: u64) -> Marks {
        if self.encoding == Encoding::WideOverlapping {
            return self.marked(|position| {
                self.stored(segment, bucket, position) == self.at_position(value, position)
            });
        }
        Marks(self.zero_lanes(bucket.lanes() ^ self.repeated(value)))
    }

    /// Whether the rest of a candidate is that of `value` too.
    #[inline(always)]
    pub(crate) fn confirms(
        &self,
        segment: &Segment,
        bucket: &Bucket,
        position: u32,
        value: u64,
    ) -> bool {
        self.encoding != Encoding::Wide
            || self.rest(segment, bucket, position) == value & !self.lane_mask
    }

    /// The free positions of a bucket.
    #[inline(always)]
    pub(crate) fn free_slots(&self, segment: &Segment, bucket: &Bucket) -> Marks {
        if self.encoding == Encoding::WideOverlapping {
            return self.marked(|position| self.stored(segment, bucket, position) == 0);
        }
        Marks(self.zero_lanes(bucket.lanes()))
    }

    /// Whether `left` marks more positions than `right`. Old processors, and Arm, have no short instruction
    /// that counts bits: the last lane of the product is the sum of all lanes.
    #[inline(always)]
    pub(crate) fn has_more(&self, left: Marks, right: Marks) -> bool {
        if self.encoding == Encoding::WideOverlapping {
            return left.count() > right.count();
        }
        let first_bits = |marks: Marks| marks.0 >> (self.lane_bits - 1);
        let sum = |marks| first_bits(marks).wrapping_mul(self.ones) & self.last_lane;
        sum(left) > sum(right)
    }

    /// Whether no value of a disjoint bucket is 0 in the bits `never_zero` of its lane alone.
    #[inline(always)]
    pub(crate) fn is_sound(&self, segment: &Segment, bucket: &Bucket, never_zero: u64) -> bool {
        let free_slots = self.zero_lanes(bucket.lanes());
        let mut left = if self.encoding == Encoding::Wide { free_slots } else { 0 };
        let mut rests = 0;
        while left != 0 {
            rests |= self.rest(segment, bucket, self.position_of(Marks(left)));
            left &= left - 1;
        }
        rests == 0 && self.zero_lanes(bucket.lanes() & (self.ones * never_zero)) == free_slots
    }

    #[inline(always)]
    fn marked(&self, is_marked: impl Fn(u32) -> bool) -> Marks {
        Marks((0..self.slots).fold(0, |marks, position| {
            marks | u64::from(is_marked(position)) << (position * self.lane_bits)
        }))
    }

    /// The lowest marked position.
    #[inline(always)]
    pub(crate) fn first(&self, marks: Marks) -> Option<u32> {
        marks.any().then(|| self.position_of(marks))
    }

    #[inline(always)]
    fn position_of(&self, marks: Marks) -> u32 {
        (marks.0.trailing_zeros() * self.lane_of_bit) >> 16
    }

    /// `value` in every lane, as each position stores it; of a wide bucket, the bits that a lane has.
    #[inline(always)]
    pub(super) fn repeated(&self, value: u64) -> u64 {
        let lane = if self.encoding == Encoding::Narrow { value } else { value & self.lane_mask };
        lane.wrapping_mul(self.ones) | self.positions
    }

    /// Frees the lowest marked slot of a narrow bucket that was just read; not without a mark.
    #[inline(always)]
    pub(super) fn clear_first(&self, segment: &mut SegmentMut<'_>, bucket: &Bucket, marks: Marks) {
        // All bits of the lane, of which the mark is the highest.
        let highest = marks.0 & marks.0.wrapping_neg();
        let lane = (highest << 1).wrapping_sub(highest >> (self.lane_bits - 1));
        segment.set_word(bucket.bit, bucket.word & !(lane << (bucket.bit & 7)));
    }

    /// Marks the lowest lane that is zero, if there is one. Higher marks may be wrong: a carry leaves lanes that are
    /// zero.
    #[inline(always)]
    pub(super) fn lowest_zero_lane(&self, word: u64) -> Marks {
        Marks(word.wrapping_sub(self.ones) & !word & self.high)
    }

    /// High bit of every lane that is zero. No carry leaves a lane, so the answer is exact.
    #[inline(always)]
    fn zero_lanes(&self, word: u64) -> u64 {
        !(((word & self.low) + self.low) | word) & self.high
    }
}

//! [`compare`](crate::kernel::compare) on vectors: which positions of a vector of buckets hold a value, or none.

use super::{Buckets, LevelVectors};
use crate::kernel::codec::{Encoding, SlotCodec};
use crate::kernel::place::ALTERNATE;
use crate::kernel::vector::{Isa, Vector};

/// The lookup results of a vector of keys, a bit for each.
pub(super) struct LookupResult<V: Vector> {
    pub(super) found: u8,
    /// Keys whose first candidate is another key; they may have more.
    pub(super) doubtful: u8,
    /// Keys without a candidate in the primary bucket.
    pub(super) in_alternate: V::Mask,
    /// The candidates in the alternate bucket for those, in the primary bucket for the others.
    pub(super) marks: V,
}

impl<I: Isa> LevelVectors<I> {
    /// For which keys a lane of one of their buckets is equal, whichever lane that is.
    #[inline(always)]
    pub(super) fn any_candidate(
        &self,
        primary: &Buckets<I::Vector>,
        alternate: &Buckets<I::Vector>,
        value: I::Vector,
    ) -> u8 {
        let &SlotCodec { ones, high, .. } = self.codec();
        let wanted = self.repeated(value);
        let here = primary.lanes() ^ wanted;
        let there = alternate.lanes() ^ (wanted | self.splat(ones * ALTERNATE));
        // A carry only leaves lanes that are zero, so it cannot make the lowest zero lane wrong.
        let ones = self.splat(ones);
        let zero = (here - ones).and_not(here) | (there - ones).and_not(there);
        let candidates = zero & self.splat(high);
        !I::Vector::bits(candidates.is_zero()) & I::Vector::ALL
    }

    /// Looks keys up in their buckets.
    #[inline(always)]
    pub(super) fn lookup(
        &self,
        primary: &Buckets<I::Vector>,
        alternate: &Buckets<I::Vector>,
        value: I::Vector,
    ) -> LookupResult<I::Vector> {
        let wanted = self.repeated(value);
        let here = self.zero_lanes(primary.lanes() ^ wanted);
        let other = wanted | self.splat(self.codec().ones * ALTERNATE);
        let there = self.zero_lanes(alternate.lanes() ^ other);
        let in_alternate = here.is_zero();
        let marks = I::Vector::select(in_alternate, there, here);
        let found = !I::Vector::bits(marks.is_zero()) & I::Vector::ALL;
        if self.codec().encoding == Encoding::Narrow || found == 0 {
            return LookupResult { found, doubtful: 0, in_alternate, marks };
        }
        let bucket = Buckets::select(in_alternate, alternate, primary);
        let value = I::Vector::select(in_alternate, value | self.splat(ALTERNATE), value);
        // For keys without a mark, some rest of their bucket is read.
        let rest = self.rests(&bucket, self.first_position(marks));
        let equal = I::Vector::bits(rest.equals(value >> self.codec().lane_bits));
        LookupResult { found: found & equal, doubtful: found & !equal, in_alternate, marks }
    }

    /// Each value in every lane, as each position stores it.
    #[inline(always)]
    fn repeated(&self, value: I::Vector) -> I::Vector {
        let &SlotCodec { ones, positions, lane_mask, .. } = self.codec();
        let narrow = self.codec().encoding == Encoding::Narrow;
        let lane = if narrow { value } else { value & self.splat(lane_mask) };
        lane.multiply(self.splat(ones)) | self.splat(positions)
    }

    /// The high bit of every lane that is zero.
    #[inline(always)]
    fn zero_lanes(&self, word: I::Vector) -> I::Vector {
        let &SlotCodec { low, high, .. } = self.codec();
        let low = self.splat(low);
        self.splat(high).and_not(((word & low) + low) | word)
    }

    /// Marks the free slots.
    #[inline(always)]
    pub(super) fn free_slots(&self, bucket: &Buckets<I::Vector>) -> I::Vector {
        self.zero_lanes(bucket.lanes())
    }

    /// How many lanes are marked.
    #[inline(always)]
    fn count(&self, marks: I::Vector) -> I::Vector {
        let &SlotCodec { lane_bits, slots, .. } = self.codec();
        self.sum(marks) >> ((slots - 1) * lane_bits)
    }

    /// How many lanes are marked, in the place of the last lane.
    #[inline(always)]
    pub(super) fn sum(&self, marks: I::Vector) -> I::Vector {
        let &SlotCodec { ones, lane_bits, last_lane, .. } = self.codec();
        let first_bits = marks >> (lane_bits - 1);
        first_bits.multiply(self.splat(ones)) & self.splat(last_lane)
    }

    /// The position of the first mark; the last position where there is none.
    #[inline(always)]
    pub(super) fn first_position(&self, marks: I::Vector) -> I::Vector {
        let &SlotCodec { high, lane_bits, slots, .. } = self.codec();
        let last = 1 << (slots * lane_bits - 1);
        let below = (marks - self.splat(1)).and_not(marks);
        self.count(below & self.splat(high ^ last))
    }
}

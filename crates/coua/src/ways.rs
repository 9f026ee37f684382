//! Ways out of a full bucket: to the other buckets of its items.

use std::hint::select_unpredictable;

use crate::bucket::Lanes;
use crate::geometry::Shape;
use crate::relocate::Relocation;
use crate::table::Segment;

/// Relocations that step together.
pub(crate) const SQUAD: usize = 8;
/// The most ways that lead on from a bucket, for it has at most 8 slots.
const MOST_WAYS: usize = 8;

/// Where an item of a full bucket can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// Where the item lies in the full bucket.
    pub(crate) position: u32,
    /// The bucket that it goes to, and its value there.
    pub(crate) bucket: u64,
    pub(crate) value: u64,
    /// There is a free slot.
    pub(crate) is_open: bool,
}

/// The ways on from where the relocations of a squad stand, best first; field by field as vectors write
/// them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ways {
    pub(crate) segment: [u64; SQUAD],
    /// Where the relocations stand.
    pub(crate) from: [u64; SQUAD],
    pub(crate) bucket: [[u64; SQUAD]; MOST_WAYS],
    pub(crate) value: [[u64; SQUAD]; MOST_WAYS],
    /// The first open way of each, if it has one.
    pub(crate) first: [u64; SQUAD],
    /// A bit for each that has an open way.
    pub(crate) open: u8,
}

impl Ways {
    /// The way on of one relocation of the squad.
    #[inline(always)]
    pub(crate) fn of(&self, lanes: &Lanes, number: usize, relocation: &Relocation) -> Way {
        let is_open = self.open >> number & 1 == 1;
        let of_an_item = lanes.ways() / lanes.slots as usize;
        // Where none is open: of the victim's ways the last, to its other bucket.
        let victim = (relocation.victim() & (lanes.slots - 1)) as usize;
        let shut = (victim + 1) * of_an_item - 1;
        let way = select_unpredictable(is_open, self.first[number] as usize, shut) % MOST_WAYS;
        Way {
            position: (way / of_an_item) as u32,
            bucket: self.bucket[way][number],
            value: self.value[way][number],
            is_open,
        }
    }
}

impl Shape {
    /// The way on from a full bucket: of the first item for which there is a free slot elsewhere, or of
    /// the one at `victim` to its other bucket.
    #[inline(always)]
    pub(crate) fn way_on(&self, segment: &Segment, number: u64, victim: u32) -> Way {
        let lanes = &self.lanes;
        let full = lanes.read(segment, number);
        let (mut open, mut shut) = ((0, 0, 0), (victim, 0, 0));
        let mut is_open = false;
        // Which item can move cannot be foretold: all are looked at, the first one last.
        for position in (0..lanes.slots).rev() {
            let stored = lanes.stored(segment, &full, position);
            let (own, resident) = lanes.own_bucket(number, position, stored);
            let mut look = |bucket, value| {
                let target = lanes.read(segment, bucket);
                let is_this_open = lanes.empties(segment, &target).any();
                open = select_unpredictable(is_this_open, (position, bucket, value), open);
                is_open |= is_this_open;
            };
            let (other, turned) = self.other_place(own, resident);
            look(other, turned);
            if lanes.overlap() {
                look(own, resident);
            }
            shut = select_unpredictable(position == victim, (position, other, turned), shut);
        }
        let (position, bucket, value) = select_unpredictable(is_open, open, shut);
        Way { position, bucket, value, is_open }
    }

    /// Asks for the memory of all buckets that the items of a full bucket could move to.
    #[inline(always)]
    pub(crate) fn prefetch_others(&self, segment: &Segment, number: u64) {
        let full = self.lanes.read(segment, number);
        for position in 0..self.lanes.slots {
            let stored = self.lanes.stored(segment, &full, position);
            let (own, resident) = self.lanes.own_bucket(number, position, stored);
            self.lanes.prefetch(segment, self.other_place(own, resident).0);
        }
    }
}

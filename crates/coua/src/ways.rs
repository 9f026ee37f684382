//! Ways out of a full bucket: to the other buckets of its items.

use std::hint::select_unpredictable;

use crate::geometry::Shape;
use crate::table::Segment;

/// Where an item of a full bucket can go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    /// Where the item lies in the full bucket.
    pub(crate) position: u32,
    /// A bucket with a free slot, and the item's value there.
    pub(crate) bucket: u64,
    pub(crate) value: u64,
}

impl Shape {
    /// The first item of a full bucket for which there is a free slot elsewhere.
    #[inline(always)]
    pub(crate) fn way_out(&self, segment: &Segment, number: u64) -> Option<Way> {
        let lanes = &self.lanes;
        let full = lanes.read(segment, number);
        let (mut way, mut is_found) = (Way::default(), false);
        // Which item can move cannot be foretold: all are looked at, the first one last.
        for position in (0..lanes.slots).rev() {
            let stored = lanes.stored(segment, &full, position);
            let (own, resident) = lanes.own_bucket(number, position, stored);
            let mut look = |bucket, value| {
                let target = lanes.read(segment, bucket);
                let is_open = lanes.empties(segment, &target).any();
                let this = Way { position, bucket, value };
                way = select_unpredictable(is_open, this, way);
                is_found |= is_open;
            };
            let (other, turned) = self.other_place(own, resident);
            look(other, turned);
            if lanes.overlap() {
                look(own, resident);
            }
        }
        is_found.then_some(way)
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

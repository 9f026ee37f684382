//! The halves of a segment while they are filled.

use std::hint::select_unpredictable;

use super::Halves;
use crate::geometry::{PARTNER, Shape};
use crate::shapes::{Shapes, Work};
use crate::table::Segment;

/// Both halves, a word for each slot. They begin empty and only gain items: how many a bucket has, and so
/// where its first free slot is, is a number that is counted, not seen.
pub(super) struct Draft {
    /// What will be stored: the slots of the lower half, then those of the upper.
    values: Vec<u64>,
    /// How many items each bucket has; they lie side by side from its first slot on.
    items: Vec<u8>,
    buckets: u64,
    slots: u8,
}

impl Draft {
    /// Of empty halves; `None` if buckets overlap, or are so small that many will be full, or there is no
    /// memory.
    pub(super) fn of(half: &Shape) -> Option<Self> {
        let lanes = &half.lanes;
        if lanes.overlap() || lanes.slots < 4 {
            return None;
        }
        let buckets = 2 * half.buckets as usize;
        let (mut values, mut items) = (Vec::new(), Vec::new());
        values.try_reserve_exact(buckets * lanes.slots as usize).ok()?;
        items.try_reserve_exact(buckets).ok()?;
        values.resize(buckets * lanes.slots as usize, 0);
        items.resize(buckets, 0);
        Some(Self { values, items, buckets: half.buckets, slots: lanes.slots as u8 })
    }

    /// Puts each item into the first free slot of the emptier of its two buckets; false if both of one are
    /// full.
    pub(super) fn take(&mut self, halves: &Halves) -> bool {
        let Halves { count, half, primary, partner, value } = halves;
        for item in 0..*count {
            let first = half[item] * self.buckets;
            let (here, there) =
                ((first + primary[item]) as usize, (first + partner[item]) as usize);
            // Which bucket is emptier cannot be foretold: no branch on it.
            let (items_here, items_there) = (self.items[here], self.items[there]);
            let to_partner = items_there < items_here;
            let bucket = select_unpredictable(to_partner, there, here);
            let items = select_unpredictable(to_partner, items_there, items_here);
            if items == self.slots {
                return false;
            }
            self.items[bucket] = items + 1;
            let slot = bucket * usize::from(self.slots) + usize::from(items);
            self.values[slot] = value[item] | (u64::from(to_partner) * PARTNER);
        }
        true
    }
}

/// Writes the halves into their segments, which are empty.
pub(super) struct Write<'a> {
    pub(super) draft: &'a Draft,
    pub(super) shape: Shape,
    pub(super) segments: [&'a mut Segment; 2],
}

impl Work for Write<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, shapes: impl Shapes) {
        let Self { draft, shape, segments } = self;
        let lanes = shapes.in_form(shape).lanes;
        let values = draft.values.chunks_exact(draft.values.len() / 2);
        let items = draft.items.chunks_exact(draft.items.len() / 2);
        for ((segment, values), items) in segments.into_iter().zip(values).zip(items) {
            lanes.pack(segment, values);
            segment.occupied = items.iter().map(|&items| u32::from(items)).sum();
        }
    }
}

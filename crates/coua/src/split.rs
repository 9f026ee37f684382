//! Splitting a segment in two.
//!
//! An item's place in a half follows from its slot alone. So the segment is read from end to end, a
//! stretch of slots at a time, and the items of each are put into the halves while they lie in the first
//! cache.

use std::ops::Range;

use crate::error::OutOfMemory;
use crate::filter::CuckooFilter;
use crate::geometry::{Probe, Shape};
use crate::shapes::{Shapes, Work, in_best_form};
use crate::table::{Segment, Table};

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::arch::divide_vectors;

/// Slots of a stretch: whole buckets, whatever their size.
pub(crate) const STRETCH: usize = 256;
/// Vectors write whole, behind the last item too.
const ROOM: usize = STRETCH + 8;

/// Items on their way into the halves of a segment, field by field as vectors write them.
#[derive(Debug)]
pub(crate) struct Halves {
    pub(crate) count: usize,
    /// 0 for the lower half, 1 for the upper.
    pub(crate) half: [u64; ROOM],
    pub(crate) primary: [u64; ROOM],
    pub(crate) partner: [u64; ROOM],
    pub(crate) value: [u64; ROOM],
}

impl Halves {
    pub(crate) fn none() -> Self {
        let field = [0; ROOM];
        Self { count: 0, half: field, primary: field, partner: field, value: field }
    }

    #[inline(always)]
    fn push(&mut self, probe: &Probe) {
        self.half[self.count] = probe.segment.into();
        self.primary[self.count] = probe.primary;
        self.partner[self.count] = probe.partner;
        self.value[self.count] = probe.value;
        self.count += 1;
    }
}

/// A segment that splits: its shape, what its halves have, and its slots as they were.
pub(crate) struct Parent<'a> {
    pub(crate) shape: Shape,
    pub(crate) child: Shape,
    pub(crate) segment: &'a Segment,
}

impl CuckooFilter {
    /// Splits a segment in two. O(slots of a segment), well under a millisecond.
    pub(crate) fn split(&mut self, index: u32) -> Result<(), OutOfMemory> {
        let Segment { prefix, level, .. } = self.table.segments[index as usize];
        let shape = self.shapes[usize::from(level)];
        let child = self.shapes[usize::from(level) + 1];
        let depth = shape.depth;
        let before = self.copy_of_segment(index)?;
        let upper = prefix | (1 << (63 - depth));
        let bytes = child.bytes(self.geometry.segment_slots());
        let upper_index = self.table.add_segment(bytes, upper, level + 1)?;
        if let Err(error) = self.directory.split(prefix, depth, upper_index) {
            self.table.segments.pop();
            return Err(error);
        }
        let lower = &mut self.table.segments[index as usize];
        lower.clear();
        lower.level = level + 1;
        self.splits += 1;
        let parent = Parent { shape, child, segment: &before.segments[0] };
        self.fill_halves(&parent, [index, upper_index]);
        self.settle_side(prefix, depth);
        for (segment, prefix) in [(index, prefix), (upper_index, upper)] {
            let spilled = self.side.under(prefix, depth + 1).next().is_some();
            self.table.segments[segment as usize].spilled = spilled;
        }
        Ok(())
    }

    /// A table of one segment, with the slots of this one.
    fn copy_of_segment(&self, index: u32) -> Result<Table, OutOfMemory> {
        let segment = &self.table.segments[index as usize];
        let shape = &self.shapes[usize::from(segment.level)];
        let bytes = shape.bytes(self.geometry.segment_slots());
        let mut copy = Table::new(0, bytes)?;
        let all = bytes as usize;
        copy.segments[0].bytes_mut(all).copy_from_slice(segment.bytes(all));
        Ok(copy)
    }

    /// Puts the items of a segment into its halves, which are empty.
    fn fill_halves(&mut self, parent: &Parent, segments: [u32; 2]) {
        let slots = parent.shape.slots();
        let mut halves = Halves::none();
        for first in (0..slots).step_by(STRETCH) {
            let stretch = first..slots.min(first + STRETCH as u64);
            self.divide(parent, stretch, &mut halves);
            let refill = Refill { filter: self, halves: &halves, segments };
            in_best_form(refill, Some(parent.child));
        }
    }

    /// Finds the places of the items in a stretch of slots, in the order of the slots.
    fn divide(&self, parent: &Parent, slots: Range<u64>, halves: &mut Halves) {
        halves.count = 0;
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if divide_vectors(self, parent, slots.clone(), halves) {
            return;
        }
        parent.divide(slots, halves);
    }
}

impl Parent<'_> {
    /// Appends the places of the items in these slots.
    pub(crate) fn divide(&self, slots: Range<u64>, halves: &mut Halves) {
        in_best_form(Divide { parent: self, slots, halves }, Some(self.shape));
    }
}

/// [`Parent::divide`], one slot after the other.
struct Divide<'a> {
    parent: &'a Parent<'a>,
    slots: Range<u64>,
    halves: &'a mut Halves,
}

impl Work for Divide<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, shapes: impl Shapes) {
        let Self { parent, slots, halves } = self;
        let shape = shapes.in_form(parent.shape);
        shape.for_each_value_in(parent.segment, slots, |bucket, value| {
            let half = shape.half_of(bucket, value);
            halves.push(&parent.child.probe(half.is_upper.into(), half.primary, half.value));
        });
    }
}

/// A stretch of items on their way into the halves.
struct Refill<'a> {
    filter: &'a mut CuckooFilter,
    halves: &'a Halves,
    segments: [u32; 2],
}

impl Work for Refill<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, shapes: impl Shapes) {
        let Halves { count, half, primary, partner, value } = self.halves;
        for item in 0..*count {
            let probe = Probe {
                segment: self.segments[(half[item] & 1) as usize],
                primary: primary[item],
                partner: partner[item],
                value: value[item],
            };
            self.filter.put_back(shapes, &probe);
        }
    }
}

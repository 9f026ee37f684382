//! Splitting a segment in two.
//!
//! An item's place in a half follows from its slot alone. So the segment is read from end to end, a
//! stretch of slots at a time, and the items of each are put into a [`Draft`] of the halves while they lie in
//! the first cache.

mod draft;

use std::ops::Range;

use crate::error::OutOfMemory;
use crate::filter::CuckooFilter;
use crate::geometry::{Probe, Shape};
use crate::shapes::{Shapes, Work, in_best_form};
use crate::table::{Segment, Table};
use draft::{Draft, Write};

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
        let segment = &self.table.segments[index as usize];
        let Segment { prefix, level, .. } = *segment;
        let shape = self.shapes[usize::from(level)];
        let child = self.shapes[usize::from(level) + 1];
        let depth = shape.depth;
        let draft = self.draft_halves(&Parent { shape, child, segment });
        let before = if draft.is_none() { Some(self.copy_of_segment(index)?) } else { None };
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
        let halves = [index, upper_index];
        if let Some(draft) = &draft {
            self.write_halves(draft, &child, halves);
        } else if let Some(before) = &before {
            self.refill_halves(&Parent { shape, child, segment: &before.segments[0] }, halves);
        }
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

    /// The halves of a segment; `None` if they cannot be [drafted](Draft::of), or an item would have to
    /// give way to another.
    fn draft_halves(&self, parent: &Parent) -> Option<Draft> {
        let mut draft = Draft::of(&parent.child)?;
        let mut halves = Halves::none();
        for stretch in parent.stretches() {
            self.divide(parent, stretch, &mut halves);
            if !draft.take(&halves) {
                return None;
            }
        }
        Some(draft)
    }

    fn write_halves(&mut self, draft: &Draft, shape: &Shape, segments: [u32; 2]) {
        let segments = segments.map(|index| index as usize);
        let segments = self.table.segments.get_disjoint_mut(segments).expect("two segments");
        in_best_form(Write { draft, shape: *shape, segments }, Some(*shape));
    }

    /// Puts the items of a segment into its halves, which are empty, one by one.
    fn refill_halves(&mut self, parent: &Parent, segments: [u32; 2]) {
        let mut halves = Halves::none();
        for stretch in parent.stretches() {
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
    fn stretches(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let slots = self.shape.slots();
        (0..slots).step_by(STRETCH).map(move |first| first..slots.min(first + STRETCH as u64))
    }

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

/// Puts a stretch of items into the halves, as inserts do.
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
                segment: self.segments[half[item] as usize & 1],
                primary: primary[item],
                partner: partner[item],
                value: value[item],
            };
            self.filter.put_back(shapes, &probe);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHash;

    /// Filters with room in their segments, and with items in the lower halves only: when those
    /// split, items have to give way.
    fn filters() -> impl Iterator<Item = CuckooFilter> {
        let forms = [(1, 0.01), (2, 0.01), (4, 0.01), (4, 1e-9), (8, 1e-4), (8, 1e-12)];
        forms.into_iter().flat_map(|(slots, rate)| {
            [false, true].map(|is_lower| {
                let builder = CuckooFilter::builder().max_items(1_000_000).rate(rate);
                let mut filter = builder.slots_per_bucket(slots).build().unwrap();
                filter.reserve(40_000).unwrap();
                let depth = filter.table.segments.len().ilog2();
                let lower = if is_lower { !(1 << (63 - depth)) } else { u64::MAX };
                let items = filter.slots() * 8 / 10;
                let hashes = (0..items).map(|number| {
                    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    KeyHash::from_u64((hash ^ (hash >> 31)) & lower)
                });
                filter.insert_hash_batch(&hashes.collect::<Vec<_>>()).unwrap();
                filter
            })
        })
    }

    #[test]
    fn drafted_halves_are_those_refilled_one_by_one() {
        let (mut drafted, mut crowded) = (0, 0);
        for mut filter in filters() {
            let copy = filter.copy_of_segment(0).unwrap();
            let level = usize::from(filter.table.segments[0].level);
            let (shape, child) = (filter.shapes[level], filter.shapes[level + 1]);
            let parent = Parent { shape, child, segment: &copy.segments[0] };
            let halves = [0, filter.table.segments.len() as u32];
            let draft = filter.draft_halves(&parent);
            let any_homeless = filter.side.has_homeless();
            filter.split(0).unwrap();
            let bytes = child.bytes(filter.geometry.segment_slots()) as usize;
            let contents = |filter: &CuckooFilter| {
                let segment = |index| &filter.table.segments[index as usize];
                halves.map(|index| (segment(index).occupied, segment(index).bytes(bytes).to_vec()))
            };
            let clear = |filter: &mut CuckooFilter| {
                halves.map(|index| filter.table.segments[index as usize].clear())
            };
            let split = contents(&filter);
            clear(&mut filter);
            filter.refill_halves(&parent, halves);
            let refilled = contents(&filter);
            // Those without a slot find one in a split.
            assert!(any_homeless || split == refilled, "{filter:?}");
            if let Some(draft) = draft {
                drafted += 1;
                clear(&mut filter);
                filter.write_halves(&draft, &child, halves);
                assert!(contents(&filter) == refilled, "{filter:?}");
            } else {
                crowded += u32::from(Draft::of(&child).is_some());
            }
        }
        assert!(drafted >= 4 && crowded >= 2, "{drafted} drafted, {crowded} crowded");
    }
}

//! Where the items of a segment go when it splits into two children.
//!
//! The buckets of both children are numbered consecutively, first those of the lower one. So bucket `k` of
//! the parent becomes the buckets `2k` and `2k + 1`.

use std::hint::select_unpredictable;
use std::ops::Range;

use super::dispatch::{Levels, Task, dispatch};
use super::level::LevelGeometry;
use super::probe::ALTERNATE;
use crate::table::Segment;

/// Slots that are divided at a time: whole buckets, whatever their size.
pub(crate) const CHUNK: usize = 256;
/// Vectors write all their lanes, beyond the last item too.
const BUFFER: usize = CHUNK + 8;

/// Items that move, field by field as vectors write them.
#[derive(Debug)]
pub(crate) struct MovedItems {
    pub(super) count: usize,
    /// First the bucket that each is found in, then its primary bucket in the children.
    pub(super) primary: [u64; BUFFER],
    pub(super) alternate: [u64; BUFFER],
    pub(super) value: [u64; BUFFER],
}

/// One of them, with its place in the children.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MovedItem {
    pub(crate) primary: u64,
    pub(crate) alternate: u64,
    pub(crate) value: u64,
}

impl MovedItems {
    pub(crate) fn none() -> Self {
        let field = [0; BUFFER];
        Self { count: 0, primary: field, alternate: field, value: field }
    }

    #[inline(always)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = MovedItem> {
        let Self { count, primary, alternate, value } = self;
        let items = primary[..*count].iter().zip(alternate).zip(value);
        items.map(|((&primary, &alternate), &value)| MovedItem { primary, alternate, value })
    }
}

/// A segment that splits: its level, that of its children, and its slots as they are.
pub(crate) struct Parent<'a> {
    pub(crate) level: LevelGeometry,
    pub(crate) child: LevelGeometry,
    pub(crate) segment: &'a Segment,
}

impl Parent<'_> {
    /// One of these bits is set in the value of every item that moves.
    pub(super) fn moved_bits(&self) -> u64 {
        if self.level.codec.overlap() { u64::MAX } else { ALTERNATE }
    }

    /// The slots, some at a time.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let slots = self.level.slots();
        (0..slots).step_by(CHUNK).map(move |first| first..slots.min(first + CHUNK as u64))
    }

    /// Finds the places of the items in these slots that move, in the order of the slots.
    pub(crate) fn divide(&self, slots: Range<u64>, moved: &mut MovedItems) {
        dispatch(Divide { parent: self, slots, moved }, Some(self.level));
    }

    /// Puts the items that lie in their primary bucket side by side into their primary buckets in the
    /// children: what is stored into `values`, and how many there are into `items`. Of disjoint buckets.
    pub(crate) fn keep(&self, values: &mut [u64], items: &mut [u8]) {
        dispatch(Keep { parent: self, values, items }, Some(self.level));
    }
}

/// [`Parent::divide`], one slot after the other.
struct Divide<'a> {
    parent: &'a Parent<'a>,
    slots: Range<u64>,
    moved: &'a mut MovedItems,
}

impl Task for Divide<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, levels: impl Levels) {
        let Self { parent, slots, moved } = self;
        let level = levels.with_encoding(parent.level);
        let (mut count, moved_bits) = (0, parent.moved_bits());
        level.for_each_slot_in(parent.segment, slots, |bucket, value| {
            // Which items move is unpredictable: no branch on it.
            moved.primary[count] = bucket;
            moved.value[count] = value;
            count += usize::from(value & moved_bits != 0);
        });
        moved.count = count;
        for item in 0..count {
            let (bucket, value) = (moved.primary[item], moved.value[item]);
            let (primary, value) = level.in_children(bucket, value);
            moved.primary[item] = primary;
            moved.alternate[item] = parent.child.alternate_in_children(primary, value);
            moved.value[item] = value;
        }
    }
}

/// [`Parent::keep`], one bucket after the other.
struct Keep<'a> {
    parent: &'a Parent<'a>,
    values: &'a mut [u64],
    items: &'a mut [u8],
}

impl Task for Keep<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, levels: impl Levels) {
        let Self { parent, values, items } = self;
        let level = levels.with_encoding(parent.level);
        let slots = level.codec.slots as usize;
        let children = values.chunks_exact_mut(2 * slots);
        for ((bucket, values), items) in (0..).zip(children).zip(items.as_chunks_mut().0) {
            let read = level.codec.read(parent.segment, bucket);
            let mut counts = [0; 2];
            for position in 0..level.codec.slots {
                let value = level.codec.stored(parent.segment, &read, position);
                // Which items stay is unpredictable: for the others, a free slot is emptied.
                let stays = value != 0 && value & ALTERNATE == 0;
                let (number, value) = level.primary_in_children(bucket, value);
                let which = (number & 1) as usize;
                let slot = which * slots + counts[which];
                values[slot] = select_unpredictable(stays, value, 0);
                counts[which] += usize::from(stays);
            }
            *items = counts.map(|count| count as u8);
        }
    }
}

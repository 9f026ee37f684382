//! Where the items of a segment go when it splits into two children.
//!
//! The buckets of both children are numbered consecutively, first those of the lower one. So bucket `k` of
//! the parent becomes the buckets `2k` and `2k + 1`.

use std::hint::select_unpredictable;
use std::ops::Range;

use super::avx512;
use super::dispatch::{Levels, Task, dispatch};
use super::level::LevelGeometry;
use super::probe::ALTERNATE;
use super::uniform::{Items, alternates};
use super::vector::{Isa, Kernel, Vector, with_vectors};
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
        if !avx512::find_moved(self, slots.clone(), moved) {
            dispatch(FindMoved { parent: self, slots, moved }, Some(self.level));
        }
        with_vectors(PlaceMoved { parent: self, moved });
    }

    /// Puts the items that lie in their primary bucket side by side into their primary buckets in the
    /// children: what is stored into `values`, and how many there are into `items`. Of disjoint buckets.
    pub(crate) fn keep(&self, values: &mut [u64], items: &mut [u8]) {
        dispatch(Keep { parent: self, values, items }, Some(self.level));
    }
}

/// Finds the items in some slots that move: in which bucket, and their values there.
struct FindMoved<'a> {
    parent: &'a Parent<'a>,
    slots: Range<u64>,
    moved: &'a mut MovedItems,
}

impl Task for FindMoved<'_> {
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
    }
}

/// Places the items that move: [`LevelGeometry::in_children`], and their alternate buckets there.
struct PlaceMoved<'a> {
    parent: &'a Parent<'a>,
    moved: &'a mut MovedItems,
}

impl Kernel for PlaceMoved<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Self { parent: Parent { level, child, .. }, moved } = self;
        let first_bit = level.codec.slot_bits - 1;
        let (buckets, zero) = (isa.splat(level.buckets), isa.splat(0));
        let rest = isa.splat(((1 << first_bit) - 1) & !ALTERNATE);
        for first in (0..moved.count).step_by(I::LANES) {
            let own = isa.load(&moved.primary[first..]);
            let value = isa.load(&moved.value[first..]);
            let other = alternates(isa, level, &Items { own, value });
            let in_primary = (value & isa.splat(ALTERNATE)).is_zero();
            let primary = I::Vector::select(in_primary, own, other);
            let primary = (primary << 1) | (value >> first_bit);
            let first_bucket = I::Vector::select(primary.is_below(buckets), zero, buckets);
            let items = Items { own: primary - first_bucket, value: value & rest };
            let alternate = alternates(isa, child, &items) + first_bucket;
            primary.store(&mut moved.primary[first..]);
            alternate.store(&mut moved.alternate[first..]);
            items.value.store(&mut moved.value[first..]);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CuckooFilter, KeyHash, Layout};

    /// Filters that have grown, in every encoding.
    fn grown() -> Vec<CuckooFilter> {
        let layouts = [1, 2, 4, 8].map(|slots| (Layout::Buckets, slots));
        let layouts = layouts.into_iter().chain([(Layout::Overlapping, 2)]);
        let rates = [0.3, 0.01, 1e-4, 1e-9, 1e-12];
        layouts
            .flat_map(|layout| rates.map(|rate| (layout, rate)))
            .map(|((layout, slots), rate)| {
                let builder = CuckooFilter::builder().max_items(200_000).rate(rate);
                let mut filter = builder.layout(layout).slots_per_bucket(slots).build().unwrap();
                for number in 0..50_000u64 {
                    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    filter.insert(KeyHash::from_u64(hash ^ (hash >> 31))).unwrap();
                }
                filter
            })
            .collect()
    }

    /// [`LevelGeometry::in_children`] is the reference implementation.
    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn items_are_divided_as_single_ones_would_be() {
        let mut divided = 0;
        for filter in grown() {
            for parent in (0..filter.segments() as u32).filter_map(|it| filter.parent(it)) {
                for chunk in parent.chunks() {
                    let mut moved = MovedItems::none();
                    parent.divide(chunk.clone(), &mut moved);
                    let mut items = moved.iter();
                    parent.level.for_each_slot_in(parent.segment, chunk, |bucket, value| {
                        if value & parent.moved_bits() == 0 {
                            return;
                        }
                        let (primary, halved) = parent.level.in_children(bucket, value);
                        let alternate = parent.child.alternate_in_children(primary, halved);
                        let item = items.next().expect("an item for each that moves");
                        let place = (item.primary, item.alternate, item.value);
                        assert_eq!(place, (primary, alternate, halved), "{filter:?}");
                        divided += 1;
                    });
                    assert!(items.next().is_none());
                }
            }
        }
        assert!(divided > 30_000, "{divided}");
    }
}

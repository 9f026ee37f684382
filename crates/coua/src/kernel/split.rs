//! Where the items of a segment go when it splits into two children.
//!
//! The buckets of both children are numbered consecutively, first those of the lower one. So bucket `k` of
//! the parent becomes the buckets `2k` and `2k + 1`.

use std::ops::Range;

use super::codec::SLOTS;
use super::level::{ALTERNATE, LevelGeometry};
use super::vectors::{LevelVectors, Source};
use crate::simd::{Isa, Kernel, MOST_LANES, Vector, with_vectors};
use crate::table::Segment;

/// Slots that are divided at a time: whole buckets.
pub(crate) const CHUNK: usize = 256;
/// Vectors write all their lanes, beyond the last item too.
pub(crate) const PADDING: usize = MOST_LANES;
const BUFFER: usize = CHUNK + PADDING;

/// Items that move, field by field as vectors write them.
#[derive(Debug)]
pub(crate) struct MovedItems {
    pub(super) count: usize,
    /// First the bucket that each is found in, then its primary bucket in the children.
    pub(super) primary: [u64; BUFFER],
    pub(super) alternate: [u64; BUFFER],
    pub(super) value: [u64; BUFFER],
}

/// A moved item, with its place in the children.
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
    /// The slots, some at a time.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let slots = self.level.slots();
        (0..slots).step_by(CHUNK).map(move |first| first..slots.min(first + CHUNK as u64))
    }

    /// Finds the children's places of the items in these slots that lie in their alternate bucket, in the order of the
    /// slots.
    pub(crate) fn divide(&self, slots: Range<u64>, moved: &mut MovedItems) {
        with_vectors(Divide { parent: self, slots, moved });
    }

    /// Moves the items that are in their primary bucket to their primary buckets in the children, side by side.
    /// `values`, with space for a vector after the last slot, gets what the slots store, and `items` the number
    /// of items of each bucket.
    pub(crate) fn keep(&self, values: &mut [u64], items: &mut [u8]) {
        with_vectors(Keep { parent: self, values, items });
    }
}

/// The slots of one segment, read a vector at a time.
struct SegmentSlots<'a, I> {
    level: LevelVectors<I>,
    segment: &'a Segment,
}

/// A segment that holds all keys of a vector.
#[derive(Clone, Copy)]
struct OneSegment<'a, I>(I, &'a Segment);

impl<I: Isa> Source<I::Vector> for OneSegment<'_, I> {
    #[inline(always)]
    fn load(self, at: I::Vector) -> I::Vector {
        let Self(isa, segment) = self;
        let mut places = [0; MOST_LANES];
        at.store(&mut places);
        isa.collect(|lane| segment.word_at(places[lane]))
    }
}

impl<'a, I: Isa> SegmentSlots<'a, I> {
    #[inline(always)]
    fn new(isa: I, level: &LevelGeometry, segment: &'a Segment) -> Self {
        Self { level: LevelVectors::new(isa, level), segment }
    }

    /// The buckets and the values of the slots starting at `first`; the value of a free slot is 0, and so is that of a slot
    /// at `end` or after.
    #[inline(always)]
    fn items(&self, first: u64, end: u64) -> (I::Vector, I::Vector) {
        let Self { level, segment } = self;
        let splat = |value| level.splat(value);
        let source = OneSegment(level.isa, segment);
        let wanted = splat(first) + level.isa.collect(|lane| lane as u64);
        let slot = wanted.min(splat(end - 1));
        let (number, position) = (slot >> SLOTS.ilog2(), slot & splat(u64::from(SLOTS) - 1));
        let bucket = level.read(source, level.first_bits(number));
        let stored = level.stored(source, &bucket, position);
        (number, I::Vector::select(wanted.is_below(splat(end)), stored, splat(0)))
    }
}

/// Finds the items in some slots that move, and places them in the children: [`LevelGeometry::in_children`].
struct Divide<'a> {
    parent: &'a Parent<'a>,
    slots: Range<u64>,
    moved: &'a mut MovedItems,
}

impl Kernel for Divide<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        self.parent.find_moved(isa, self.slots, self.moved);
        self.parent.place_moved(isa, self.moved);
    }
}

impl Parent<'_> {
    /// The bucket and the value of each item that moves.
    #[inline(always)]
    fn find_moved<I: Isa>(&self, isa: I, slots: Range<u64>, moved: &mut MovedItems) {
        let read = SegmentSlots::new(isa, &self.level, self.segment);
        moved.count = 0;
        for first in slots.clone().step_by(I::LANES) {
            let (bucket, value) = read.items(first, slots.end);
            let leaves = isa.splat(0).is_below(value & isa.splat(ALTERNATE));
            bucket.compress(leaves).store(&mut moved.primary[moved.count..]);
            value.compress(leaves).store(&mut moved.value[moved.count..]);
            moved.count += I::Vector::bits(leaves).count_ones() as usize;
        }
    }

    /// The places in the children, and the alternate buckets there.
    #[inline(always)]
    fn place_moved<I: Isa>(&self, isa: I, moved: &mut MovedItems) {
        let level = LevelVectors::new(isa, &self.level);
        let child = LevelVectors::new(isa, &self.child);
        let first_bit = self.level.codec.slot_bits - 1;
        let (buckets, zero) = (isa.splat(self.level.buckets), isa.splat(0));
        let kept_bits = isa.splat(((1 << first_bit) - 1) & !ALTERNATE);
        for first in (0..moved.count).step_by(I::LANES) {
            let bucket = isa.load(&moved.primary[first..]);
            let value = isa.load(&moved.value[first..]);
            let primary = (level.alternates(bucket, value) << 1) | (value >> first_bit);
            let first_bucket = I::Vector::select(primary.is_below(buckets), zero, buckets);
            let value = value & kept_bits;
            let alternate = child.alternates(primary - first_bucket, value) + first_bucket;
            primary.store(&mut moved.primary[first..]);
            alternate.store(&mut moved.alternate[first..]);
            value.store(&mut moved.value[first..]);
        }
    }
}

/// [`Parent::keep`].
struct Keep<'a> {
    parent: &'a Parent<'a>,
    values: &'a mut [u64],
    items: &'a mut [u8],
}

impl Kernel for Keep<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Self { parent: Parent { level, segment, .. }, values, items } = self;
        let read = SegmentSlots::new(isa, level, segment);
        let (slots, first_bit) = (SLOTS as usize, level.codec.slot_bits - 1);
        let (zero, none) = (isa.splat(0), isa.splat(u64::MAX));
        let kept_bits = isa.splat((1 << first_bit) - 1);
        let lanes = isa.collect(|lane| lane as u64);
        for first in (0..items.len() / 2 * slots).step_by(I::LANES) {
            let (bucket, value) = read.items(first as u64, level.slots());
            let stays = (value & isa.splat(ALTERNATE)).is_zero();
            let child = I::Vector::select(stays, (bucket << 1) | (value >> first_bit), none);
            let child = I::Vector::select(value.is_zero(), none, child);
            let [begin, end] = [first / slots, (first + I::LANES).div_ceil(slots)].map(|it| 2 * it);
            let end = end.min(items.len());
            // A store writes a whole vector: lanes beyond a bucket's items are overwritten by the next buckets.
            for (number, items) in (begin..).zip(&mut items[begin..end]) {
                let stays = child.equals(isa.splat(number as u64));
                let count = I::Vector::bits(stays).count_ones();
                let is_kept = lanes.is_below(isa.splat(count.into()));
                let kept = I::Vector::select(is_kept, (value & kept_bits).compress(stays), zero);
                kept.store(&mut values[number * slots + usize::from(*items)..]);
                *items += count as u8;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CuckooFilter;
    use crate::smoke::few_in_miri;

    /// Filters that have grown, or in Miri that may, narrow and wide.
    fn grown() -> Vec<CuckooFilter> {
        let rates = [0.3, 0.01, 1e-4, 1e-9, 1e-12];
        let (capacity, items) = if cfg!(miri) { (100, 100u64) } else { (0, 50_000) };
        few_in_miri(rates.into_iter(), 3)
            .map(|rate| {
                let builder = CuckooFilter::builder().max_items(200_000).rate(rate);
                let mut filter = builder.capacity(capacity).build().unwrap();
                for number in 0..items {
                    filter.insert(number).unwrap();
                }
                filter
            })
            .collect()
    }

    /// [`LevelGeometry::in_children`] is the reference implementation.
    #[test]
    fn items_are_divided_as_single_ones_would_be() {
        let mut divided = 0;
        for filter in grown() {
            for parent in
                (0..filter.segments() as u32).filter_map(|it| filter.as_segments().parent(it))
            {
                for chunk in parent.chunks() {
                    let mut moved = MovedItems::none();
                    parent.divide(chunk.clone(), &mut moved);
                    let mut items = moved.iter();
                    let leaves = |&(_, value): &(u64, u64)| value & ALTERNATE != 0;
                    let slots = u64::from(SLOTS);
                    let buckets = chunk.start / slots..chunk.end / slots;
                    for (bucket, value) in
                        parent.level.items(parent.segment, buckets).filter(leaves)
                    {
                        let (primary, halved) = parent.level.in_children(bucket, value);
                        let alternate = parent.child.alternate_in_children(primary, halved);
                        let item = items.next().expect("an item for each that moves");
                        let place = (item.primary, item.alternate, item.value);
                        assert_eq!(place, (primary, alternate, halved), "{filter:?}");
                        divided += 1;
                    }
                    assert!(items.next().is_none());
                }
            }
        }
        assert!(divided > if cfg!(miri) { 30 } else { 30_000 }, "{divided}");
    }
}

//! Splitting a segment in two.
//!
//! An item's place in the halves follows from its slot alone, and each bucket becomes two that lie side by
//! side, where its own items always have room: those that lie in their primary bucket stay at home. So the
//! segment is read from end to end, and a [`Draft`] of the halves is written likewise. Then come the items that
//! lie in their partner, which may go anywhere, a stretch of slots at a time. Windows share slots, and may
//! not have room for all at home: there all items move.

mod draft;

use std::ops::Range;

use crate::error::OutOfMemory;
use crate::filter::CuckooFilter;
use crate::geometry::{PARTNER, Probe, Shape};
use crate::shapes::{ByLevel, Shapes, Work, in_best_form};
use crate::table::Segment;
use draft::Draft;

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::arch::divide_vectors;

/// Slots of a stretch: whole buckets, whatever their size.
pub(crate) const STRETCH: usize = 256;
/// Vectors write whole, behind the last item too.
const ROOM: usize = STRETCH + 8;

/// Items on their way into the halves of their segment, field by field as vectors write them.
#[derive(Debug)]
pub(crate) struct Movers {
    pub(crate) count: usize,
    /// The bucket that each is found in; then its primary bucket in the halves, which are counted through.
    pub(crate) primary: [u64; ROOM],
    pub(crate) partner: [u64; ROOM],
    pub(crate) value: [u64; ROOM],
}

/// One of them, with its place.
#[derive(Clone, Copy, Debug)]
struct Mover {
    primary: u64,
    partner: u64,
    value: u64,
}

impl Movers {
    pub(crate) fn none() -> Self {
        let field = [0; ROOM];
        Self { count: 0, primary: field, partner: field, value: field }
    }

    #[inline(always)]
    fn get(&self, item: usize) -> Mover {
        let Self { primary, partner, value, .. } = self;
        Mover { primary: primary[item], partner: partner[item], value: value[item] }
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
        self.add_shapes_below(level + 1)?;
        let segment = &self.table.segments[index as usize];
        let shape = self.shapes[usize::from(level)];
        let child = self.shapes[usize::from(level) + 1];
        let depth = shape.depth;
        let draft = self.draft_halves(&Parent { shape, child, segment })?;
        let upper = prefix | (1 << (63 - depth));
        let bytes = child.bytes(self.geometry.segment_slots());
        let most = self.memory_left().saturating_sub(self.directory.bytes_to_split(depth));
        self.table.make_room(bytes, most)?;
        let upper_index = self.table.add_segment(bytes, upper, level + 1)?;
        if let Err(error) = self.directory.split(prefix, depth, upper_index) {
            self.table.segments.pop();
            return Err(error);
        }
        let lower = &mut self.table.segments[index as usize];
        lower.clear();
        lower.level = level + 1;
        self.only_shape = self.shape_of_all();
        self.splits += 1;
        let halves = [index, upper_index];
        let segments = halves.map(|index| index as usize);
        let segments = self.table.segments.get_disjoint_mut(segments).expect("two segments");
        for mover in draft.write(segments) {
            self.put_into_halves(halves, &mover);
        }
        self.settle_side(prefix, depth);
        for (segment, prefix) in [(index, prefix), (upper_index, upper)] {
            let spilled = self.side.under(prefix, depth + 1).next().is_some();
            self.table.segments[segment as usize].spilled = spilled;
        }
        Ok(())
    }

    /// Adds the shape of the level below this one, if that exists.
    fn add_shapes_below(&mut self, level: u8) -> Result<(), OutOfMemory> {
        let last = self.shapes.len() - 1;
        if last == usize::from(level)
            && let Some(next) = self.geometry.shape(self.shapes[last].depth + 1)
        {
            let refused = OutOfMemory { bytes: size_of::<Shape>() as u64 };
            self.shapes.try_reserve_exact(1).map_err(|_| refused)?;
            self.shapes.push(next);
        }
        Ok(())
    }

    fn draft_halves(&self, parent: &Parent) -> Result<Draft, OutOfMemory> {
        let mut draft = Draft::of(parent.child)?;
        if !parent.shape.lanes.overlap() {
            draft.keep(parent);
        }
        let mut movers = Movers::none();
        for stretch in parent.stretches() {
            self.divide(parent, stretch, &mut movers);
            draft.take(&movers)?;
        }
        Ok(draft)
    }

    fn put_into_halves(&mut self, halves: [u32; 2], mover: &Mover) {
        let &Mover { primary, partner, value } = mover;
        let buckets = self.geometry.buckets;
        let is_upper = primary >= buckets;
        let first = if is_upper { buckets } else { 0 };
        let [lower, upper] = halves;
        let segment = if is_upper { upper } else { lower };
        let probe = Probe { segment, primary: primary - first, partner: partner - first, value };
        self.put_back(ByLevel, &probe);
    }

    /// Finds the places of the items in a stretch of slots that move, in the order of the slots.
    fn divide(&self, parent: &Parent, slots: Range<u64>, movers: &mut Movers) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if divide_vectors(self, parent, slots.clone(), movers) {
            return;
        }
        parent.divide(slots, movers);
    }
}

impl Parent<'_> {
    /// A bit of these is set in the values of the items that move.
    pub(crate) fn movers(&self) -> u64 {
        if self.shape.lanes.overlap() { u64::MAX } else { PARTNER }
    }

    fn stretches(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let slots = self.shape.slots();
        (0..slots).step_by(STRETCH).map(move |first| first..slots.min(first + STRETCH as u64))
    }

    /// Finds the places of the items in these slots that move.
    pub(crate) fn divide(&self, slots: Range<u64>, movers: &mut Movers) {
        in_best_form(Divide { parent: self, slots, movers }, Some(self.shape));
    }
}

/// [`Parent::divide`], one slot after the other.
struct Divide<'a> {
    parent: &'a Parent<'a>,
    slots: Range<u64>,
    movers: &'a mut Movers,
}

impl Work for Divide<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, shapes: impl Shapes) {
        let Self { parent, slots, movers } = self;
        let shape = shapes.in_form(parent.shape);
        let (mut count, meant) = (0, parent.movers());
        shape.for_each_slot_in(parent.segment, slots, |bucket, value| {
            // Who lies where cannot be foretold: no branch on it.
            movers.primary[count] = bucket;
            movers.value[count] = value;
            count += usize::from(value & meant != 0);
        });
        movers.count = count;
        for item in 0..count {
            let (bucket, value) = (movers.primary[item], movers.value[item]);
            let (primary, value) = shape.in_halves(bucket, value);
            movers.primary[item] = primary;
            movers.partner[item] = parent.child.partner_in_halves(primary, value);
            movers.value[item] = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::{CuckooFilterBuilder, KeyHash, KeyHasher, Layout};

    /// Filters with room in their segments, and with items in the lower halves only: when those
    /// split, items have to give way.
    fn filters() -> impl Iterator<Item = CuckooFilter> {
        let forms = [(1, 0.01), (2, 0.01), (4, 0.01), (4, 1e-9), (8, 1e-4), (8, 1e-12)];
        let forms = forms.map(|(slots, rate)| (Layout::Buckets, slots, rate));
        let windows = [0.01, 1e-9].map(|rate| (Layout::Overlapping, 2, rate));
        forms.into_iter().chain(windows).flat_map(|(layout, slots, rate)| {
            [false, true].map(|is_lower| {
                let builder = CuckooFilter::builder().max_items(1_000_000).rate(rate);
                let builder = builder.layout(layout);
                let mut filter = builder.slots_per_bucket(slots).build().unwrap();
                filter.reserve(40_000).unwrap();
                let depth = filter.table.segments.len().ilog2();
                let lower = if is_lower { !(1 << (63 - depth)) } else { u64::MAX };
                let items = filter.slots() * 8 / 10;
                let hashes = (0..items).map(|number| {
                    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    KeyHash::from_u64((hash ^ (hash >> 31)) & lower)
                });
                filter.insert_batch(&hashes.collect::<Vec<_>>()).unwrap();
                filter
            })
        })
    }

    /// The slots of the halves by the rules that a draft follows, and who finds no room there.
    fn plainly_drafted(parent: &Parent) -> (Vec<u64>, Vec<Mover>) {
        let Shape { buckets, lanes, .. } = parent.child;
        let mut slots = vec![0; 2 * parent.child.slots() as usize];
        let stride = if lanes.overlap() { 1 } else { lanes.slots as usize };
        let slots_of = |bucket: u64| {
            let last_window = usize::from(lanes.overlap() && bucket >= buckets);
            let first = bucket as usize * stride + last_window;
            first..first + lanes.slots as usize
        };
        let mut waiting = Vec::new();
        let mut put = |slots: &mut [u64], bucket, value, mover| match (0..)
            .zip(&mut slots[slots_of(bucket)])
            .find(|(_, slot)| **slot == 0)
        {
            Some((position, slot)) => *slot = lanes.at_position(value, position),
            None => waiting.push(mover),
        };
        for is_moving in [false, true] {
            parent.shape.for_each_value(parent.segment, |bucket, value| {
                let (primary, halved) = parent.shape.in_halves(bucket, value);
                let partner = parent.child.partner_in_halves(primary, halved);
                let mover = Mover { primary, partner, value: halved };
                let items = |bucket| slots[slots_of(bucket)].iter().filter(|it| **it != 0).count();
                if is_moving != (lanes.overlap() || value & PARTNER != 0) {
                    return;
                }
                if is_moving && items(partner) < items(primary) {
                    put(&mut slots, partner, halved | PARTNER, mover);
                } else {
                    put(&mut slots, primary, halved, mover);
                }
            });
        }
        (slots, waiting)
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn shapes_that_nothing_has_take_no_memory() {
        let mut filter = CuckooFilter::new();
        let before = filter.memory_bytes();
        for number in 0..200_000_u64 {
            let deepest = usize::from(filter.table.deepest_level());
            assert_eq!((filter.shapes.len(), filter.shapes.capacity()), (deepest + 2, deepest + 2));
            let hash = KeyHash::from_u64(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            filter.insert(hash).unwrap();
        }
        assert!(filter.table.deepest_level() > 1 && filter.memory_bytes() > before);
        let bytes = filter.memory_bytes();
        filter.shapes.reserve_exact(10);
        assert_eq!(filter.memory_bytes(), bytes + 10 * size_of::<Shape>(), "they are counted");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn a_split_keeps_items_at_home_and_drafts_the_others() {
        let (mut waited, mut drafted) = (0, 0);
        for mut filter in filters() {
            let level = usize::from(filter.table.segments[0].level);
            let (shape, child) = (filter.shapes[level], filter.shapes[level + 1]);
            let segment = &filter.table.segments[0];
            let (slots, waiting) = plainly_drafted(&Parent { shape, child, segment });
            if filter.side.has_homeless() {
                // They find a slot in a split.
                continue;
            }
            let halves = [0, filter.table.segments.len() as u32];
            let bytes = child.bytes(child.slots()) as usize;
            let contents = |filter: &CuckooFilter| {
                let segment = |index| &filter.table.segments[index as usize];
                halves.map(|index| (segment(index).occupied, segment(index).bytes(bytes).to_vec()))
            };
            filter.split(0).unwrap();
            let split = contents(&filter);
            for (index, slots) in halves.into_iter().zip(slots.chunks(child.slots() as usize)) {
                let half = &mut filter.table.segments[index as usize];
                half.clear();
                let places = child.lanes.runs(0..child.slots());
                let places = places.flat_map(|(bucket, run)| run.map(move |at| (bucket, at)));
                for ((number, position), &value) in places.zip(slots).filter(|(_, it)| **it != 0) {
                    let bucket = child.lanes.read(half, number);
                    child.lanes.fill(half, &bucket, position, value);
                    half.occupied += 1;
                    drafted += 1;
                }
            }
            for mover in &waiting {
                filter.put_into_halves(halves, mover);
            }
            assert!(contents(&filter) == split, "{filter:?}");
            waited += waiting.len();
        }
        assert!(drafted > 50_000 && waited > 500, "{drafted} drafted, {waited} waited");
    }

    #[test]
    #[ignore = "prints times"]
    fn splits_take_nanoseconds_a_slot() {
        for (slots_per_bucket, layout, bits) in [
            (4, Layout::Buckets, 64),
            (4, Layout::Buckets, 38),
            (8, Layout::Buckets, 38),
            (2, Layout::Buckets, 38),
            (2, Layout::Overlapping, 38),
        ] {
            let builder = CuckooFilter::builder().layout(layout).slots_per_bucket(slots_per_bucket);
            let builder = builder.hash_bits(bits);
            let mut times: Vec<f64> = (0..9).map(|_| nanoseconds_a_slot(&builder)).collect();
            times.sort_by(f64::total_cmp);
            println!(
                "{slots_per_bucket} slots, {layout:?}, {bits} hash bits: {:.1} ns a slot ({:.1} to {:.1})",
                times[4], times[0], times[8]
            );
        }
    }

    /// Splits each segment of a filter of two million items.
    fn nanoseconds_a_slot(builder: &CuckooFilterBuilder) -> f64 {
        let mut filter = builder.clone().build().unwrap();
        filter.reserve(2_000_000).unwrap();
        let (slots, items) = (filter.slots(), 1_800_000);
        let seed = KeyHasher::default();
        let hashes: Vec<_> = (0..items).map(|number| seed.hash(number)).collect();
        filter.insert_batch(&hashes).unwrap();
        let segments = filter.table.segments.len() as u32;
        let begun = Instant::now();
        for index in 0..segments {
            filter.split(index).unwrap();
        }
        let spent = begun.elapsed();
        assert!(hashes.iter().all(|&hash| filter.contains(hash)), "{filter:?}");
        spent.as_secs_f64() * 1e9 / slots as f64
    }
}

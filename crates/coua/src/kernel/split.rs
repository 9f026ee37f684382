//! Where the items of a segment go when it splits into two children.
//!
//! The buckets of both children are numbered consecutively, the lower child's first. So bucket `k` of
//! the parent becomes the buckets `2k` and `2k + 1`, where its own items always fit: those in their primary bucket stay
//! there. Then come the items in their alternate bucket, in the order of the slots: each takes the first free slot of the
//! emptier of its new buckets.

use std::hint::select_unpredictable;

use super::level::{ALTERNATE, LevelGeometry, SLOTS};
use super::vectors::{LevelVectors, Source};
use crate::error::{OutOfMemory, repeated, with_room};
use crate::simd::{
    Avx2Bucket, Isa, Kernel, MOST_LANES, Vector, Word, Words, with_bit_instructions, with_vectors,
};
use crate::table::{Segment, SegmentMut};

/// Buckets whose moving items are placed together.
const CHUNK: u64 = 64;
/// The items of a chunk. Vectors write all their lanes, beyond the last item too.
const BUFFER: usize = CHUNK as usize * SLOTS as usize + MOST_LANES;

/// Items that move, field by field as vectors write them.
struct MovedItems {
    count: usize,
    /// First the bucket that each is found in, then its primary bucket in the children.
    primary: [u64; BUFFER],
    alternate: [u64; BUFFER],
    value: [u64; BUFFER],
}

/// A moved item, with its place in the children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MovedItem {
    pub(crate) primary: u64,
    pub(crate) alternate: u64,
    pub(crate) value: u64,
}

impl MovedItems {
    fn none() -> Self {
        let field = [0; BUFFER];
        Self { count: 0, primary: field, alternate: field, value: field }
    }

    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = MovedItem> {
        let Self { count, primary, alternate, value } = self;
        let items = primary[..*count].iter().zip(alternate).zip(value);
        items.map(|((&primary, &alternate), &value)| MovedItem { primary, alternate, value })
    }
}

/// A segment that splits: a copy of its bytes, because one of its children takes its place; and all other memory that
/// the split needs.
pub(crate) struct Parent {
    pub(crate) level: LevelGeometry,
    pub(crate) child: LevelGeometry,
    bytes: Vec<u8>,
    /// The number of items in each bucket of the children; they are adjacent, starting at its first slot.
    items: Vec<u8>,
    unplaced: Vec<MovedItem>,
}

impl Parent {
    pub(crate) fn copy(
        level: LevelGeometry,
        child: LevelGeometry,
        segment: &Segment,
    ) -> Result<Self, OutOfMemory> {
        let mut bytes = with_room(segment.len())?;
        bytes.extend_from_slice(segment.bytes_at(0, segment.len()));
        let items = repeated(0, 2 * child.buckets)?;
        Ok(Self { level, child, bytes, items, unplaced: with_room(segment.occupied() as usize)? })
    }

    /// Writes both children, whatever the segments hold, and returns the items both of whose buckets are full: they have no
    /// slot.
    pub(crate) fn write(self, mut children: [SegmentMut<'_>; 2]) -> Vec<MovedItem> {
        let Self { level, child, bytes, mut items, mut unplaced } = self;
        let levels = [&level, &child];
        let (all, unplaced_too) = (&mut items, &mut unplaced);
        if let (Some(parent), Some(written)) = (level.codec.avx2, child.codec.avx2) {
            let halves = children.each_mut().map(|half| half.bytes_mut(half.len()));
            // Clears the bytes after the buckets.
            let end = (child.buckets * child.codec.bucket_bits / 8) as usize;
            let halves = halves.map(|half| {
                half[end..].fill(0);
                half
            });
            let (buckets, [parent, child]) = (child.buckets, [*parent, *written]);
            let buckets = WholeBuckets { bytes: &bytes, halves, buckets, parent, child };
            parent.run(
                #[inline(always)]
                || divide(levels, buckets, all, unplaced_too),
            );
        } else {
            let halves = children.each_mut().map(|half| {
                half.bytes_mut(half.len()).fill(0);
                half
            });
            let [from, to] = levels.map(LevelGeometry::on_words);
            let buckets = SingleSlots { bytes: &bytes, halves, parent: from, child: to };
            with_bit_instructions(
                #[inline(always)]
                || divide(levels, buckets, all, unplaced_too),
            );
        }
        for (half, items) in children.iter_mut().zip(items.chunks_exact(child.buckets as usize)) {
            half.set_occupied(items.iter().map(|&items| u32::from(items)).sum());
        }
        unplaced
    }
}

/// Reads buckets of the parent, and writes buckets of the children.
trait SplitBuckets {
    /// Moves the items of a bucket that are in their primary bucket to its two buckets in the children, and returns how
    /// many each gets.
    fn keep(&mut self, bucket: u64) -> [u8; 2];

    /// Writes the values of a bucket's items that are in their alternate bucket to the beginning of a slice, and returns
    /// how many there are. The rest of the slice is undefined.
    fn moved(&self, bucket: u64, values: &mut [u64]) -> usize;

    /// Puts a value into a free slot of a bucket of the children.
    fn put(&mut self, bucket: u64, slot: u8, value: u64);
}

/// Divides the items of a parent among its children.
#[inline(always)]
fn divide(
    levels: [&LevelGeometry; 2],
    mut buckets: impl SplitBuckets,
    items: &mut [u8],
    unplaced: &mut Vec<MovedItem>,
) {
    for (bucket, items) in (0..).zip(items.as_chunks_mut().0) {
        *items = buckets.keep(bucket);
    }
    let mut moved = MovedItems::none();
    let all = levels[0].buckets;
    for first in (0..all).step_by(CHUNK as usize) {
        find_moved(&buckets, first, all.min(first + CHUNK), &mut moved);
        with_vectors(PlaceMoved { levels, moved: &mut moved });
        put_moved(&mut buckets, &moved, items, unplaced);
    }
}

/// Finds the items that move in the buckets from `first` to `end`: the bucket and the value of each.
#[inline(always)]
fn find_moved(buckets: &impl SplitBuckets, first: u64, end: u64, moved: &mut MovedItems) {
    let mut count = 0;
    for bucket in first..end {
        moved.primary[count..count + SLOTS as usize].fill(bucket);
        count += buckets.moved(bucket, &mut moved.value[count..]);
    }
    moved.count = count;
}

/// Puts each item into the first free slot of the emptier of its two buckets, if there is one.
#[inline(always)]
fn put_moved(
    buckets: &mut impl SplitBuckets,
    moved: &MovedItems,
    items: &mut [u8],
    unplaced: &mut Vec<MovedItem>,
) {
    for item in moved.iter() {
        let (here, there) = (items[item.primary as usize], items[item.alternate as usize]);
        // Which bucket is emptier is unpredictable: no branch on it.
        let to_alternate = there < here;
        let bucket = select_unpredictable(to_alternate, item.alternate, item.primary);
        let slot = select_unpredictable(to_alternate, there, here);
        if u32::from(slot) == SLOTS {
            unplaced.push(item);
            continue;
        }
        items[bucket as usize] = slot + 1;
        buckets.put(bucket, slot, item.value | (u64::from(to_alternate) * ALTERNATE));
    }
}

/// Places items that were found in the children: `in_children` of [`LevelGeometry`] for each.
struct PlaceMoved<'a> {
    levels: [&'a LevelGeometry; 2],
    moved: &'a mut MovedItems,
}

impl Kernel for PlaceMoved<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        let Self { levels: [level, child], moved } = self;
        let first_bit = level.codec.slot_bits - 1;
        let (buckets, zero) = (isa.splat(level.buckets), isa.splat(0));
        let kept_bits = isa.splat(((1 << first_bit) - 1) & !ALTERNATE);
        let [level, child] = [level, child].map(|level| LevelVectors::new(isa, level));
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

/// The half that a bucket of the children is in, and its number there.
#[inline(always)]
fn half_of(bucket: u64, buckets: u64) -> (usize, u64) {
    let is_upper = bucket >= buckets;
    (usize::from(is_upper), bucket - select_unpredictable(is_upper, buckets, 0))
}

/// Buckets of four values that AVX2 reads and writes at once. Copies of the encodings, which no write can change, stay in
/// registers.
struct WholeBuckets<'a> {
    bytes: &'a [u8],
    halves: [&'a mut [u8]; 2],
    /// Buckets of a half.
    buckets: u64,
    parent: Avx2Bucket,
    child: Avx2Bucket,
}

impl WholeBuckets<'_> {
    /// The bytes of a half starting at a bucket.
    #[inline(always)]
    fn half_at(&mut self, bucket: u64) -> &mut [u8] {
        let (half, bucket) = half_of(bucket, self.buckets);
        &mut self.halves[half][self.child.first_byte(bucket) as usize..]
    }

    #[inline(always)]
    fn parent_at(&self, bucket: u64) -> &[u8] {
        &self.bytes[self.parent.first_byte(bucket) as usize..]
    }
}

impl SplitBuckets for WholeBuckets<'_> {
    #[inline(always)]
    fn keep(&mut self, bucket: u64) -> [u8; 2] {
        let [lower, upper] = self.parent.divide(self.parent_at(bucket));
        let child = self.child;
        child.store(lower.0, self.half_at(2 * bucket));
        child.store(upper.0, self.half_at(2 * bucket + 1));
        [lower.1, upper.1]
    }

    #[inline(always)]
    fn moved(&self, bucket: u64, values: &mut [u64]) -> usize {
        self.parent.moved(self.parent_at(bucket), values)
    }

    #[inline(always)]
    fn put(&mut self, bucket: u64, slot: u8, value: u64) {
        let child = self.child;
        child.put(self.half_at(bucket), slot, value);
    }
}

/// Buckets of every kind, a slot at a time. The children are empty at first.
struct SingleSlots<'a, 'table> {
    bytes: &'a [u8],
    halves: [&'a mut SegmentMut<'table>; 2],
    parent: LevelVectors<Words>,
    child: LevelVectors<Words>,
}

impl Source<Word> for &[u8] {
    #[inline(always)]
    fn load(self, at: Word) -> Word {
        let word = self[at.number() as usize..].first_chunk().expect("a whole word");
        Words.splat(u64::from_le_bytes(*word))
    }
}

impl SingleSlots<'_, '_> {
    /// The values of the slots of a parent's bucket.
    #[inline(always)]
    fn values(&self, bucket: u64) -> [u64; SLOTS as usize] {
        let read = self.parent.read(self.bytes, self.parent.first_bits(Words.splat(bucket)));
        let stored = |position: usize| {
            self.parent.stored(self.bytes, &read, Words.splat(position as u64)).number()
        };
        [stored(0), stored(1), stored(2), stored(3)]
    }
}

impl SplitBuckets for SingleSlots<'_, '_> {
    #[inline(always)]
    fn keep(&mut self, bucket: u64) -> [u8; 2] {
        let first_bit = self.parent.codec().slot_bits - 1;
        let mut items = [0; 2];
        for value in self.values(bucket) {
            let is_upper = value >> first_bit;
            // Which items stay is unpredictable: for the others nothing is put into the slot.
            let stays = value != 0 && value & ALTERNATE == 0;
            let kept = select_unpredictable(stays, value & ((1 << first_bit) - 1), 0);
            let count = &mut items[is_upper as usize & 1];
            let slot = *count;
            *count += u8::from(stays);
            self.put(2 * bucket + is_upper, slot, kept);
        }
        items
    }

    #[inline(always)]
    fn moved(&self, bucket: u64, values: &mut [u64]) -> usize {
        let mut count = 0;
        for value in self.values(bucket) {
            values[count] = value;
            count += (value & ALTERNATE) as usize;
        }
        count
    }

    #[inline(always)]
    fn put(&mut self, bucket: u64, slot: u8, value: u64) {
        let (half, bucket) = half_of(bucket, self.child.buckets());
        let half = &mut *self.halves[half];
        let [position, value] = [slot.into(), value].map(|number| Words.splat(number));
        let change = self.child.change(&self.child.bucket(half, bucket), position, value);
        self.child.write(half, &change);
    }
}

#[cfg(test)]
mod tests {
    use super::super::level::SlotCodec;
    use super::super::level::tests::{all_codecs, level_with};
    use super::*;
    use crate::CuckooFilter;
    use crate::smoke::few_in_miri;
    use crate::table::Table;

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

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no AVX2")]
    fn whole_buckets_are_divided_as_single_slots_are() {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state ^ (state >> 31)
        };
        let mut widths = 0;
        for levels in all_codecs().map(level_with).collect::<Vec<_>>().windows(2) {
            let [child, level] = [levels[0], levels[1]];
            if level.codec.avx2.is_none() || child.codec.avx2.is_none() {
                continue;
            }
            let values: Vec<u64> = (0..level.buckets * u64::from(SLOTS))
                .map(|_| {
                    if random() % 4 == 0 { 0 } else { random() >> (64 - level.codec.slot_bits) | 4 }
                })
                .collect();
            let mut table = Table::new(0, level.bytes()).unwrap();
            level.fill(&mut table.segment_mut(0), &values);
            let divided = |level: LevelGeometry| {
                let parent = Parent::copy(level, child, table.segment(0)).unwrap();
                let mut halves = Table::new(1, level.bytes()).unwrap();
                halves.iter_mut().for_each(|mut half| {
                    let all = half.len();
                    half.bytes_mut(all).fill(0xff);
                });
                let unplaced = parent.write(halves.two_mut([0, 1]));
                let bytes = halves
                    .iter()
                    .map(|half| (half.occupied(), half.bytes_at(0, half.len()).to_vec()));
                (unplaced, bytes.collect::<Vec<_>>())
            };
            let slow = LevelGeometry { codec: SlotCodec { avx2: None, ..level.codec }, ..level };
            assert!(divided(level) == divided(slow), "{:?}", level.codec);
            widths += 1;
        }
        if Avx2Bucket::of(43).is_some() {
            assert!(widths > 20, "{widths}");
        } else {
            println!("skipped: whole buckets are not divided");
        }
    }

    /// [`LevelGeometry::in_children`] is the reference implementation.
    #[test]
    fn items_are_divided_as_single_ones_would_be() {
        let mut divided = 0;
        for filter in grown() {
            let segments = filter.as_segments();
            for index in 0..segments.len() as u32 {
                let Some([level, child]) = segments.parent_and_child(index) else { continue };
                let items = level.items(segments.get(index), 0..level.buckets);
                let leaving: Vec<_> = items.filter(|(_, value)| value & ALTERNATE != 0).collect();
                for chunk in leaving.chunks(CHUNK as usize) {
                    let mut moved = MovedItems::none();
                    moved.count = chunk.len();
                    for (number, &(bucket, value)) in chunk.iter().enumerate() {
                        (moved.primary[number], moved.value[number]) = (bucket, value);
                    }
                    with_vectors(PlaceMoved { levels: [&level, &child], moved: &mut moved });
                    let expected = chunk.iter().map(|&(bucket, value)| {
                        let (primary, value) = level.in_children(bucket, value);
                        let alternate = child.alternate_in_children(primary, value);
                        MovedItem { primary, alternate, value }
                    });
                    assert!(moved.iter().eq(expected), "{filter:?}");
                    divided += chunk.len();
                }
            }
        }
        assert!(divided > if cfg!(miri) { 30 } else { 30_000 }, "{divided}");
    }
}

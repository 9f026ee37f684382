//! Where a segment's items go when it splits, eight slots at a time.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_epi64, _mm512_castsi512_si256, _mm512_cmpge_epu64_mask,
    _mm512_inserti64x4, _mm512_mask_blend_epi64, _mm512_maskz_compress_epi64,
    _mm512_maskz_mov_epi64, _mm512_or_epi64, _mm512_set_epi64, _mm512_slli_epi64, _mm512_sub_epi64,
    _mm512_test_epi64_mask, _mm512_testn_epi64_mask,
};
use std::ops::Range;

use super::fields::{Packing, Unpacking};
use super::moves::{Items, alternates, overlapping_items};
use super::{LANES, load, shift_right, splat, store};
use crate::kernel::codec::SlotCodec;
use crate::kernel::instructions::has_avx512_bytes;
use crate::kernel::probe::ALTERNATE;
use crate::kernel::split::{MovedItems, Parent};
use crate::table::SegmentMut;

/// [`Parent::divide`].
#[inline]
pub(crate) fn divide(parent: &Parent, slots: Range<u64>, moved: &mut MovedItems) -> bool {
    if !has_avx512_bytes() {
        return false;
    }
    // SAFETY: the processor has the instructions.
    unsafe {
        find_moved(parent, slots, moved);
        place_moved(parent, moved);
    }
    true
}

/// [`Parent::keep`]; false also for buckets of fewer than four.
#[inline]
pub(crate) fn keep(parent: &Parent, values: &mut [u64], items: &mut [u8]) -> bool {
    if !has_avx512_bytes() {
        return false;
    }
    // SAFETY: the processor has the instructions.
    unsafe {
        match parent.level.codec.slots {
            4 => keep_fours(parent, values, items),
            8 => keep_eights(parent, values, items),
            _ => return false,
        }
    }
    true
}

/// [`SlotCodec::pack`].
#[inline]
pub(crate) fn pack(codec: &SlotCodec, segment: &mut SegmentMut<'_>, values: &[u64]) -> bool {
    if !has_avx512_bytes() {
        return false;
    }
    // SAFETY: the processor has the instructions.
    unsafe { pack_eights(codec, segment, values) };
    true
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vbmi")]
fn pack_eights(codec: &SlotCodec, segment: &mut SegmentMut<'_>, values: &[u64]) {
    let packing = Packing::of(codec);
    let bytes = segment.all_bytes_mut();
    let (vectors, rest) = values.as_chunks();
    for (number, values) in vectors.iter().enumerate() {
        packing.write(bytes, number, load(values));
    }
    if !rest.is_empty() {
        let mut last = [0; LANES];
        last[..rest.len()].copy_from_slice(rest);
        packing.write(bytes, vectors.len(), load(&last));
    }
}

/// Slots of a segment, eight at a time.
struct Slots<'a> {
    unpacking: Unpacking,
    segment: &'a [u8],
    end: u64,
}

impl<'a> Slots<'a> {
    #[target_feature(enable = "avx512f,avx512dq")]
    fn of(parent: &Parent<'a>, end: u64) -> Self {
        let unpacking = Unpacking::of(&parent.level.codec);
        Self { unpacking, segment: parent.segment.all_bytes(), end }
    }

    /// The values of eight slots from `first` on, a multiple of eight; 0 after the end.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn values(&self, first: u64) -> __m512i {
        let values = self.unpacking.values(self.segment, first as usize / LANES);
        let lanes = (self.end - first).min(LANES as u64);
        _mm512_maskz_mov_epi64(((1u16 << lanes) - 1) as u8, values)
    }
}

/// Values of items that stay in their primary buckets, one bit shorter, and which of them go to the left of
/// two buckets and which to the right.
struct Kept {
    values: __m512i,
    left: u8,
    right: u8,
}

/// [`LevelGeometry::primary_in_children`](crate::kernel::LevelGeometry::primary_in_children), eight times.
#[target_feature(enable = "avx512f")]
fn kept(codec: &SlotCodec, values: __m512i) -> Kept {
    let first_bit = 1 << (codec.slot_bits - 1);
    let stays =
        _mm512_test_epi64_mask(values, values) & _mm512_testn_epi64_mask(values, splat(ALTERNATE));
    let right = _mm512_test_epi64_mask(values, splat(first_bit));
    let values = _mm512_and_epi64(values, splat(first_bit - 1));
    Kept { values, left: stays & !right, right: stays & right }
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vbmi,popcnt")]
fn keep_fours(parent: &Parent, values: &mut [u64], items: &mut [u8]) {
    let codec = &parent.level.codec;
    let slots = Slots::of(parent, parent.level.slots());
    let pairs = values.chunks_mut(2 * LANES).zip(items.chunks_mut(4));
    for (first, (values, items)) in (0..).step_by(LANES).zip(pairs) {
        let Kept { values: all, left, right } = kept(codec, slots.values(first));
        // One bucket alone, at the end of an odd number.
        let halves = values.as_chunks_mut().0.iter_mut().zip(items.as_chunks_mut().0);
        for ((values, items), bucket) in halves.zip([0x0f, 0xf0]) {
            let [left, right] = [left & bucket, right & bucket];
            let second = _mm512_castsi512_si256(_mm512_maskz_compress_epi64(right, all));
            let both = _mm512_inserti64x4::<1>(_mm512_maskz_compress_epi64(left, all), second);
            store(values, both);
            *items = [left.count_ones() as u8, right.count_ones() as u8];
        }
    }
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vbmi,popcnt")]
fn keep_eights(parent: &Parent, values: &mut [u64], items: &mut [u8]) {
    let slots = Slots::of(parent, parent.level.slots());
    let halves = values.as_chunks_mut::<LANES>().0.as_chunks_mut().0;
    for (bucket, (halves, items)) in (0..).zip(halves.iter_mut().zip(items.as_chunks_mut().0)) {
        let [first, second] = halves;
        let Kept { values, left, right } = kept(&parent.level.codec, slots.values(8 * bucket));
        store(first, _mm512_maskz_compress_epi64(left, values));
        store(second, _mm512_maskz_compress_epi64(right, values));
        *items = [left.count_ones() as u8, right.count_ones() as u8];
    }
}

/// Finds the items in these slots that move.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vbmi,popcnt")]
fn find_moved(parent: &Parent, slots: Range<u64>, moved: &mut MovedItems) {
    let codec = &parent.level.codec;
    let numbers = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    let read = Slots::of(parent, slots.end);
    moved.count = 0;
    for first in slots.step_by(LANES) {
        let stored = read.values(first);
        let slot = _mm512_add_epi64(splat(first), numbers);
        let items = if codec.overlap() {
            overlapping_items(slot, stored)
        } else {
            Items { own: shift_right(slot, codec.slots.ilog2()), value: stored }
        };
        let taken = _mm512_test_epi64_mask(stored, splat(parent.moved_bits()));
        append(&mut moved.primary, moved.count, taken, items.own);
        append(&mut moved.value, moved.count, taken, items.value);
        moved.count += taken.count_ones() as usize;
    }
}

/// Places items in the children: [`LevelGeometry::in_children`](crate::kernel::LevelGeometry::in_children) and
/// their alternate buckets there, eight times.
#[target_feature(enable = "avx512f,avx512dq")]
fn place_moved(parent: &Parent, moved: &mut MovedItems) {
    let level = &parent.level;
    let first_bit = level.codec.slot_bits - 1;
    let rest = splat(((1 << first_bit) - 1) & !ALTERNATE);
    let buckets = splat(level.buckets);
    let MovedItems { count, primary, alternate, value } = moved;
    let vectors = count.div_ceil(LANES);
    let primary = primary.as_chunks_mut().0;
    let alternate = alternate.as_chunks_mut().0;
    let value = value.as_chunks_mut().0;
    let places = primary.iter_mut().zip(alternate).zip(value);
    for ((primary, alternate), value) in places.take(vectors) {
        let items = Items { own: load(primary), value: load(value) };
        let in_alternate = _mm512_test_epi64_mask(items.value, splat(ALTERNATE));
        let other = alternates(level, &items);
        let bucket = _mm512_mask_blend_epi64(in_alternate, items.own, other);
        let bucket =
            _mm512_or_epi64(_mm512_slli_epi64::<1>(bucket), shift_right(items.value, first_bit));
        let left = _mm512_and_epi64(items.value, rest);
        let upper = _mm512_cmpge_epu64_mask(bucket, buckets);
        let first = _mm512_maskz_mov_epi64(upper, buckets);
        let own = _mm512_sub_epi64(bucket, first);
        let other = alternates(&parent.child, &Items { own, value: left });
        store(primary, bucket);
        store(alternate, _mm512_add_epi64(other, first));
        store(value, left);
    }
}

/// Appends those of the values that are taken.
#[target_feature(enable = "avx512f")]
fn append(field: &mut [u64], count: usize, taken: u8, values: __m512i) {
    let lanes = field[count..].first_chunk_mut().expect("space for a whole vector");
    store(lanes, _mm512_maskz_compress_epi64(taken, values));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::instructions::check_compared;
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

    #[test]
    fn vectors_divide_as_portable_code_does() {
        let mut divided = 0;
        for filter in grown() {
            for parent in (0..filter.segments() as u32).filter_map(|it| filter.parent(it)) {
                for chunk in parent.chunks() {
                    let (mut moved, mut plain) = (MovedItems::none(), MovedItems::none());
                    parent.divide(chunk.clone(), &mut plain);
                    if !divide(&parent, chunk, &mut moved) {
                        continue;
                    }
                    divided += plain.count;
                    assert_eq!(moved.count, plain.count, "{filter:?}");
                    let items = ..plain.count;
                    assert_eq!(moved.primary[items], plain.primary[items], "{filter:?}");
                    assert_eq!(moved.alternate[items], plain.alternate[items], "{filter:?}");
                    assert_eq!(moved.value[items], plain.value[items], "{filter:?}");
                }
            }
        }
        check_compared(divided, 30_000);
    }
}

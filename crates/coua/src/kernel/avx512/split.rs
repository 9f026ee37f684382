//! Where a segment's items go when it splits, eight slots at a time.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_epi64, _mm512_castsi512_si256, _mm512_inserti64x4,
    _mm512_maskz_compress_epi64, _mm512_maskz_mov_epi64, _mm512_set_epi64, _mm512_test_epi64_mask,
    _mm512_testn_epi64_mask,
};
use std::ops::Range;

use super::fields::{Packing, Unpacking};
use super::{LANES, load, shift_right, splat, store};
use crate::kernel::codec::SlotCodec;
use crate::kernel::instructions::has_avx512_bytes;
use crate::kernel::probe::ALTERNATE;
use crate::kernel::split::{MovedItems, Parent};
use crate::kernel::uniform::{Items, overlapping_items};
use crate::kernel::vector::{Avx512, Eight};
use crate::table::SegmentMut;

/// Finds the items in these slots that move: in which bucket, and their values there.
#[inline]
pub(crate) fn find_moved(parent: &Parent, slots: Range<u64>, moved: &mut MovedItems) -> bool {
    if !has_avx512_bytes() {
        return false;
    }
    // SAFETY: the processor has the instructions.
    unsafe { find_moved_items(parent, slots, moved) };
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

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vbmi,popcnt")]
fn find_moved_items(parent: &Parent, slots: Range<u64>, moved: &mut MovedItems) {
    let codec = &parent.level.codec;
    let numbers = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    let read = Slots::of(parent, slots.end);
    moved.count = 0;
    for first in slots.step_by(LANES) {
        let stored = read.values(first);
        let slot = _mm512_add_epi64(splat(first), numbers);
        let (own, value) = if codec.overlap() {
            let Items { own, value } =
                overlapping_items(Avx512::proof(), Eight(slot), Eight(stored));
            (own.0, value.0)
        } else {
            (shift_right(slot, codec.slots.ilog2()), stored)
        };
        let taken = _mm512_test_epi64_mask(stored, splat(parent.moved_bits()));
        append(&mut moved.primary, moved.count, taken, own);
        append(&mut moved.value, moved.count, taken, value);
        moved.count += taken.count_ones() as usize;
    }
}

/// Appends those of the values that are taken.
#[target_feature(enable = "avx512f")]
fn append(field: &mut [u64], count: usize, taken: u8, values: __m512i) {
    let lanes = field[count..].first_chunk_mut().expect("space for a whole vector");
    store(lanes, _mm512_maskz_compress_epi64(taken, values));
}

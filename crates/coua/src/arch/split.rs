//! The places of a segment's items in its halves, eight slots at a time.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_epi64, _mm512_castsi512_si256, _mm512_cmpge_epu64_mask,
    _mm512_inserti64x4, _mm512_mask_blend_epi64, _mm512_maskz_compress_epi64,
    _mm512_maskz_mov_epi64, _mm512_or_epi64, _mm512_set_epi64, _mm512_slli_epi64, _mm512_sub_epi64,
    _mm512_test_epi64_mask, _mm512_testn_epi64_mask,
};
use std::ops::Range;

use super::fields::{Packing, Unpacking};
use super::ways::{Residents, in_windows};
use super::{LANES, Vectorized, load, shift_right, splat, store};
use crate::bucket::Lanes;
use crate::filter::CuckooFilter;
use crate::geometry::PARTNER;
use crate::split::{Movers, Parent};
use crate::table::Segment;

fn is_able() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("popcnt")
}

/// Finds the places of the items in these slots that move, in their order; false if the processor lacks the
/// instructions: then nothing is done.
#[inline]
pub(crate) fn divide_vectors(
    filter: &CuckooFilter,
    parent: &Parent,
    slots: Range<u64>,
    movers: &mut Movers,
) -> bool {
    if !is_able() {
        return false;
    }
    // SAFETY: the processor has the instructions.
    unsafe {
        find_movers(parent, slots, movers);
        let [before, after] =
            [&parent.shape, &parent.child].map(|shape| Vectorized { filter, shape });
        before.divide(&after, movers);
    }
    true
}

/// Puts the items that lie in their primary bucket into buckets side by side in `values`, and counts them in
/// `items`; false as for [`divide_vectors`], and for buckets of fewer than four.
#[inline]
pub(crate) fn keep_vectors(parent: &Parent, values: &mut [u64], items: &mut [u8]) -> bool {
    if !is_able() {
        return false;
    }
    // SAFETY: the processor has the instructions.
    unsafe {
        match parent.shape.lanes.slots {
            4 => keep_fours(parent, values, items),
            8 => keep_eights(parent, values, items),
            _ => return false,
        }
    }
    true
}

/// [`Lanes::pack`]; false as for [`divide_vectors`].
#[inline]
pub(crate) fn pack_vectors(lanes: &Lanes, segment: &mut Segment, values: &[u64]) -> bool {
    if !is_able() {
        return false;
    }
    // SAFETY: the processor has the instructions.
    unsafe { pack(lanes, segment, values) };
    true
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vbmi")]
fn pack(lanes: &Lanes, segment: &mut Segment, values: &[u64]) {
    let packing = Packing::of(lanes);
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
        let unpacking = Unpacking::of(&parent.shape.lanes);
        Self { unpacking, segment: parent.segment.all_bytes(), end }
    }

    /// The values of the slots from the first on, a multiple of eight; 0 behind the end.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn values(&self, first: u64) -> __m512i {
        let values = self.unpacking.values(self.segment, first as usize / LANES);
        let lanes = (self.end - first).min(LANES as u64);
        _mm512_maskz_mov_epi64(((1u16 << lanes) - 1) as u8, values)
    }
}

/// Values of items that stay in their primary buckets, with a bit less, and which of them go to the first
/// of two buckets and which to the second.
struct Kept {
    values: __m512i,
    left: u8,
    right: u8,
}

/// [`Shape::at_home_in_halves`](crate::geometry::Shape::at_home_in_halves), eight times.
#[target_feature(enable = "avx512f")]
fn kept(lanes: &Lanes, values: __m512i) -> Kept {
    let first_bit = 1 << (lanes.slot_bits - 1);
    let at_home =
        _mm512_test_epi64_mask(values, values) & _mm512_testn_epi64_mask(values, splat(PARTNER));
    let right = _mm512_test_epi64_mask(values, splat(first_bit));
    let values = _mm512_and_epi64(values, splat(first_bit - 1));
    Kept { values, left: at_home & !right, right: at_home & right }
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vbmi,popcnt")]
fn keep_fours(parent: &Parent, values: &mut [u64], items: &mut [u8]) {
    let lanes = &parent.shape.lanes;
    let slots = Slots::of(parent, parent.shape.slots());
    let pairs = values.chunks_mut(2 * LANES).zip(items.chunks_mut(4));
    for (first, (values, items)) in (0..).step_by(LANES).zip(pairs) {
        let Kept { values: all, left, right } = kept(lanes, slots.values(first));
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
    let slots = Slots::of(parent, parent.shape.slots());
    let halves = values.as_chunks_mut::<LANES>().0.as_chunks_mut().0;
    for (bucket, (halves, items)) in (0..).zip(halves.iter_mut().zip(items.as_chunks_mut().0)) {
        let [first, second] = halves;
        let Kept { values, left, right } = kept(&parent.shape.lanes, slots.values(8 * bucket));
        store(first, _mm512_maskz_compress_epi64(left, values));
        store(second, _mm512_maskz_compress_epi64(right, values));
        *items = [left.count_ones() as u8, right.count_ones() as u8];
    }
}

/// Notes where the items in these slots are.
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vbmi,popcnt")]
fn find_movers(parent: &Parent, slots: Range<u64>, movers: &mut Movers) {
    let lanes = &parent.shape.lanes;
    let numbers = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    let read = Slots::of(parent, slots.end);
    movers.count = 0;
    for first in slots.step_by(LANES) {
        let stored = read.values(first);
        let slot = _mm512_add_epi64(splat(first), numbers);
        let resident = if lanes.overlap() {
            in_windows(slot, stored)
        } else {
            Residents { own: shift_right(slot, lanes.slots.ilog2()), value: stored }
        };
        let taken = _mm512_test_epi64_mask(stored, splat(parent.movers()));
        append(&mut movers.primary, movers.count, taken, resident.own);
        append(&mut movers.value, movers.count, taken, resident.value);
        movers.count += taken.count_ones() as usize;
    }
}

impl Vectorized<'_> {
    /// [`Shape::in_halves`](crate::geometry::Shape::in_halves) and the partners there, eight times.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn divide(&self, after: &Self, movers: &mut Movers) {
        let first_bit = self.shape.lanes.slot_bits - 1;
        let rest = splat(((1 << first_bit) - 1) & !PARTNER);
        let buckets = splat(self.shape.buckets);
        let Movers { count, primary, partner, value } = movers;
        let vectors = count.div_ceil(LANES);
        let primary = primary.as_chunks_mut().0;
        let partner = partner.as_chunks_mut().0;
        let value = value.as_chunks_mut().0;
        for ((primary, partner), value) in primary.iter_mut().zip(partner).zip(value).take(vectors)
        {
            let resident = Residents { own: load(primary), value: load(value) };
            let in_partner = _mm512_test_epi64_mask(resident.value, splat(PARTNER));
            let other = self.other_places(&resident);
            let home = _mm512_mask_blend_epi64(in_partner, resident.own, other);
            let home = _mm512_or_epi64(
                _mm512_slli_epi64::<1>(home),
                shift_right(resident.value, first_bit),
            );
            let left = _mm512_and_epi64(resident.value, rest);
            let upper = _mm512_cmpge_epu64_mask(home, buckets);
            let first = _mm512_maskz_mov_epi64(upper, buckets);
            let own = _mm512_sub_epi64(home, first);
            let other = after.other_places(&Residents { own, value: left });
            store(primary, home);
            store(partner, _mm512_add_epi64(other, first));
            store(value, left);
        }
    }
}

/// Appends those of the values that are taken.
#[target_feature(enable = "avx512f")]
fn append(field: &mut [u64], count: usize, taken: u8, values: __m512i) {
    let room = field[count..].first_chunk_mut().expect("room for a whole vector");
    store(room, _mm512_maskz_compress_epi64(taken, values));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::STRETCH;
    use crate::{KeyHash, Layout};

    /// Filters that have grown, in every form of bucket.
    fn grown() -> Vec<CuckooFilter> {
        let forms = [1, 2, 4, 8].map(|slots| (Layout::Buckets, slots));
        let forms = forms.into_iter().chain([(Layout::Overlapping, 2)]);
        let rates = [0.3, 0.01, 1e-4, 1e-9, 1e-12];
        forms
            .flat_map(|form| rates.map(|rate| (form, rate)))
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
    fn vectors_divide_as_the_portable_twin_does() {
        let (mut able, mut divided) = (0, 0);
        for filter in grown() {
            for segment in &filter.table.segments {
                let level = usize::from(segment.level);
                let Some(&child) = filter.shapes.get(level + 1) else { continue };
                let parent = Parent { shape: filter.shapes[level], child, segment };
                let slots = parent.shape.slots();
                for first in (0..slots).step_by(STRETCH) {
                    let stretch = first..slots.min(first + STRETCH as u64);
                    {
                        let (mut movers, mut plain) = (Movers::none(), Movers::none());
                        parent.divide(stretch.clone(), &mut plain);
                        if !divide_vectors(&filter, &parent, stretch.clone(), &mut movers) {
                            continue;
                        }
                        able += 1;
                        divided += plain.count;
                        assert_eq!(movers.count, plain.count, "{filter:?}");
                        let items = ..plain.count;
                        assert_eq!(movers.primary[items], plain.primary[items], "{filter:?}");
                        assert_eq!(movers.partner[items], plain.partner[items], "{filter:?}");
                        assert_eq!(movers.value[items], plain.value[items], "{filter:?}");
                    }
                }
            }
        }
        assert!(able == 0 || divided > 30_000, "{divided} items in {able} stretches");
    }
}

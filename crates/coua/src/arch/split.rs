//! The places of a segment's items in its halves, eight slots at a time.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_epi64, _mm512_cmpge_epu64_mask, _mm512_mask_blend_epi64,
    _mm512_maskz_compress_epi64, _mm512_maskz_set1_epi64, _mm512_min_epu64, _mm512_or_epi64,
    _mm512_set_epi64, _mm512_sub_epi64, _mm512_test_epi64_mask,
};
use std::ops::Range;

use super::ways::Residents;
use super::{LANES, Vectorized, shift_left, shift_right, splat, store};
use crate::filter::CuckooFilter;
use crate::geometry::{PARTNER, Shape};
use crate::split::{Halves, Parent};

/// Finds the places of the items in these slots, in their order; false if the processor lacks the
/// instructions: then nothing is done.
#[inline]
pub(crate) fn divide_vectors(
    filter: &CuckooFilter,
    parent: &Parent,
    slots: Range<u64>,
    halves: &mut Halves,
) -> bool {
    let Some(before) = Vectorized::with_shape(filter, &parent.shape) else { return false };
    let Some(after) = Vectorized::with_shape(filter, &parent.child) else { return false };
    for first in slots.clone().step_by(LANES) {
        let lanes = (slots.end - first).min(LANES as u64);
        // SAFETY: `with_shape` has checked that the processor has the instructions.
        unsafe { before.divide(&after, parent, (first, lanes), halves) };
    }
    true
}

/// Items that divide.
struct Divided {
    upper: u8,
    primary: __m512i,
    value: __m512i,
}

impl Vectorized<'_> {
    /// Appends the items in slots from the first on.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn divide(&self, after: &Self, parent: &Parent, slots: (u64, u64), halves: &mut Halves) {
        let (first, lanes) = slots;
        let numbers = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
        // Those behind the end are read as the last, and left out.
        let slot = _mm512_add_epi64(splat(first), _mm512_min_epu64(numbers, splat(lanes - 1)));
        let resident = self.in_slots(parent, slot);
        let stored = _mm512_test_epi64_mask(resident.value, resident.value);
        let taken = stored & ((1u16 << lanes) - 1) as u8;
        let Divided { upper, primary, value } = self.halves_of(&resident);
        let partner = after.other_places(&Residents { own: primary, value });
        let count = halves.count;
        let append = |field: &mut [u64], values: __m512i| {
            let room = field[count..].first_chunk_mut().expect("room for a whole vector");
            store(room, _mm512_maskz_compress_epi64(taken, values));
        };
        append(&mut halves.half, _mm512_maskz_set1_epi64(upper, 1));
        append(&mut halves.primary, primary);
        append(&mut halves.partner, partner);
        append(&mut halves.value, value);
        halves.count += taken.count_ones() as usize;
    }

    /// What is in these slots of the segment.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn in_slots(&self, parent: &Parent, slot: __m512i) -> Residents {
        let base = splat(parent.segment.bytes(0).as_ptr() as u64);
        if self.shape.lanes.overlap() {
            return self.residents(slot, &self.read(base, slot), splat(0));
        }
        let position = _mm512_and_epi64(slot, splat(u64::from(self.shape.lanes.slots) - 1));
        let bucket = shift_right(slot, self.shape.lanes.slots.ilog2());
        self.residents(bucket, &self.read(base, bucket), position)
    }

    /// [`Shape::half_of`], eight times.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn halves_of(&self, resident: &Residents) -> Divided {
        let Shape { buckets, top_bits, low_bits, lanes, .. } = self.shape;
        let in_partner = _mm512_test_epi64_mask(resident.value, splat(PARTNER));
        let other = self.other_places(resident);
        let primary = _mm512_mask_blend_epi64(in_partner, resident.own, other);
        let low_end = low_bits + lanes.tag_bits;
        let top = shift_right(resident.value, low_end);
        let place = _mm512_or_epi64(shift_left(primary, *top_bits), top);
        let top_bits = top_bits - 1;
        let half = splat(buckets << top_bits);
        let upper = _mm512_cmpge_epu64_mask(place, half);
        // The smaller of the two, for what lies in the lower half wraps when that is taken off.
        let place = _mm512_min_epu64(place, _mm512_sub_epi64(place, half));
        let top = _mm512_and_epi64(place, splat((1 << top_bits) - 1));
        let low = _mm512_and_epi64(resident.value, splat(((1 << low_end) - 1) & !PARTNER));
        let value = _mm512_or_epi64(shift_left(top, low_end), low);
        Divided { upper, primary: shift_right(place, top_bits), value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::STRETCH;
    use crate::{KeyHash, Layout};

    /// Filters that have grown, in every form of bucket.
    fn grown() -> Vec<CuckooFilter> {
        let forms = [1, 2, 4, 8].map(|slots| (Layout::Buckets, slots));
        let forms = forms.into_iter().chain([(Layout::Windows, 2)]);
        let rates = [0.3, 0.01, 1e-4, 1e-9, 1e-12];
        forms
            .flat_map(|form| rates.map(|rate| (form, rate)))
            .map(|((layout, slots), rate)| {
                let builder = CuckooFilter::builder().max_items(200_000).rate(rate);
                let mut filter = builder.layout(layout).slots_per_bucket(slots).build().unwrap();
                for number in 0..50_000u64 {
                    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    filter.insert_hash(KeyHash::from_u64(hash ^ (hash >> 31))).unwrap();
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
                    let (mut halves, mut plain) = (Halves::none(), Halves::none());
                    parent.divide(stretch.clone(), &mut plain);
                    if !divide_vectors(&filter, &parent, stretch, &mut halves) {
                        continue;
                    }
                    able += 1;
                    divided += plain.count;
                    assert_eq!(halves.count, plain.count, "{filter:?}");
                    for item in 0..plain.count {
                        assert_eq!(halves.half[item], plain.half[item], "{filter:?}");
                        assert_eq!(halves.primary[item], plain.primary[item], "{filter:?}");
                        assert_eq!(halves.partner[item], plain.partner[item], "{filter:?}");
                        assert_eq!(halves.value[item], plain.value[item], "{filter:?}");
                    }
                }
            }
        }
        assert!(able == 0 || divided > 500_000, "{divided} items in {able} stretches");
    }
}

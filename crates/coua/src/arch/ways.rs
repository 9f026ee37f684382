//! Ways out of full buckets, for eight relocations at a time.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_epi64, _mm512_andnot_epi64, _mm512_mask_blend_epi64,
    _mm512_min_epu64, _mm512_mul_epu32, _mm512_mullo_epi64, _mm512_or_epi64, _mm512_srli_epi64,
    _mm512_srlv_epi64, _mm512_sub_epi64, _mm512_test_epi64_mask, _mm512_xor_epi64,
};

use super::look::Buckets;
use super::{LANES, Vectorized, gather, load, shift_left, shift_right, splat, store};
use crate::bucket::{Form, POSITION};
use crate::filter::CuckooFilter;
use crate::geometry::{PARTNER, Shape};
use crate::ways::{SQUAD, Ways};

/// Finds the ways on from where the relocations of a squad stand; false if the processor lacks the
/// instructions or the filter's form does not suit them: then nothing is done.
#[inline]
pub(crate) fn find_ways(filter: &CuckooFilter, ways: &mut Ways) -> bool {
    const { assert!(SQUAD == LANES) };
    let Some(vectorized) = Vectorized::of(filter).filter(Vectorized::can_look) else {
        return false;
    };
    // SAFETY: `of` has checked that the processor has the instructions.
    unsafe { vectorized.find_ways(ways) };
    true
}

/// Looks which of the ways found are open; false as for [`find_ways`].
#[inline]
pub(crate) fn look_along_ways(filter: &CuckooFilter, ways: &mut Ways) -> bool {
    let Some(vectorized) = Vectorized::of(filter).filter(Vectorized::can_look) else {
        return false;
    };
    // SAFETY: `of` has checked that the processor has the instructions.
    unsafe { vectorized.look_along_ways(ways) };
    true
}

/// Items found in buckets.
pub(super) struct Residents {
    /// The bucket that the item belongs to, and its value there.
    pub(super) own: __m512i,
    pub(super) value: __m512i,
}

impl Vectorized<'_> {
    #[target_feature(enable = "avx512f,avx512dq")]
    fn find_ways(&self, ways: &mut Ways) {
        let base = self.segment_bases(load(&ways.segment));
        let number = load(&ways.from);
        let full = self.read(base, number);
        let mut places = ways.bucket.iter_mut().zip(&mut ways.value);
        let mut note = |bucket, value| {
            let Some((buckets, values)) = places.next() else { return };
            store(buckets, bucket);
            store(values, value);
        };
        for position in 0..self.shape.lanes.slots {
            let resident = self.residents(number, &full, splat(position.into()));
            if self.shape.lanes.overlap() {
                note(resident.own, resident.value);
            }
            let other = self.other_places(&resident);
            note(other, _mm512_xor_epi64(resident.value, splat(PARTNER)));
        }
    }

    #[target_feature(enable = "avx512f,avx512dq")]
    fn look_along_ways(&self, ways: &mut Ways) {
        let base = self.segment_bases(load(&ways.segment));
        let (mut open, mut first) = (0, splat(0));
        let buckets = &ways.bucket[..self.shape.lanes.ways()];
        for (number, buckets) in buckets.iter().enumerate().rev() {
            let empties = self.empties(&self.read(base, load(buckets)));
            let is_open = _mm512_test_epi64_mask(empties, empties);
            open |= is_open;
            first = _mm512_mask_blend_epi64(is_open, first, splat(number as u64));
        }
        ways.open = open;
        store(&mut ways.first, first);
    }

    /// The buckets of these numbers.
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn read(&self, base: __m512i, number: __m512i) -> Buckets {
        let bit = self.first_bits(number);
        let address = _mm512_add_epi64(base, _mm512_srli_epi64::<3>(bit));
        // SAFETY: buckets of segments of this filter, which is borrowed.
        let word = unsafe { gather(address) };
        Buckets { address, shift: _mm512_and_epi64(bit, splat(7)), word }
    }

    /// What is at these positions of buckets.
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn residents(
        &self,
        number: __m512i,
        buckets: &Buckets,
        position: __m512i,
    ) -> Residents {
        let lane = self.shape.lanes.lane();
        let offset = _mm512_mul_epu32(position, splat(lane.bits.into()));
        let low = _mm512_srlv_epi64(buckets.lanes(), offset);
        let mut stored = _mm512_and_epi64(low, splat(lane.mask));
        if self.shape.lanes.form == Form::Wide {
            let rest = self.rests(buckets, position);
            stored = _mm512_or_epi64(stored, shift_left(rest, lane.bits));
        }
        if !self.shape.lanes.overlap() {
            return Residents { own: number, value: stored };
        }
        in_windows(_mm512_add_epi64(number, position), stored)
    }

    /// [`Shape::other_place`], eight times: the buckets.
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn other_places(&self, resident: &Residents) -> __m512i {
        let buckets = splat(self.shape.buckets);
        let fingerprint = shift_right(resident.value, self.shape.lanes.tag_bits);
        let mixed = _mm512_mullo_epi64(fingerprint, splat(Shape::OFFSET_FACTOR));
        let offset = _mm512_mul_epu32(_mm512_srli_epi64::<32>(mixed), buckets);
        let offset = _mm512_srli_epi64::<32>(offset);
        let in_partner = _mm512_test_epi64_mask(resident.value, splat(PARTNER));
        let back = _mm512_sub_epi64(buckets, offset);
        let turned = _mm512_mask_blend_epi64(in_partner, offset, back);
        let other = _mm512_add_epi64(resident.own, turned);
        // The smaller of the two, for what is not below `buckets` wraps when that is taken off.
        _mm512_min_epu64(other, _mm512_sub_epi64(other, buckets))
    }
}

/// [`Lanes::own_bucket`](crate::bucket::Lanes::own_bucket) for slots of windows, eight times.
#[target_feature(enable = "avx512f")]
pub(super) fn in_windows(slot: __m512i, stored: __m512i) -> Residents {
    let position = _mm512_srli_epi64::<1>(_mm512_and_epi64(stored, splat(POSITION)));
    let value = _mm512_andnot_epi64(splat(POSITION), stored);
    Residents { own: _mm512_sub_epi64(slot, position), value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Probe;
    use crate::relocate::Relocation;
    use crate::shapes::ByLevel;
    use crate::{CuckooFilter, KeyHash, Layout, WhenFull};

    /// Full buckets of a filter, as relocations that stand there.
    fn standing(filter: &CuckooFilter) -> Vec<Relocation> {
        let segments = 0..filter.table.segments.len() as u32;
        let places = segments.flat_map(|segment| {
            let shape = filter.shape_of(segment);
            let place = &filter.table.segments[segment as usize];
            let is_full = move |bucket: &u64| {
                let read = shape.lanes.read(place, *bucket);
                !shape.lanes.empties(place, &read).any()
            };
            (0..shape.buckets).filter(is_full).map(move |primary| (segment, primary))
        });
        let probes = places.zip(0..).map(|((segment, primary), number)| Probe {
            segment,
            primary,
            partner: 0,
            value: number << filter.shape_of(segment).lanes.tag_bits,
        });
        probes.map(|probe| Relocation::new(&probe)).collect()
    }

    #[test]
    fn squads_find_the_ways_of_single_relocations() {
        let (mut able, mut open, mut shut) = (0, 0, 0);
        let forms = [1, 2, 4, 8].map(|slots| (Layout::Buckets, slots));
        for (layout, slots) in forms.into_iter().chain([(Layout::Overlapping, 2)]) {
            for rate in [0.3, 0.01, 1e-4, 1e-9, 1e-12] {
                let filter = CuckooFilter::builder()
                    .capacity(60_000)
                    .rate(rate)
                    .layout(layout)
                    .slots_per_bucket(slots)
                    .when_full(WhenFull::Refuse);
                let mut filter = filter.build().unwrap();
                for number in 0..60_000u64 {
                    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    filter.insert(KeyHash::from_u64(hash ^ (hash >> 31))).unwrap();
                }
                for squad in standing(&filter).as_chunks::<SQUAD>().0 {
                    let mut ways = Ways {
                        segment: squad.map(|it| it.segment.into()),
                        from: squad.map(|it| it.bucket),
                        ..Ways::default()
                    };
                    if !find_ways(&filter, &mut ways) || !look_along_ways(&filter, &mut ways) {
                        continue;
                    }
                    able += 1;
                    for (number, relocation) in squad.iter().enumerate() {
                        let lanes = &filter.shape_of(relocation.segment).lanes;
                        let way = ways.of(lanes, number, relocation);
                        assert_eq!(way, filter.way_on(ByLevel, relocation), "{filter:?}");
                        *(if way.is_open { &mut open } else { &mut shut }) += 1;
                    }
                }
            }
        }
        assert!(able == 0 || open > 1000 && shut > 1000, "{able} squads, {open} open, {shut} shut");
    }
}

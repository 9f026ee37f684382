//! Candidate moves of eight eviction chains at a time.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_epi64, _mm512_andnot_epi64, _mm512_mask_blend_epi64,
    _mm512_min_epu64, _mm512_mul_epu32, _mm512_mullo_epi64, _mm512_or_epi64, _mm512_srli_epi64,
    _mm512_srlv_epi64, _mm512_sub_epi64, _mm512_test_epi64_mask, _mm512_xor_epi64,
};

use super::{Buckets, LANES, Vectors, load, shift_left, shift_right, splat, store};
use crate::kernel::codec::{Encoding, POSITION};
use crate::kernel::level::LevelGeometry;
use crate::kernel::moves::{GROUP, GroupMoves};
use crate::kernel::probe::ALTERNATE;
use crate::kernel::probes::UniformTable;

/// Finds the candidate moves of a group of eviction chains.
#[inline]
pub(crate) fn find_moves(table: UniformTable<'_>, moves: &mut GroupMoves) -> bool {
    const { assert!(GROUP == LANES) };
    let Some(vectors) = Vectors::on_lanes(table) else {
        return false;
    };
    // SAFETY: `Vectors` has checked that the processor has the instructions.
    unsafe { vectors.find_moves(moves) };
    true
}

/// Finds out which of the moves found lead to free slots.
#[inline]
pub(crate) fn test_moves(table: UniformTable<'_>, moves: &mut GroupMoves) -> bool {
    let Some(vectors) = Vectors::on_lanes(table) else {
        return false;
    };
    // SAFETY: `Vectors` has checked that the processor has the instructions.
    unsafe { vectors.test_moves(moves) };
    true
}

/// Items found in buckets.
pub(super) struct Items {
    /// The bucket that each belongs to, and its value there.
    pub(super) own: __m512i,
    pub(super) value: __m512i,
}

impl Vectors<'_> {
    #[target_feature(enable = "avx512f,avx512dq")]
    fn find_moves(&self, moves: &mut GroupMoves) {
        let base = self.segment_bases(load(&moves.segment));
        let number = load(&moves.from);
        let full = self.read_at(base, self.first_bits(number));
        let mut places = moves.bucket.iter_mut().zip(&mut moves.value);
        let mut note = |bucket, value| {
            let Some((buckets, values)) = places.next() else { return };
            store(buckets, bucket);
            store(values, value);
        };
        for position in 0..self.codec().slots {
            let items = self.items(number, &full, splat(position.into()));
            if self.codec().overlap() {
                note(items.own, items.value);
            }
            let other = alternates(self.level, &items);
            note(other, _mm512_xor_epi64(items.value, splat(ALTERNATE)));
        }
    }

    #[target_feature(enable = "avx512f,avx512dq")]
    fn test_moves(&self, moves: &mut GroupMoves) {
        let base = self.segment_bases(load(&moves.segment));
        let (mut free, mut first) = (0, splat(0));
        let buckets = &moves.bucket[..self.codec().candidate_moves()];
        for (number, buckets) in buckets.iter().enumerate().rev() {
            let read = self.read_at(base, self.first_bits(load(buckets)));
            let free_slots = self.free_slots(&read);
            let is_free = _mm512_test_epi64_mask(free_slots, free_slots);
            free |= is_free;
            first = _mm512_mask_blend_epi64(is_free, first, splat(number as u64));
        }
        moves.free = free;
        store(&mut moves.first, first);
    }

    /// What is at these positions of buckets.
    #[target_feature(enable = "avx512f,avx512dq")]
    fn items(&self, number: __m512i, buckets: &Buckets, position: __m512i) -> Items {
        let codec = self.codec();
        let offset = _mm512_mul_epu32(position, splat(codec.lane_bits.into()));
        let low = _mm512_srlv_epi64(buckets.lanes(), offset);
        let mut stored = _mm512_and_epi64(low, splat(codec.lane_mask));
        if codec.encoding == Encoding::Wide {
            let rest = self.rests(buckets, position);
            stored = _mm512_or_epi64(stored, shift_left(rest, codec.lane_bits));
        }
        if !codec.overlap() {
            return Items { own: number, value: stored };
        }
        overlapping_items(_mm512_add_epi64(number, position), stored)
    }
}

/// [`LevelGeometry::alternate`], eight times: the buckets.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn alternates(level: &LevelGeometry, items: &Items) -> __m512i {
    let buckets = splat(level.buckets);
    let fingerprint = shift_right(items.value, level.codec.tag_bits);
    let mixed = _mm512_mullo_epi64(fingerprint, splat(LevelGeometry::OFFSET_FACTOR));
    let offset = _mm512_mul_epu32(_mm512_srli_epi64::<32>(mixed), buckets);
    let offset = _mm512_srli_epi64::<32>(offset);
    let in_alternate = _mm512_test_epi64_mask(items.value, splat(ALTERNATE));
    let back = _mm512_sub_epi64(buckets, offset);
    let distance = _mm512_mask_blend_epi64(in_alternate, offset, back);
    let other = _mm512_add_epi64(items.own, distance);
    // A bucket below `buckets` wraps to a large number.
    _mm512_min_epu64(other, _mm512_sub_epi64(other, buckets))
}

/// [`SlotCodec::own_bucket`](crate::kernel::SlotCodec::own_bucket) for slots of overlapping buckets, eight
/// times.
#[target_feature(enable = "avx512f")]
pub(super) fn overlapping_items(slot: __m512i, stored: __m512i) -> Items {
    let position = _mm512_srli_epi64::<1>(_mm512_and_epi64(stored, splat(POSITION)));
    let value = _mm512_andnot_epi64(splat(POSITION), stored);
    Items { own: _mm512_sub_epi64(slot, position), value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::EvictionChain;
    use crate::kernel::instructions::check_compared;
    use crate::kernel::{AnyLevel, Probe};
    use crate::{CuckooFilter, KeyHash, Layout, WhenFull};

    /// Full buckets of a filter, as eviction chains that are there.
    fn chains(filter: &CuckooFilter) -> Vec<EvictionChain> {
        let places = (0..filter.segments() as u32).flat_map(|segment| {
            let (level, place) = (filter.level_of(segment), filter.segment(segment));
            let is_full = move |bucket: &u64| {
                let read = level.codec().read(place, *bucket);
                !level.codec().free_slots(place, &read).any()
            };
            (0..level.buckets()).filter(is_full).map(move |primary| (segment, primary))
        });
        let probes = places.zip(0..).map(|((segment, primary), number)| {
            let value = number << filter.level_of(segment).codec.tag_bits;
            Probe { segment, primary, alternate: 0, value }
        });
        probes.map(|probe| EvictionChain::new(&probe)).collect()
    }

    #[test]
    fn groups_find_the_moves_of_single_chains() {
        let (mut free, mut evicting) = (0, 0);
        let layouts = [1, 2, 4, 8].map(|slots| (Layout::Buckets, slots));
        for (layout, slots) in layouts.into_iter().chain([(Layout::Overlapping, 2)]) {
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
                let table = filter.uniform_table().unwrap();
                for group in chains(&filter).as_chunks::<GROUP>().0 {
                    let mut moves = GroupMoves {
                        segment: group.map(|it| it.segment().into()),
                        from: group.map(|it| it.bucket()),
                        ..GroupMoves::default()
                    };
                    if !find_moves(table, &mut moves) || !test_moves(table, &mut moves) {
                        continue;
                    }
                    for (number, chain) in group.iter().enumerate() {
                        let codec = filter.level_of(chain.segment()).codec();
                        let candidate = moves.next(codec, number, chain.victim(codec.slots));
                        assert_eq!(candidate, filter.next_move(AnyLevel, chain), "{filter:?}");
                        *(if candidate.has_free_slot { &mut free } else { &mut evicting }) += 1;
                    }
                }
            }
        }
        check_compared(free, 1000);
        check_compared(evicting, 1000);
    }
}

//! Foreseeing what the inserts or removals of a group of keys will find.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_epi64, _mm512_castsi256_si512, _mm512_cmplt_epu64_mask,
    _mm512_conflict_epi32, _mm512_cvtepi64_epi32, _mm512_inserti64x4, _mm512_mask_blend_epi64,
    _mm512_mul_epu32, _mm512_or_epi64, _mm512_popcnt_epi64, _mm512_set1_epi32, _mm512_slli_epi64,
    _mm512_sllv_epi64, _mm512_srli_epi64, _mm512_sub_epi64, _mm512_test_epi32_mask,
    _mm512_test_epi64_mask, _mm512_xor_epi64,
};

use super::look::{Buckets, Looked};
use super::{LANES, Vectorized, gather, load, part_of, shift_right, splat, store};
use crate::batch::{Finds, LocatedKeys, Outlook, Slots, WIDTH};
use crate::bucket::{Form, Lane};
use crate::filter::CuckooFilter;
use crate::geometry::PARTNER;
use crate::prepared::Copies;

/// Looks at the buckets of a group of located keys as they are now; false if the processor lacks the
/// instructions or the filter's form does not suit them: then nothing is done.
#[inline]
pub(crate) fn foresee(
    filter: &CuckooFilter,
    keys: &LocatedKeys,
    copies: Copies,
    outlook: &mut Outlook,
) -> bool {
    let able = is_x86_feature_detected!("avx512vpopcntdq");
    let Some(vectorized) = Vectorized::of(filter).filter(|it| able && it.can_look()) else {
        return false;
    };
    // SAFETY: the processor has the instructions.
    unsafe { vectorized.foresee(keys, copies, outlook) };
    true
}

/// Looks for a group of located keys as the buckets are now; false as for [`foresee`].
#[inline]
pub(crate) fn find(filter: &CuckooFilter, keys: &LocatedKeys, finds: &mut Finds) -> bool {
    let Some(vectorized) = Vectorized::of(filter).filter(Vectorized::can_look) else {
        return false;
    };
    // SAFETY: `of` has checked that the processor has the instructions.
    unsafe { vectorized.find(keys, finds) };
    true
}

/// Eight keys and their buckets, as they were read.
struct Pairs {
    value: __m512i,
    primary_bit: __m512i,
    primary: Buckets,
    partner_bit: __m512i,
    partner: Buckets,
}

impl Pairs {
    /// # Safety
    ///
    /// The keys were located in a filter that is borrowed.
    #[target_feature(enable = "avx512f")]
    unsafe fn read(keys: &LocatedKeys, part: usize) -> Self {
        let values_of = |values: &[u64; WIDTH]| load(&values.as_chunks().0[part]);
        let base = values_of(&keys.base);
        let read = |bit| {
            let address = _mm512_add_epi64(base, _mm512_srli_epi64::<3>(bit));
            // SAFETY: the caller's promise: buckets of that filter.
            let word = unsafe { gather(address) };
            Buckets { address, shift: _mm512_and_epi64(bit, splat(7)), word }
        };
        let (primary_bit, partner_bit) =
            (values_of(&keys.primary_bit), values_of(&keys.partner_bit));
        let (primary, partner) = (read(primary_bit), read(partner_bit));
        Self { value: values_of(&keys.value), primary_bit, primary, partner_bit, partner }
    }
}

/// Which keys of a group come behind one of these in the same segment.
#[target_feature(enable = "avx512f,avx512cd")]
fn behind(keys: &LocatedKeys, these: u16) -> u16 {
    if these == 0 {
        return 0;
    }
    let [first, second] = keys.segment.as_chunks().0 else { unreachable!("two vectors of keys") };
    let [first, second] = [first, second].map(|part| _mm512_cvtepi64_epi32(load(part)));
    let segments = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second);
    let earlier = _mm512_conflict_epi32(segments);
    _mm512_test_epi32_mask(earlier, _mm512_set1_epi32(these.into()))
}

impl Vectorized<'_> {
    #[target_feature(enable = "avx512f,avx512dq,avx512cd,avx512vpopcntdq")]
    fn foresee(&self, keys: &LocatedKeys, copies: Copies, outlook: &mut Outlook) {
        outlook.forget();
        for part in 0..WIDTH / LANES {
            self.foresee_part(keys, outlook, part);
        }
        let passed = if copies == Copies::Keep { outlook.held } else { 0 };
        let in_the_way = !(outlook.open | passed);
        outlook.ready = outlook.open & !behind(keys, in_the_way);
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd,avx512vpopcntdq")]
    fn foresee_part(&self, keys: &LocatedKeys, outlook: &mut Outlook, part: usize) {
        // SAFETY: the keys were located in this filter, which is borrowed.
        let pairs = unsafe { Pairs::read(keys, part) };
        let Pairs { value, primary, partner, .. } = &pairs;
        store(part_of(&mut outlook.primary_word, part), primary.word);
        store(part_of(&mut outlook.partner_word, part), partner.word);
        let looked = self.look(primary, partner, *value);
        let (here, there) = (self.empties(primary), self.empties(partner));
        let to_partner =
            _mm512_cmplt_epu64_mask(_mm512_popcnt_epi64(here), _mm512_popcnt_epi64(there));
        let empties = _mm512_mask_blend_epi64(to_partner, here, there);
        self.note(&mut outlook.free, part, &pairs, (!to_partner, empties));
        let bits = |mask: u8| u16::from(mask) << (part * LANES);
        let has_room = _mm512_test_epi64_mask(empties, empties);
        let absent = !(looked.found | looked.doubtful);
        outlook.held |= bits(looked.found);
        outlook.full |= bits(absent & !has_room);
        outlook.open |= bits(absent & has_room);
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn find(&self, keys: &LocatedKeys, finds: &mut Finds) {
        finds.forget();
        for part in 0..WIDTH / LANES {
            self.find_part(keys, finds, part);
        }
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn find_part(&self, keys: &LocatedKeys, finds: &mut Finds, part: usize) {
        // SAFETY: the keys were located in this filter, which is borrowed.
        let pairs = unsafe { Pairs::read(keys, part) };
        let Looked { found, doubtful, in_primary, marks } =
            self.look(&pairs.primary, &pairs.partner, pairs.value);
        let word = _mm512_mask_blend_epi64(in_primary, pairs.partner.word, pairs.primary.word);
        store(part_of(&mut finds.word, part), word);
        self.note(&mut finds.slot, part, &pairs, (in_primary, marks));
        let bits = |mask: u8| u16::from(mask) << (part * LANES);
        finds.found |= bits(found);
        finds.absent |= bits(!(found | doubtful));
    }

    /// Notes the first marked slot of eight keys, in their primary buckets where a bit is set, else in
    /// their partners.
    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn note(
        &self,
        slots: &mut Slots,
        part: usize,
        pairs: &Pairs,
        (in_primary, marks): (u8, __m512i),
    ) {
        let select = |primary, partner| _mm512_mask_blend_epi64(in_primary, partner, primary);
        let Lane { bits, mask, .. } = self.shape.lanes.lane();
        let position = self.first_position(marks);
        let mut value = select(pairs.value, _mm512_or_epi64(pairs.value, splat(PARTNER)));
        if self.shape.lanes.overlap() {
            value = _mm512_or_epi64(value, _mm512_slli_epi64::<1>(position));
        }
        let bit = select(pairs.primary_bit, pairs.partner_bit);
        let offset = _mm512_mul_epu32(position, splat(bits.into()));
        let shift = _mm512_add_epi64(offset, select(pairs.primary.shift, pairs.partner.shift));
        let mut change = _mm512_sllv_epi64(_mm512_and_epi64(value, splat(mask)), shift);
        if self.shape.lanes.form == Form::Wide {
            let (rest_word, shift) = self.rest_places(bit, position);
            let rest = _mm512_sllv_epi64(shift_right(value, bits), shift);
            // The two words may share bytes; what is shifted by more than a word is 0.
            let between = _mm512_sub_epi64(rest_word, _mm512_and_epi64(bit, splat(!7)));
            change = _mm512_xor_epi64(change, _mm512_sllv_epi64(rest, between));
            store(part_of(&mut slots.rest_word, part), rest_word);
            store(part_of(&mut slots.rest_change, part), rest);
        }
        let word = select(pairs.primary.word, pairs.partner.word);
        store(part_of(&mut slots.bit, part), bit);
        store(part_of(&mut slots.word, part), _mm512_xor_epi64(word, change));
    }
}

//! Foreseeing what the inserts of a group of keys will find.

use std::arch::x86_64::{
    _mm512_add_epi64, _mm512_and_epi64, _mm512_cmplt_epu64_mask, _mm512_mask_blend_epi64,
    _mm512_mul_epu32, _mm512_or_epi64, _mm512_popcnt_epi64, _mm512_slli_epi64, _mm512_sllv_epi64,
    _mm512_srli_epi64, _mm512_test_epi64_mask,
};

use super::look::Buckets;
use super::{LANES, Vectorized, gather, load, part_of, splat, store};
use crate::batch::{LocatedKeys, Outlook, WIDTH};
use crate::filter::CuckooFilter;
use crate::geometry::PARTNER;

/// Looks at the buckets of a group of located keys as they are now; false if the processor lacks the
/// instructions or the filter's form does not suit them: then nothing is done.
#[inline]
pub(crate) fn foresee(filter: &CuckooFilter, keys: &LocatedKeys, outlook: &mut Outlook) -> bool {
    let able = is_x86_feature_detected!("avx512vpopcntdq");
    let Some(vectorized) = Vectorized::of(filter).filter(|it| able && it.can_look()) else {
        return false;
    };
    // SAFETY: the processor has the instructions.
    unsafe { vectorized.foresee(keys, outlook) };
    true
}

impl Vectorized<'_> {
    #[target_feature(enable = "avx512f,avx512dq,avx512cd,avx512vpopcntdq")]
    fn foresee(&self, keys: &LocatedKeys, outlook: &mut Outlook) {
        (outlook.held, outlook.full, outlook.open) = (0, 0, 0);
        for part in 0..WIDTH / LANES {
            self.foresee_part(keys, outlook, part);
        }
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd,avx512vpopcntdq")]
    fn foresee_part(&self, keys: &LocatedKeys, outlook: &mut Outlook, part: usize) {
        let values_of = |values: &[u64; WIDTH]| load(&values.as_chunks().0[part]);
        let base = values_of(&keys.base);
        let (primary_bit, partner_bit) =
            (values_of(&keys.primary_bit), values_of(&keys.partner_bit));
        let read = |bit, words: &mut [u64; WIDTH]| {
            let address = _mm512_add_epi64(base, _mm512_srli_epi64::<3>(bit));
            // SAFETY: the keys were located in this filter, which is borrowed.
            let word = unsafe { gather(address) };
            store(part_of(words, part), word);
            Buckets { address, shift: _mm512_and_epi64(bit, splat(7)), word }
        };
        let primary = read(primary_bit, &mut outlook.primary_word);
        let partner = read(partner_bit, &mut outlook.partner_word);
        let value = values_of(&keys.value);
        let looked = self.look(&primary, &partner, value);
        let (here, there) = (self.empties(&primary), self.empties(&partner));
        let to_partner =
            _mm512_cmplt_epu64_mask(_mm512_popcnt_epi64(here), _mm512_popcnt_epi64(there));
        let select = |here, there| _mm512_mask_blend_epi64(to_partner, here, there);
        let empties = select(here, there);
        let position = self.first_position(empties);
        let mut value = select(value, _mm512_or_epi64(value, splat(PARTNER)));
        if self.shape.lanes.overlap() {
            value = _mm512_or_epi64(value, _mm512_slli_epi64::<1>(position));
        }
        let offset = _mm512_mul_epu32(position, splat(self.shape.lanes.lane().bits.into()));
        let offset = _mm512_add_epi64(offset, select(primary.shift, partner.shift));
        let word = select(primary.word, partner.word);
        let word = _mm512_or_epi64(word, _mm512_sllv_epi64(value, offset));
        store(part_of(&mut outlook.bit, part), select(primary_bit, partner_bit));
        store(part_of(&mut outlook.position, part), position);
        store(part_of(&mut outlook.value, part), value);
        store(part_of(&mut outlook.word, part), word);
        let bits = |mask: u8| u16::from(mask) << (part * LANES);
        let has_room = _mm512_test_epi64_mask(empties, empties);
        let absent = !(looked.found | looked.doubtful);
        outlook.held |= bits(looked.found);
        outlook.full |= bits(absent & !has_room);
        outlook.open |= bits(absent & has_room);
    }
}

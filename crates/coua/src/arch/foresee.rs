//! Foreseeing what the inserts of a group of keys will find.

use std::arch::x86_64::{
    _mm512_add_epi64, _mm512_and_epi64, _mm512_cmplt_epu64_mask, _mm512_mask_blend_epi64,
    _mm512_popcnt_epi64, _mm512_srli_epi64, _mm512_test_epi64_mask,
};

use super::look::Buckets;
use super::{LANES, Vectorized, gather, load, part_of, splat, store};
use crate::batch::{LocatedKeys, Outlook, WIDTH};
use crate::filter::CuckooFilter;

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
        (outlook.to_partner, outlook.held, outlook.full, outlook.doubtful) = (0, 0, 0, 0);
        for part in 0..WIDTH / LANES {
            self.foresee_part(keys, outlook, part);
        }
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd,avx512vpopcntdq")]
    fn foresee_part(&self, keys: &LocatedKeys, outlook: &mut Outlook, part: usize) {
        let values_of = |values: &[u64; WIDTH]| load(&values.as_chunks().0[part]);
        let base = self.segment_bases(values_of(&keys.segment));
        let read = |numbers: &[u64; WIDTH], bits: &mut [u64; WIDTH], words: &mut [u64; WIDTH]| {
            let bit = self.first_bits(values_of(numbers));
            let address = _mm512_add_epi64(base, _mm512_srli_epi64::<3>(bit));
            // SAFETY: the keys were located in this filter, which is borrowed.
            let word = unsafe { gather(address) };
            store(part_of(bits, part), bit);
            store(part_of(words, part), word);
            Buckets { address, shift: _mm512_and_epi64(bit, splat(7)), word }
        };
        let primary = read(&keys.primary, &mut outlook.primary_bit, &mut outlook.primary_word);
        let partner = read(&keys.partner, &mut outlook.partner_bit, &mut outlook.partner_word);
        let looked = self.look(&primary, &partner, values_of(&keys.value));
        let (here, there) = (self.empties(&primary), self.empties(&partner));
        let to_partner =
            _mm512_cmplt_epu64_mask(_mm512_popcnt_epi64(here), _mm512_popcnt_epi64(there));
        let empties = _mm512_mask_blend_epi64(to_partner, here, there);
        store(part_of(&mut outlook.position, part), self.first_position(empties));
        let bits = |mask: u8| u16::from(mask) << (part * LANES);
        outlook.to_partner |= bits(to_partner);
        outlook.held |= bits(looked.found);
        outlook.full |= bits(!_mm512_test_epi64_mask(empties, empties));
        outlook.doubtful |= bits(looked.doubtful);
    }
}

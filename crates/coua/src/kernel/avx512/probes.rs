//! Probing what the inserts or removals of a group of keys will find.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_epi64, _mm512_castsi256_si512, _mm512_cmplt_epu64_mask,
    _mm512_conflict_epi32, _mm512_cvtepi64_epi32, _mm512_inserti64x4, _mm512_mask_blend_epi64,
    _mm512_mul_epu32, _mm512_or_epi64, _mm512_popcnt_epi64, _mm512_set1_epi32, _mm512_slli_epi64,
    _mm512_sllv_epi64, _mm512_sub_epi64, _mm512_test_epi32_mask, _mm512_test_epi64_mask,
    _mm512_xor_epi64,
};

use super::lookup::LookupResult;
use super::{Buckets, LANES, Vectors, load, part_of, shift_right, splat, store};
use crate::kernel::codec::{Encoding, SlotCodec};
use crate::kernel::instructions::has_avx512_popcnt;
use crate::kernel::probe::ALTERNATE;
use crate::kernel::probes::{
    IfPresent, InsertProbes, KeyGroup, RemoveProbes, SlotChanges, UniformTable, WIDTH,
};

/// Looks at the buckets of a group of located keys as they are now.
#[inline]
pub(crate) fn probe_inserts(
    table: UniformTable<'_>,
    keys: &KeyGroup,
    if_present: IfPresent,
    probes: &mut InsertProbes,
) -> bool {
    let Some(vectors) = Vectors::on_lanes(table).filter(|_| has_avx512_popcnt()) else {
        return false;
    };
    // SAFETY: the processor has the instructions.
    unsafe { vectors.probe_inserts(keys, if_present, probes) };
    true
}

/// Looks for a group of located keys as the buckets are now.
#[inline]
pub(crate) fn probe_removals(
    table: UniformTable<'_>,
    keys: &KeyGroup,
    probes: &mut RemoveProbes,
) -> bool {
    let Some(vectors) = Vectors::on_lanes(table) else {
        return false;
    };
    // SAFETY: `Vectors` has checked that the processor has the instructions.
    unsafe { vectors.probe_removals(keys, probes) };
    true
}

/// Eight keys and their buckets, as they were read.
struct Pairs {
    value: __m512i,
    primary_bit: __m512i,
    primary: Buckets,
    alternate_bit: __m512i,
    alternate: Buckets,
}

/// Which keys of a group come after one of these in the same segment.
#[target_feature(enable = "avx512f,avx512cd")]
fn after(keys: &KeyGroup, these: u16) -> u16 {
    if these == 0 {
        return 0;
    }
    let [first, second] = keys.segment.as_chunks().0 else { unreachable!("two vectors of keys") };
    let [first, second] = [first, second].map(|part| _mm512_cvtepi64_epi32(load(part)));
    let segments = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(first), second);
    let earlier = _mm512_conflict_epi32(segments);
    _mm512_test_epi32_mask(earlier, _mm512_set1_epi32(these.into()))
}

impl Vectors<'_> {
    #[target_feature(enable = "avx512f,avx512dq")]
    fn read_pairs(&self, keys: &KeyGroup, part: usize) -> Pairs {
        let values_of = |values: &[u64; WIDTH]| load(&values.as_chunks().0[part]);
        let base = self.segment_bases(values_of(&keys.segment));
        let (primary_bit, alternate_bit) =
            (values_of(&keys.primary_bit), values_of(&keys.alternate_bit));
        let primary = self.read_at(base, primary_bit);
        let alternate = self.read_at(base, alternate_bit);
        Pairs { value: values_of(&keys.value), primary_bit, primary, alternate_bit, alternate }
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd,avx512vpopcntdq")]
    fn probe_inserts(&self, keys: &KeyGroup, if_present: IfPresent, probes: &mut InsertProbes) {
        probes.forget();
        for part in 0..WIDTH / LANES {
            self.probe_inserts_part(keys, probes, part);
        }
        let skipped = if if_present == IfPresent::Skip { probes.held } else { 0 };
        probes.ready = probes.placeable & !after(keys, !(probes.placeable | skipped));
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd,avx512vpopcntdq")]
    fn probe_inserts_part(&self, keys: &KeyGroup, probes: &mut InsertProbes, part: usize) {
        let pairs = self.read_pairs(keys, part);
        let Pairs { value, primary, alternate, .. } = &pairs;
        store(part_of(&mut probes.primary_word, part), primary.word);
        store(part_of(&mut probes.alternate_word, part), alternate.word);
        let result = self.lookup(primary, alternate, *value);
        let (here, there) = (self.free_slots(primary), self.free_slots(alternate));
        let to_alternate =
            _mm512_cmplt_epu64_mask(_mm512_popcnt_epi64(here), _mm512_popcnt_epi64(there));
        let free_slots = _mm512_mask_blend_epi64(to_alternate, here, there);
        self.note(&mut probes.free, part, &pairs, (!to_alternate, free_slots));
        let bits = |mask: u8| u16::from(mask) << (part * LANES);
        let has_free_slot = _mm512_test_epi64_mask(free_slots, free_slots);
        let absent = !(result.found | result.doubtful);
        probes.held |= bits(result.found);
        probes.full |= bits(absent & !has_free_slot);
        probes.placeable |= bits(absent & has_free_slot);
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn probe_removals(&self, keys: &KeyGroup, probes: &mut RemoveProbes) {
        probes.forget();
        for part in 0..WIDTH / LANES {
            self.probe_removals_part(keys, probes, part);
        }
    }

    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn probe_removals_part(&self, keys: &KeyGroup, probes: &mut RemoveProbes, part: usize) {
        let pairs = self.read_pairs(keys, part);
        let LookupResult { found, doubtful, in_primary, marks } =
            self.lookup(&pairs.primary, &pairs.alternate, pairs.value);
        let word = _mm512_mask_blend_epi64(in_primary, pairs.alternate.word, pairs.primary.word);
        store(part_of(&mut probes.word, part), word);
        self.note(&mut probes.slot, part, &pairs, (in_primary, marks));
        let bits = |mask: u8| u16::from(mask) << (part * LANES);
        probes.found |= bits(found);
        probes.absent |= bits(!(found | doubtful));
    }

    /// Notes the change of each key's first marked slot. It is in the primary bucket where a bit of
    /// `in_primary` is set, else in the alternate one.
    #[target_feature(enable = "avx512f,avx512dq,avx512cd")]
    fn note(
        &self,
        slots: &mut SlotChanges,
        part: usize,
        pairs: &Pairs,
        (in_primary, marks): (u8, __m512i),
    ) {
        let select = |primary, alternate| _mm512_mask_blend_epi64(in_primary, alternate, primary);
        let &SlotCodec { lane_bits, lane_mask, .. } = self.codec();
        let position = self.first_position(marks);
        let mut value = select(pairs.value, _mm512_or_epi64(pairs.value, splat(ALTERNATE)));
        if self.codec().overlap() {
            value = _mm512_or_epi64(value, _mm512_slli_epi64::<1>(position));
        }
        let bit = select(pairs.primary_bit, pairs.alternate_bit);
        let offset = _mm512_mul_epu32(position, splat(lane_bits.into()));
        let shift = _mm512_add_epi64(offset, select(pairs.primary.shift, pairs.alternate.shift));
        let mut change = _mm512_sllv_epi64(_mm512_and_epi64(value, splat(lane_mask)), shift);
        if self.codec().encoding == Encoding::Wide {
            let (rest_word, shift) = self.rest_places(bit, position);
            let rest = _mm512_sllv_epi64(shift_right(value, lane_bits), shift);
            // The two words may share bytes; what is shifted by more than a word is 0.
            let between = _mm512_sub_epi64(rest_word, _mm512_and_epi64(bit, splat(!7)));
            change = _mm512_xor_epi64(change, _mm512_sllv_epi64(rest, between));
            store(part_of(&mut slots.rest_word, part), rest_word);
            store(part_of(&mut slots.rest_change, part), rest);
        }
        let word = select(pairs.primary.word, pairs.alternate.word);
        store(part_of(&mut slots.bit, part), bit);
        store(part_of(&mut slots.word, part), _mm512_xor_epi64(word, change));
    }
}

//! Eight slots that lie side by side: out of the bytes of a segment, and into them.
//!
//! Eight slots of n bits are n whole bytes.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_and_epi64, _mm512_loadu_si512, _mm512_maskz_permutexvar_epi8,
    _mm512_mullo_epi64, _mm512_or_epi64, _mm512_permutexvar_epi8, _mm512_sllv_epi64,
    _mm512_srlv_epi64, _mm512_storeu_si512,
};

use super::{LANES, load, shift_left, shift_right, splat};
use crate::kernel::codec::{Encoding, SlotCodec};

/// Bytes of a vector; those of eight slots are fewer.
const BYTES: usize = 64;

/// One field of each of eight slots: where it begins in their bytes, and how long it is, in bits.
struct Fields {
    first: [u64; LANES],
    bits: u32,
}

/// The fields that slots consist of: the lower bits, and those above them.
fn fields_of(codec: &SlotCodec) -> (Fields, Option<Fields>) {
    if codec.encoding != Encoding::Wide {
        let bits = codec.slot_bits;
        let first = std::array::from_fn(|slot| slot as u64 * u64::from(bits));
        return (Fields { first, bits }, None);
    }
    let &SlotCodec { slots, bucket_bits, lane_bits, rest_bits, .. } = codec;
    let places = std::array::from_fn(|slot| {
        let slots = slots as usize;
        ((slot / slots) as u64 * bucket_bits, (slot % slots) as u64)
    });
    let low = places.map(|(bucket, position)| bucket + position * u64::from(lane_bits));
    let rest = places.map(|(bucket, position)| bucket + codec.rest_bit(position as u32));
    let rest = Fields { first: rest, bits: rest_bits };
    (Fields { first: low, bits: lane_bits }, Some(rest))
}

/// Takes values out of bytes.
pub(super) struct Unpacking {
    low: Source,
    rest: Option<Source>,
    low_bits: u32,
    bytes: usize,
}

/// Where fields come from.
struct Source {
    /// Of each byte of eight words, which begin with a field each.
    bytes: __m512i,
    shift: __m512i,
    mask: __m512i,
}

impl Unpacking {
    #[target_feature(enable = "avx512f,avx512dq")]
    pub(super) fn of(codec: &SlotCodec) -> Self {
        let (low, rest) = fields_of(codec);
        Self {
            low_bits: low.bits,
            low: Source::of(&low),
            rest: rest.map(|rest| Source::of(&rest)),
            bytes: codec.slot_bits as usize,
        }
    }

    /// The values of a group of eight slots, in the bytes of a segment.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn values(&self, segment: &[u8], group: usize) -> __m512i {
        let rest = &segment[group * self.bytes..];
        let bytes = if let Some(bytes) = rest.first_chunk() {
            load_bytes(bytes)
        } else {
            let mut bytes = [0; BYTES];
            bytes[..rest.len()].copy_from_slice(rest);
            load_bytes(&bytes)
        };
        let low = self.low.fields(bytes);
        match &self.rest {
            Some(rest) => _mm512_or_epi64(low, shift_left(rest.fields(bytes), self.low_bits)),
            None => low,
        }
    }
}

impl Source {
    #[target_feature(enable = "avx512f,avx512dq")]
    fn of(fields: &Fields) -> Self {
        let first = load(&fields.first);
        let first_bytes = _mm512_mullo_epi64(shift_right(first, 3), splat(0x0101_0101_0101_0101));
        Self {
            bytes: _mm512_add_epi64(first_bytes, splat(0x0706_0504_0302_0100)),
            shift: _mm512_and_epi64(first, splat(7)),
            mask: splat((1 << fields.bits) - 1),
        }
    }

    #[target_feature(enable = "avx512f,avx512vbmi")]
    fn fields(&self, bytes: __m512i) -> __m512i {
        let words = _mm512_permutexvar_epi8(self.bytes, bytes);
        _mm512_and_epi64(_mm512_srlv_epi64(words, self.shift), self.mask)
    }
}

/// Puts values into bytes.
pub(super) struct Packing {
    low: Target,
    rest: Option<Target>,
    low_mask: u64,
    low_bits: u32,
    bytes: usize,
}

/// Where fields go to.
struct Target {
    shift: __m512i,
    groups: [Group; LANES],
    count: usize,
}

/// Fields that have no byte in common.
#[derive(Clone, Copy)]
struct Group {
    /// The bytes that they take, a bit for each.
    taken: u64,
    /// Which byte of eight words goes to each of those.
    from: [u8; BYTES],
}

impl Packing {
    #[target_feature(enable = "avx512f")]
    pub(super) fn of(codec: &SlotCodec) -> Self {
        let (low, rest) = fields_of(codec);
        Self {
            low_mask: (1 << low.bits) - 1,
            low_bits: low.bits,
            low: Target::of(&low),
            rest: rest.map(|rest| Target::of(&rest)),
            bytes: codec.slot_bits as usize,
        }
    }

    /// Writes a group of eight slots into the bytes of a segment. The bytes after it become 0, so groups must
    /// be written in order.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn write(&self, segment: &mut [u8], group: usize, values: __m512i) {
        let mut bytes = self.low.bytes(_mm512_and_epi64(values, splat(self.low_mask)));
        if let Some(rest) = &self.rest {
            bytes = _mm512_or_epi64(bytes, rest.bytes(shift_right(values, self.low_bits)));
        }
        let segment = &mut segment[group * self.bytes..];
        if let Some(target) = segment.first_chunk_mut() {
            store_bytes(target, bytes);
        } else {
            let mut last = [0; BYTES];
            store_bytes(&mut last, bytes);
            segment.copy_from_slice(&last[..segment.len()]);
        }
    }
}

impl Target {
    #[target_feature(enable = "avx512f")]
    fn of(fields: &Fields) -> Self {
        let mut groups = [Group { taken: 0, from: [0; BYTES] }; LANES];
        let mut count = 0;
        for (slot, first) in fields.first.into_iter().enumerate() {
            let [begin, last] = [first, first + u64::from(fields.bits) - 1].map(|bit| bit / 8);
            let bytes = (begin..=last).fold(0, |bytes, byte| bytes | 1u64 << byte);
            let fits = |group: &Group| group.taken & bytes == 0;
            let number = groups.iter().position(fits).expect("one for each field");
            groups[number].taken |= bytes;
            for (byte, to) in (begin..=last).enumerate() {
                groups[number].from[to as usize] = (slot * LANES + byte) as u8;
            }
            count = count.max(number + 1);
        }
        Self { shift: load(&fields.first.map(|first| first % 8)), groups, count }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn bytes(&self, fields: __m512i) -> __m512i {
        let words = _mm512_sllv_epi64(fields, self.shift);
        let mut bytes = splat(0);
        for Group { taken, from } in &self.groups[..self.count] {
            let moved = _mm512_maskz_permutexvar_epi8(*taken, load_bytes(from), words);
            bytes = _mm512_or_epi64(bytes, moved);
        }
        bytes
    }
}

#[target_feature(enable = "avx512f")]
fn load_bytes(bytes: &[u8; BYTES]) -> __m512i {
    // SAFETY: as many bytes are there.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn store_bytes(bytes: &mut [u8; BYTES], vector: __m512i) {
    // SAFETY: there is space for as many bytes.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) };
}

//! What no [`Vector`](super::vector::Vector) expresses well: slots out of the bytes of a segment and into them,
//! eight at a time, by permutations of bytes (AVX-512 VBMI).
//!
//! Where a function returns false it did nothing: the instructions are lacking, or the buckets do not suit them.

#![expect(unsafe_code, reason = "vector instructions")]

mod fields;
mod split;

use std::arch::x86_64::{
    __m512i, _mm_cvtsi64_si128, _mm512_loadu_si512, _mm512_set1_epi64, _mm512_sll_epi64,
    _mm512_srl_epi64, _mm512_storeu_si512,
};

pub(crate) use split::{find_moved, keep, pack};

/// Numbers in a vector.
const LANES: usize = 8;

#[target_feature(enable = "avx512f")]
fn splat(value: u64) -> __m512i {
    _mm512_set1_epi64(value.cast_signed())
}

#[target_feature(enable = "avx512f")]
fn shift_left(value: __m512i, bits: u32) -> __m512i {
    _mm512_sll_epi64(value, _mm_cvtsi64_si128(i64::from(bits)))
}

#[target_feature(enable = "avx512f")]
fn shift_right(value: __m512i, bits: u32) -> __m512i {
    _mm512_srl_epi64(value, _mm_cvtsi64_si128(i64::from(bits)))
}

#[target_feature(enable = "avx512f")]
fn load(values: &[u64; LANES]) -> __m512i {
    // SAFETY: eight values are there.
    unsafe { _mm512_loadu_si512(values.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
fn store(values: &mut [u64; LANES], vector: __m512i) {
    // SAFETY: there is space for eight values.
    unsafe { _mm512_storeu_si512(values.as_mut_ptr().cast(), vector) };
}

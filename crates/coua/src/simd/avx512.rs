//! Vectors of eight numbers: AVX-512 F and DQ.

#![expect(unsafe_code, reason = "vector instructions")]

use std::arch::x86_64 as x86;
use std::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

use super::{Isa, Kernel, Vector};

/// The proof that the processor has the instructions.
#[derive(Clone, Copy)]
struct Avx512(());

/// Eight numbers.
#[derive(Clone, Copy, Debug)]
struct Eight(x86::__m512i);

/// Runs a kernel.
///
/// # Safety
///
/// The processor has [`InstructionSet::Avx512`](super::InstructionSet::Avx512).
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx2,popcnt,bmi1,bmi2,lzcnt")]
pub(super) fn run<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(Avx512(()))
}

impl Isa for Avx512 {
    type Vector = Eight;

    #[inline(always)]
    fn splat(self, value: u64) -> Eight {
        Eight(instruction!(x86::_mm512_set1_epi64(value.cast_signed())))
    }

    #[inline(always)]
    fn load(self, values: &[u64]) -> Eight {
        let values = values[..Eight::LANES].as_ptr();
        // SAFETY: eight values are there, and the processor has the instructions.
        Eight(unsafe { x86::_mm512_loadu_si512(values.cast()) })
    }
}

operator!(Eight, Add, add, Self, |a, b| instruction!(x86::_mm512_add_epi64(a.0, b.0)));
operator!(Eight, Sub, sub, Self, |a, b| instruction!(x86::_mm512_sub_epi64(a.0, b.0)));
operator!(Eight, BitAnd, bitand, Self, |a, b| instruction!(x86::_mm512_and_epi64(a.0, b.0)));
operator!(Eight, BitOr, bitor, Self, |a, b| instruction!(x86::_mm512_or_epi64(a.0, b.0)));
operator!(Eight, BitXor, bitxor, Self, |a, b| instruction!(x86::_mm512_xor_epi64(a.0, b.0)));
operator!(Eight, Shl, shl, u32, |a, bits| instruction!(x86::_mm512_sll_epi64(a.0, amount(bits))));
operator!(Eight, Shr, shr, u32, |a, bits| instruction!(x86::_mm512_srl_epi64(a.0, amount(bits))));
/// How far all numbers are shifted.
#[inline(always)]
fn amount(bits: u32) -> x86::__m128i {
    instruction!(x86::_mm_cvtsi64_si128(bits.into()))
}

impl Vector for Eight {
    const LANES: usize = 8;
    type Mask = u8;

    #[inline(always)]
    fn store(self, values: &mut [u64]) {
        let values = values[..Self::LANES].as_mut_ptr();
        // SAFETY: there is space for eight values, and the processor has the instructions.
        unsafe { x86::_mm512_storeu_si512(values.cast(), self.0) };
    }

    methods!(Self:
        and_not |a, b| Self(instruction!(x86::_mm512_andnot_epi64(b.0, a.0)));
        shl_each |a, bits| Self(instruction!(x86::_mm512_sllv_epi64(a.0, bits.0)));
        shr_each |a, bits| Self(instruction!(x86::_mm512_srlv_epi64(a.0, bits.0)));
        multiply_halves |a, b| Self(instruction!(x86::_mm512_mul_epu32(a.0, b.0)));
        multiply |a, b| Self(instruction!(x86::_mm512_mullo_epi64(a.0, b.0)));
        min |a, b| Self(instruction!(x86::_mm512_min_epu64(a.0, b.0)));
    );
    methods!(u8:
        equals |a, b| instruction!(x86::_mm512_cmpeq_epi64_mask(a.0, b.0));
        is_below |a, b| instruction!(x86::_mm512_cmplt_epu64_mask(a.0, b.0));
    );

    #[inline(always)]
    fn is_zero(self) -> u8 {
        instruction!(x86::_mm512_testn_epi64_mask(self.0, self.0))
    }

    #[inline(always)]
    fn select(mask: u8, yes: Self, no: Self) -> Self {
        Self(instruction!(x86::_mm512_mask_blend_epi64(mask, no.0, yes.0)))
    }

    #[inline(always)]
    fn bits(mask: u8) -> u8 {
        mask
    }

    #[inline(always)]
    fn compress(self, mask: u8) -> Self {
        Self(instruction!(x86::_mm512_mask_compress_epi64(self.0, mask, self.0)))
    }
}

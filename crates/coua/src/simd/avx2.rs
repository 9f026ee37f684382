//! Vectors of four numbers: AVX2.

#![expect(unsafe_code, reason = "vector instructions")]

use std::arch::x86_64 as x86;
use std::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

use super::{Isa, Kernel, Vector};

/// The proof that the processor has the instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Avx2(pub(super) ());

/// Four numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Four(pub(super) x86::__m256i);

/// Runs a kernel.
///
/// # Safety
///
/// The processor has [`InstructionSet::Avx2`](super::InstructionSet::Avx2).
#[inline]
#[target_feature(enable = "avx2,popcnt,bmi1,bmi2,lzcnt")]
pub(super) fn run<K: Kernel>(kernel: K) -> K::Output {
    kernel.run(Avx2(()))
}

impl Isa for Avx2 {
    type Vector = Four;

    #[inline(always)]
    fn splat(self, value: u64) -> Four {
        Four(instruction!(x86::_mm256_set1_epi64x(value.cast_signed())))
    }

    #[inline(always)]
    fn load(self, values: &[u64]) -> Four {
        let values = values[..Four::LANES].as_ptr();
        // SAFETY: four values are there, and the processor has the instructions.
        Four(unsafe { x86::_mm256_loadu_si256(values.cast()) })
    }
}

operator!(Four, Add, add, Self, |a, b| instruction!(x86::_mm256_add_epi64(a.0, b.0)));
operator!(Four, Sub, sub, Self, |a, b| instruction!(x86::_mm256_sub_epi64(a.0, b.0)));
operator!(Four, BitAnd, bitand, Self, |a, b| instruction!(x86::_mm256_and_si256(a.0, b.0)));
operator!(Four, BitOr, bitor, Self, |a, b| instruction!(x86::_mm256_or_si256(a.0, b.0)));
operator!(Four, BitXor, bitxor, Self, |a, b| instruction!(x86::_mm256_xor_si256(a.0, b.0)));
operator!(Four, Shl, shl, u32, |a, bits| instruction!(x86::_mm256_sll_epi64(a.0, amount(bits))));
operator!(Four, Shr, shr, u32, |a, bits| instruction!(x86::_mm256_srl_epi64(a.0, amount(bits))));
/// How far all numbers are shifted.
#[inline(always)]
fn amount(bits: u32) -> x86::__m128i {
    instruction!(x86::_mm_cvtsi64_si128(bits.into()))
}

impl Vector for Four {
    const LANES: usize = 4;
    type Mask = Self;

    #[inline(always)]
    fn store(self, values: &mut [u64]) {
        let values = values[..Self::LANES].as_mut_ptr();
        // SAFETY: there is space for four values, and the processor has the instructions.
        unsafe { x86::_mm256_storeu_si256(values.cast(), self.0) };
    }

    methods!(Self:
        and_not |a, b| Self(instruction!(x86::_mm256_andnot_si256(b.0, a.0)));
        shl_each |a, bits| Self(instruction!(x86::_mm256_sllv_epi64(a.0, bits.0)));
        shr_each |a, bits| Self(instruction!(x86::_mm256_srlv_epi64(a.0, bits.0)));
        multiply_halves |a, b| Self(instruction!(x86::_mm256_mul_epu32(a.0, b.0)));
        wrapped |a, modulus| Self::select(a - modulus, a, a - modulus);
        min |a, b| Self::select(a - b, a, b);
        equals |a, b| Self(instruction!(x86::_mm256_cmpeq_epi64(a.0, b.0)));
        is_below |a, b| Self(instruction!(x86::_mm256_cmpgt_epi64(b.0, a.0)));
    );

    #[inline(always)]
    fn multiply(self, other: Self) -> Self {
        let crossed = (self >> 32).multiply_halves(other) + self.multiply_halves(other >> 32);
        self.multiply_halves(other) + (crossed << 32)
    }

    #[inline(always)]
    fn is_zero(self) -> Self {
        self.equals(Self(instruction!(x86::_mm256_setzero_si256())))
    }

    #[inline(always)]
    fn select(mask: Self, yes: Self, no: Self) -> Self {
        // `blendv` reads only the sign bits, so any number can serve as a mask.
        let mask = instruction!(x86::_mm256_castsi256_pd(mask.0));
        let (yes, no) =
            instruction!((x86::_mm256_castsi256_pd(yes.0), x86::_mm256_castsi256_pd(no.0)));
        Self(instruction!(x86::_mm256_castpd_si256(x86::_mm256_blendv_pd(no, yes, mask))))
    }

    #[inline(always)]
    fn bits(mask: Self) -> u8 {
        instruction!(x86::_mm256_movemask_pd(x86::_mm256_castsi256_pd(mask.0))) as u8
    }

    #[inline(always)]
    fn compress(self, mask: Self) -> Self {
        let order = Avx2(()).load(&COMPRESSED[usize::from(Self::bits(mask))]);
        Self(instruction!(x86::_mm256_permutevar8x32_epi32(self.0, order.0)))
    }
}

/// For each mask, the order in which [`Four::compress`] takes the numbers, as two halves each.
const COMPRESSED: [[u64; 4]; 16] = {
    let mut orders = [[0; 4]; 16];
    let mut mask = 0;
    while mask < 16 {
        let mut place = 0;
        // First the numbers whose mask is set, then the others.
        let mut turn = 0;
        while turn < 8 {
            let (lane, wants_yes) = (turn % 4, turn < 4);
            if (mask >> lane & 1 == 1) == wants_yes {
                orders[mask][place] = (2 * lane as u64) | (2 * lane as u64 + 1) << 32;
                place += 1;
            }
            turn += 1;
        }
        mask += 1;
    }
    orders
};

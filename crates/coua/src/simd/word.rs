//! Vectors of one number, which every processor has.

use std::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

use super::{Isa, Vector};

/// The instructions of every processor.
#[derive(Clone, Copy)]
pub(crate) struct Words;

/// One number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word(u64);

impl Word {
    #[inline(always)]
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

impl Isa for Words {
    type Vector = Word;

    #[inline(always)]
    fn splat(self, value: u64) -> Word {
        Word(value)
    }

    #[inline(always)]
    fn load(self, values: &[u64]) -> Word {
        Word(values[0])
    }

    #[inline(always)]
    fn collect(self, mut number: impl FnMut(usize) -> u64) -> Word {
        Word(number(0))
    }
}

operator!(Word, Add, add, Self, |left, other| left.0.wrapping_add(other.0));
operator!(Word, Sub, sub, Self, |left, other| left.0.wrapping_sub(other.0));
operator!(Word, BitAnd, bitand, Self, |left, other| left.0 & other.0);
operator!(Word, BitOr, bitor, Self, |left, other| left.0 | other.0);
operator!(Word, BitXor, bitxor, Self, |left, other| left.0 ^ other.0);
operator!(Word, Shl, shl, u32, |left, bits| left.0 << bits);
operator!(Word, Shr, shr, u32, |left, bits| left.0 >> bits);

impl Vector for Word {
    const LANES: usize = 1;
    type Mask = bool;

    #[inline(always)]
    fn store(self, values: &mut [u64]) {
        values[0] = self.0;
    }

    methods!(Self:
        and_not |a, b| Self(a.0 & !b.0);
        shl_far |a, bits| Self(a.0.unbounded_shl(bits.0 as u32));
        multiply_halves |a, b| Self(u64::from(a.0 as u32) * u64::from(b.0 as u32));
        multiply_small |a, b| Self(a.0.wrapping_mul(b.0));
        multiply |a, b| Self(a.0.wrapping_mul(b.0));
        min |a, b| Self(a.0.min(b.0));
    );
    methods!(bool:
        equals |a, b| a.0 == b.0;
        is_below |a, b| a.0 < b.0;
    );

    #[inline(always)]
    fn shr_each(self, bits: Self) -> Self {
        debug_assert!(bits.0 < 64);
        Self(self.0 >> (bits.0 & 63))
    }

    #[inline(always)]
    fn shl_each(self, bits: Self) -> Self {
        debug_assert!(bits.0 < 64);
        Self(self.0 << (bits.0 & 63))
    }

    #[inline(always)]
    fn multiply_shifted(self, shift: u32, factor: Self) -> (Self, Self) {
        let product = u128::from(self.0 & (u64::MAX >> shift)) * u128::from(factor.0 << shift);
        (Self((product >> 64) as u64), Self(product as u64))
    }

    #[inline(always)]
    fn wrapped(self, modulus: Self) -> Self {
        let (wrapped, is_below) = self.0.overflowing_sub(modulus.0);
        Self(std::hint::select_unpredictable(is_below, self.0, wrapped))
    }

    #[inline(always)]
    fn trailing_zeros(self) -> Option<Self> {
        Some(Self(u64::from(self.0.trailing_zeros())))
    }

    #[inline(always)]
    fn is_zero(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        std::hint::select_unpredictable(mask, yes, no)
    }

    #[inline(always)]
    fn bits(mask: bool) -> u8 {
        mask.into()
    }

    #[inline(always)]
    fn compress(self, _mask: bool) -> Self {
        self
    }
}

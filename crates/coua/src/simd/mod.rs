//! Vectors of 64-bit numbers, as wide as the processor has them.
//!
//! [`Vector`] has the operations that the arithmetic on keys and buckets needs, and no more. Its instances are a word, AVX2 and
//! AVX-512. Processors of other kinds take the word: NEON multiplies no 64-bit numbers.
//!
//! A [`Vector`] or an [`Isa`] is the proof that the processor has the instructions: an `Isa` is
//! made by [`with_vectors`] alone, and a vector by an `Isa`. So their methods are safe.

/// Implements an operator on vectors by what it does to what they hold.
macro_rules! operator {
    ($vector:ident, $name:ident, $method:ident, $right:ty, |$left:ident, $other:ident| $result:expr) => {
        impl $name<$right> for $vector {
            type Output = Self;

            #[inline(always)]
            fn $method(self, $other: $right) -> Self {
                let $left = self;
                Self($result)
            }
        }
    };
}

/// The methods with another vector, each by its value.
macro_rules! methods {
    ($result:ty: $($name:ident |$left:ident, $other:ident| $value:expr;)+) => {$(
        #[inline(always)]
        fn $name(self, $other: Self) -> $result {
            let $left = self;
            $value
        }
    )+};
}

/// Calls an intrinsic function.
#[cfg(all(target_arch = "x86_64", not(miri)))]
macro_rules! instruction {
    ($call:expr) => {
        // SAFETY: vectors, and the proof that they are made by, exist only where the processor has the
        // instructions.
        unsafe { $call }
    };
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx2;
mod avx2_bucket;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod avx512;
mod instructions;

use std::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

pub(crate) use avx2_bucket::Avx2Bucket;
pub(crate) use instructions::{with_bit_instructions, with_vectors};

/// Most numbers of a vector.
pub(crate) const MOST_LANES: usize = 8;

/// Instructions that the processor has, and the vectors that they work on.
///
/// All methods here and in [`Vector`] are always inlined, and so must be what calls them, up to a [`Kernel`]: it
/// is compiled for the instructions.
pub(crate) trait Isa: Copy {
    type Vector: Vector;
    /// Whether keys gain from being looked at in vectors before each is inserted or removed.
    const LOOKS_AHEAD: bool = Self::LANES > 1;
    /// Numbers of a vector.
    const LANES: usize = <Self::Vector as Vector>::LANES;

    fn splat(self, value: u64) -> Self::Vector;

    /// The first numbers of a slice.
    fn load(self, values: &[u64]) -> Self::Vector;

    /// The result of a function for each lane.
    #[inline(always)]
    fn collect(self, mut number: impl FnMut(usize) -> u64) -> Self::Vector {
        let mut numbers = [0; MOST_LANES];
        (0..Self::LANES).for_each(|lane| numbers[lane] = number(lane));
        self.load(&numbers)
    }

    /// Eight bytes at each of the first addresses of a slice, as little-endian numbers. One load each: no slower
    /// than the instruction that gathers, and on some processors faster.
    ///
    /// # Safety
    ///
    /// Eight bytes may be read at each, of something that is borrowed.
    #[inline(always)]
    #[expect(unsafe_code, reason = "reading at computed addresses")]
    unsafe fn gather(self, addresses: &[u64]) -> Self::Vector {
        let addresses = &addresses[..Self::LANES];
        // SAFETY: the caller's promise.
        let read = |lane: usize| unsafe { (addresses[lane] as *const u64).read_unaligned() };
        self.collect(|lane| u64::from_le(read(lane)))
    }
}

/// Numbers of 64 bits. Sums, differences and products wrap.
pub(crate) trait Vector:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    const LANES: usize;
    /// Set or not, for each number.
    type Mask: Copy;

    /// Writes the numbers to the beginning of a slice.
    fn store(self, values: &mut [u64]);

    /// The bits that are not set in `other`.
    fn and_not(self, other: Self) -> Self;

    /// Shifts each number by its own number of bits, fewer than a word has.
    fn shl_each(self, bits: Self) -> Self;

    /// [`shl_each`](Self::shl_each), but a shift by a word or more gives 0.
    #[inline(always)]
    fn shl_far(self, bits: Self) -> Self {
        self.shl_each(bits)
    }

    fn shr_each(self, bits: Self) -> Self;

    /// Products of the lower halves.
    fn multiply_halves(self, other: Self) -> Self;

    /// Products of numbers below 2^32.
    #[inline(always)]
    fn multiply_small(self, other: Self) -> Self {
        self.multiply_halves(other)
    }

    /// The low words of the products.
    fn multiply(self, other: Self) -> Self;

    /// Each number, shifted left, times a factor of 32 bits: the high and the low words of the products, by those of
    /// halves. The factor, shifted as far, must fit into a word.
    #[inline(always)]
    fn multiply_shifted(self, shift: u32, factor: Self) -> (Self, Self) {
        let numbers = self << shift;
        let low = numbers.multiply_halves(factor);
        let middle = (numbers >> 32).multiply_halves(factor) + (low >> 32);
        (middle >> 32, (middle << 32) | ((low << 32) >> 32))
    }

    /// Numbers below twice `modulus`, modulo that. Both are below 2^62.
    #[inline(always)]
    fn wrapped(self, modulus: Self) -> Self {
        // A number below the modulus wraps to a large one.
        self.min(self - modulus)
    }

    /// The smaller ones; all are below 2^63.
    fn min(self, other: Self) -> Self;

    /// The number of zero bits below the lowest bit that is set, if there is an instruction for it.
    #[inline(always)]
    fn trailing_zeros(self) -> Option<Self> {
        None
    }

    fn is_zero(self) -> Self::Mask;

    fn equals(self, other: Self) -> Self::Mask;

    /// Which numbers are smaller; all are below 2^63.
    fn is_below(self, other: Self) -> Self::Mask;

    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// A bit for each number whose mask is set.
    fn bits(mask: Self::Mask) -> u8;

    /// The numbers whose mask is set, packed to the front. Any others follow.
    fn compress(self, mask: Self::Mask) -> Self;

    /// The bits of a mask that is set for all numbers.
    const ALL: u8 = ((1u16 << Self::LANES) - 1) as u8;
}

/// Work in vectors. `run` is always inlined, into code for one set of instructions.
pub(crate) trait Kernel {
    type Output;

    fn run<I: Isa>(self, isa: I) -> Self::Output;
}

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

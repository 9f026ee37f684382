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
mod word;

use std::ops::{Add, BitAnd, BitOr, BitXor, Shl, Shr, Sub};

pub(crate) use avx2_bucket::Avx2Bucket;
pub(crate) use instructions::{with_bit_instructions, with_vectors};
pub(crate) use word::{Word, Words};

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

    /// The same, but a shift by a word or more gives 0.
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

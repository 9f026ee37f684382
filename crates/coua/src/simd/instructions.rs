//! Which instructions this processor has, and calls of code that is compiled for them.
//!
//! Tests can forbid instructions, so that all code runs that a machine can run: see [`InstructionSet`].

#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "calls of functions that are compiled for more instructions")
)]

use super::{Kernel, Words};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::{avx2, avx512};

/// Sets of instructions; each includes those before it. In builds with debug assertions or the feature
/// `test-instructions`, the environment variable `COUA_TEST_INSTRUCTIONS` (`portable`, `bits`, `avx2` or
/// `avx512`) forbids the sets after the one it names.
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), expect(dead_code, reason = "x86-64 only"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstructionSet {
    /// Instructions that every processor of the architecture has.
    Portable,
    /// Counting and finding bits in one instruction: x86-64-v2 and BMI.
    Bits,
    /// Vectors of 256 bits.
    Avx2,
    /// Vectors of 512 bits.
    Avx512,
}

/// The widest instructions that this processor has and tests allow.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) fn available() -> InstructionSet {
    static FOUND: std::sync::LazyLock<InstructionSet> = std::sync::LazyLock::new(detect);
    *FOUND
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[cold]
fn detect() -> InstructionSet {
    let bits = is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt");
    let avx2 = bits && is_x86_feature_detected!("avx2");
    let avx512 =
        avx2 && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq");
    let found = avx512.then_some(InstructionSet::Avx512);
    let found = found.or(avx2.then_some(InstructionSet::Avx2));
    let found = found.or(bits.then_some(InstructionSet::Bits));
    found.unwrap_or(InstructionSet::Portable).min(limit())
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
fn limit() -> InstructionSet {
    if cfg!(not(any(debug_assertions, feature = "test-instructions"))) {
        return InstructionSet::Avx512;
    }
    match std::env::var("COUA_TEST_INSTRUCTIONS").as_deref() {
        Ok("portable") => InstructionSet::Portable,
        Ok("bits") => InstructionSet::Bits,
        Ok("avx2") => InstructionSet::Avx2,
        _ => InstructionSet::Avx512,
    }
}

/// Does work on words, compiled for [`InstructionSet::Bits`] if the processor has them. The closure must be
/// `#[inline(always)]`: only then is it compiled for them.
#[inline]
pub(crate) fn with_bit_instructions<T>(work: impl FnOnce() -> T) -> T {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        #[target_feature(enable = "popcnt,bmi1,bmi2,lzcnt")]
        fn compiled_for_them<T>(work: impl FnOnce() -> T) -> T {
            work()
        }
        if available() >= InstructionSet::Bits {
            // SAFETY: the processor has the instructions.
            return unsafe { compiled_for_them(work) };
        }
    }
    work()
}

/// Runs a kernel with the widest vectors of this processor.
#[inline]
#[cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "calls of functions that are compiled for more instructions")
)]
pub(crate) fn with_vectors<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: the processor has the instructions.
    return unsafe {
        match available() {
            InstructionSet::Avx512 => avx512::run(kernel),
            InstructionSet::Avx2 => avx2::run(kernel),
            InstructionSet::Bits | InstructionSet::Portable => with_bit_instructions(
                #[inline(always)]
                || kernel.run(Words),
            ),
        }
    };
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    kernel.run(Words)
}

#[cfg(test)]
use coua_dev::instruction_sets;

#[test]
#[cfg_attr(miri, ignore = "runs programs")]
fn the_kernel_with_fewer_instructions() {
    for tests in ["kernel::", "segments::"] {
        instruction_sets::run_again_with_fewer(tests, "the_kernel_with_fewer_instructions");
    }
}

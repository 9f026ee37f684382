//! Which instructions this processor has, and calls of code that is compiled for them.
//!
//! Tests can forbid instructions, so that all code runs that a machine can run: see [`InstructionSet`].

#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "calls of functions that are compiled for more instructions")
)]

/// Instructions in steps, each with those before it. In builds with debug assertions or the feature
/// `limit-instructions`, the environment variable `COUA_TEST_INSTRUCTIONS` (`portable`, `bits`, `avx2` or
/// `avx512`) forbids all beyond a step.
#[cfg_attr(not(all(target_arch = "x86_64", not(miri))), expect(dead_code, reason = "x86-64 only"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum InstructionSet {
    /// What every processor of the architecture has.
    #[cfg_attr(
        not(any(debug_assertions, feature = "limit-instructions")),
        expect(dead_code, reason = "a limit for tests")
    )]
    Portable,
    /// Counting and finding bits in one instruction: x86-64-v2 and BMI.
    Bits,
    /// Vectors of 256 bits.
    Avx2,
    /// Vectors of 512 bits.
    Avx512,
}

/// Whether code may use these instructions. Always, but in tests.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
fn allows(wanted: InstructionSet) -> bool {
    #[cfg(any(debug_assertions, feature = "limit-instructions"))]
    let is_allowed = wanted <= limit();
    #[cfg(not(any(debug_assertions, feature = "limit-instructions")))]
    let is_allowed = wanted <= InstructionSet::Avx512;
    is_allowed
}

#[cfg(all(
    any(debug_assertions, feature = "limit-instructions"),
    target_arch = "x86_64",
    not(miri)
))]
fn limit() -> InstructionSet {
    use std::sync::OnceLock;

    static LIMIT: OnceLock<InstructionSet> = OnceLock::new();
    *LIMIT.get_or_init(|| match std::env::var("COUA_TEST_INSTRUCTIONS").as_deref() {
        Ok("portable") => InstructionSet::Portable,
        Ok("bits") => InstructionSet::Bits,
        Ok("avx2") => InstructionSet::Avx2,
        _ => InstructionSet::Avx512,
    })
}

/// Code to be compiled for several kinds of processors. Both functions are always inlined.
pub(crate) trait Compiled: Sized {
    type Output;

    fn run(self) -> Self::Output;

    /// For processors without the instructions.
    #[inline(always)]
    fn run_portable(self) -> Self::Output {
        self.run()
    }
}

/// Runs code compiled for [`InstructionSet::Bits`], if this processor has them.
#[inline]
pub(crate) fn with_bit_instructions<C: Compiled>(code: C) -> C::Output {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        #[target_feature(enable = "popcnt,bmi1,bmi2,lzcnt")]
        fn compiled_for_them<C: Compiled>(code: C) -> C::Output {
            code.run()
        }
        let has_them = is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt");
        if has_them && allows(InstructionSet::Bits) {
            // SAFETY: the processor has the instructions.
            return unsafe { compiled_for_them(code) };
        }
    }
    code.run_portable()
}

/// Runs code compiled for [`InstructionSet::Avx2`], if this processor has them.
#[inline]
pub(crate) fn with_block_vectors<C: Compiled>(code: C) -> C::Output {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        #[target_feature(enable = "avx2")]
        fn compiled_for_them<C: Compiled>(code: C) -> C::Output {
            code.run()
        }
        if is_x86_feature_detected!("avx2") && allows(InstructionSet::Avx2) {
            // SAFETY: the processor has the instructions.
            return unsafe { compiled_for_them(code) };
        }
    }
    code.run_portable()
}

/// Whether the processor works on vectors of 512 bits.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512cd")
        && allows(InstructionSet::Avx512)
}

/// [`has_avx512`], and counting bits.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) fn has_avx512_popcnt() -> bool {
    is_x86_feature_detected!("avx512vpopcntdq") && has_avx512()
}

/// Whether it also permutes the bytes of such vectors.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
pub(super) fn has_avx512_bytes() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("popcnt")
        && allows(InstructionSet::Avx512)
}

/// Fails if vectors were compared with portable code fewer times than `least`, unless this processor has
/// no such vectors.
#[cfg(test)]
pub(crate) fn check_compared(compared: usize, least: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if has_avx512_popcnt() && has_avx512_bytes() {
        assert!(compared >= least, "{compared} comparisons with vectors, expected {least}");
        return;
    }
    assert_eq!(compared, 0, "{least} with AVX-512");
    println!("skipped: no AVX-512 to compare with portable code");
}

//! Long lists of cases: `./test` tries a sample of them, and `./test --all` tries all.

#![allow(dead_code, reason = "each test binary uses its own part of it")]

/// Each case, or one of `step`. A step without a factor in common with the lengths of the lists that make up the cases
/// takes every element of each list.
pub(crate) fn sample<T>(
    cases: impl IntoIterator<Item = T>,
    step: usize,
) -> impl Iterator<Item = T> {
    cases.into_iter().step_by(if tries_all() { 1 } else { step })
}

/// The first, or where all cases are tried the second.
pub(crate) fn usual_or_all<T>(usual: T, all: T) -> T {
    if tries_all() { all } else { usual }
}

pub(crate) fn tries_all() -> bool {
    std::env::var_os("COUA_TEST_ALL").is_some()
}

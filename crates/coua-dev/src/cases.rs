//! Long lists of cases: `./test` tries a sample of them, and `./test --all` tries all.

/// Each case, or one of `step`. A step without a factor in common with the lengths of the lists that make up the cases
/// takes every element of each list.
pub fn sample<T>(cases: impl IntoIterator<Item = T>, step: usize) -> impl Iterator<Item = T> {
    cases.into_iter().step_by(usual_or_all(step, 1))
}

/// The first, or where all cases are tried the second.
pub fn usual_or_all<T>(usual: T, all: T) -> T {
    if tries_all() { all } else { usual }
}

/// Are all cases tried?
pub fn tries_all() -> bool {
    std::env::var_os("COUA_TEST_ALL").is_some()
}

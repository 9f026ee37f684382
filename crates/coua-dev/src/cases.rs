//! Long lists of cases: `./test` and `scripts/check` try few of them, `./test --full` a sample, `./test --all` all.

use std::env;

/// Every case, or one in `few`, or one in `usual`. A step without a factor in common with the lengths of the lists that
/// make up the cases takes every element of each list.
pub fn sample<T>(
    cases: impl IntoIterator<Item = T>,
    [few, usual]: [usize; 2],
) -> impl Iterator<Item = T> {
    cases.into_iter().step_by(few_usual_or_all([few, usual, 1]))
}

/// The value for few cases, for the usual ones, or for all.
///
/// # Panics
///
/// If the variable has another value.
pub fn few_usual_or_all<T>([few, usual, all]: [T; 3]) -> T {
    match env::var("COUA_TEST_CASES").as_deref() {
        Ok("few") => few,
        Ok("all") => all,
        Ok("") | Err(env::VarError::NotPresent) => usual,
        other => panic!("COUA_TEST_CASES is few or all, not {other:?}"),
    }
}

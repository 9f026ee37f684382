//! Filters with calls for single keys.

#![expect(clippy::unnecessary_wraps, reason = "this is what entries make")]

use super::{Contestant, Made};

/// A loop of single calls. The calls have types of their own, so that each is inlined.
struct Calls<P, A, H, T> {
    filter: P,
    add: A,
    has: H,
    take: Option<T>,
}

/// A filter that cannot remove, with its calls to add a key (false if the filter reports that it has not) and to look
/// one up.
pub(super) fn calls<P: 'static>(
    filter: P,
    add: impl Fn(&mut P, &u64) -> bool + 'static,
    has: impl Fn(&P, &u64) -> bool + 'static,
) -> Made {
    Ok(Box::new(Calls { filter, add, has, take: None::<fn(&mut P, &u64) -> bool> }))
}

/// As [`calls`], with a call that removes a key and returns whether it was present.
pub(super) fn calls_and_removal<P: 'static>(
    filter: P,
    add: impl Fn(&mut P, &u64) -> bool + 'static,
    has: impl Fn(&P, &u64) -> bool + 'static,
    take: impl Fn(&mut P, &u64) -> bool + 'static,
) -> Made {
    Ok(Box::new(Calls { filter, add, has, take: Some(take) }))
}

impl<P, A, H, T> Contestant for Calls<P, A, H, T>
where
    A: Fn(&mut P, &u64) -> bool,
    H: Fn(&P, &u64) -> bool,
    T: Fn(&mut P, &u64) -> bool,
{
    fn insert(&mut self, keys: &[u64], refused: &mut Vec<u64>) {
        for key in keys {
            if !(self.add)(&mut self.filter, key) {
                refused.push(*key);
            }
        }
    }

    fn contains(&self, keys: &[u64]) -> u64 {
        keys.iter().map(|key| u64::from((self.has)(&self.filter, key))).sum()
    }

    fn remove(&mut self, keys: &[u64]) -> Option<u64> {
        let take = self.take.as_ref()?;
        Some(keys.iter().map(|key| u64::from(take(&mut self.filter, key))).sum())
    }
}

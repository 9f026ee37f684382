//! Filters with calls for single keys.

#![expect(clippy::unnecessary_wraps, reason = "this is what entries make")]

use coua_bench::keys::Key;

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
pub(super) fn calls<K: Key, P: 'static>(
    filter: P,
    add: impl Fn(&mut P, &K) -> bool + 'static,
    has: impl Fn(&P, &K) -> bool + 'static,
) -> Made<K> {
    Ok(Box::new(Calls { filter, add, has, take: None::<fn(&mut P, &K) -> bool> }))
}

/// As [`calls`], with a call that removes a key and returns whether it was present.
pub(super) fn calls_and_removal<K: Key, P: 'static>(
    filter: P,
    add: impl Fn(&mut P, &K) -> bool + 'static,
    has: impl Fn(&P, &K) -> bool + 'static,
    take: impl Fn(&mut P, &K) -> bool + 'static,
) -> Made<K> {
    Ok(Box::new(Calls { filter, add, has, take: Some(take) }))
}

impl<K, P, A, H, T> Contestant<K> for Calls<P, A, H, T>
where
    K: Key,
    A: Fn(&mut P, &K) -> bool,
    H: Fn(&P, &K) -> bool,
    T: Fn(&mut P, &K) -> bool,
{
    fn insert(&mut self, keys: &[K], refused: &mut Vec<K>) {
        for key in keys {
            if !(self.add)(&mut self.filter, key) {
                refused.push(*key);
            }
        }
    }

    fn contains(&self, keys: &[K]) -> u64 {
        keys.iter().map(|key| u64::from((self.has)(&self.filter, key))).sum()
    }

    fn remove(&mut self, keys: &[K]) -> Option<u64> {
        let take = self.take.as_ref()?;
        Some(keys.iter().map(|key| u64::from(take(&mut self.filter, key))).sum())
    }
}

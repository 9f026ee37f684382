//! Filters that are asked key by key.

use crate::contestant::Contestant;
use crate::keys::Key;

/// A filter with the usual calls on one key.
pub(crate) trait OneByOne<K: Key> {
    /// Whether [`take`](Self::take) works.
    const REMOVES: bool = false;

    /// Adds the key; false if the filter says it has not taken it.
    fn add(&mut self, key: &K) -> bool;

    /// Whether the key is present.
    fn has(&self, key: &K) -> bool;

    /// Removes the key: whether it was there.
    fn take(&mut self, _key: &K) -> bool {
        false
    }

    /// See [`Contestant::memory_bytes`].
    fn memory_bytes(&self) -> Option<usize> {
        None
    }
}

/// Says which calls of a filter do what [`OneByOne`] asks for: `calls!(Filter, filter, key; add =>
/// filter.insert(key).is_ok(), ...)`. Calls that it does not name the filter does not have.
macro_rules! calls {
    ($filter:ty, $it:ident, $key:ident; $($call:ident => $does:expr),+ $(,)?) => {
        impl<K: $crate::keys::Key> $crate::peers::calls::OneByOne<K> for $filter {
            $( $crate::peers::calls::calls!(@$call $it $key $does); )+
        }
    };
    (@add $it:ident $key:ident $does:expr) => {
        #[inline]
        fn add(&mut self, $key: &K) -> bool {
            let $it = self;
            $does
        }
    };
    (@has $it:ident $key:ident $does:expr) => {
        #[inline]
        fn has(&self, $key: &K) -> bool {
            let $it = self;
            $does
        }
    };
    (@take $it:ident $key:ident $does:expr) => {
        const REMOVES: bool = true;

        #[inline]
        fn take(&mut self, $key: &K) -> bool {
            let $it = self;
            $does
        }
    };
    (@memory_bytes $it:ident $key:ident $does:expr) => {
        fn memory_bytes(&self) -> Option<usize> {
            let $it = self;
            Some($does)
        }
    };
}

pub(super) use calls;

/// A loop of single calls.
#[derive(Debug)]
pub(super) struct Calls<P>(pub(super) P);

impl<P> Calls<P> {
    /// Ready to take part.
    pub(super) fn boxed<K: Key>(filter: P) -> Box<dyn Contestant<K>>
    where
        P: OneByOne<K> + 'static,
    {
        Box::new(Self(filter))
    }
}

impl<K: Key, P: OneByOne<K>> Contestant<K> for Calls<P> {
    fn insert(&mut self, keys: &[K], refused: &mut Vec<K>) {
        for key in keys {
            if !self.0.add(key) {
                refused.push(*key);
            }
        }
    }

    fn contains(&self, keys: &[K]) -> u64 {
        keys.iter().map(|key| u64::from(self.0.has(key))).sum()
    }

    fn remove(&mut self, keys: &[K]) -> Option<u64> {
        P::REMOVES.then(|| keys.iter().map(|key| u64::from(self.0.take(key))).sum())
    }

    fn memory_bytes(&self) -> Option<usize> {
        self.0.memory_bytes()
    }
}

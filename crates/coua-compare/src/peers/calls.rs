//! Peers that are asked key by key.

use crate::contestant::{Contestant, Shared};
use crate::keys::Key;

/// A filter with the usual calls on one key.
pub(crate) trait OneByOne<K: Key>: Send + Sync {
    /// Whether [`take`](Self::take) works.
    const REMOVES: bool = false;
    /// Whether [`add_if_absent`](Self::add_if_absent) works.
    const ADDS_IF_ABSENT: bool = false;

    /// Adds the key; false if the filter says it has not taken it.
    fn add(&mut self, key: &K) -> bool;

    /// Whether the key is present.
    fn has(&self, key: &K) -> bool;

    /// Removes the key: whether it was there.
    fn take(&mut self, _key: &K) -> bool {
        false
    }

    /// Adds the key unless it is present: whether it was absent.
    fn add_if_absent(&mut self, _key: &K) -> bool {
        false
    }

    /// See [`Contestant::shared`].
    fn shared(&self) -> Option<&dyn Shared<K>> {
        None
    }

    /// See [`Contestant::memory_bytes`].
    fn memory_bytes(&self) -> Option<usize> {
        None
    }
}

/// Says which calls of a peer do what [`OneByOne`] asks for: `calls!(Peer, filter, key; add =>
/// filter.insert(key).is_ok(), ...)`. Calls that it does not name the peer does not have.
macro_rules! calls {
    ($peer:ty, $filter:ident, $key:ident; $($call:ident => $does:expr),+ $(,)?) => {
        impl<K: $crate::keys::Key> $crate::peers::calls::OneByOne<K> for $peer {
            $( $crate::peers::calls::calls!(@$call $filter $key $does); )+
        }
    };
    (@add $filter:ident $key:ident $does:expr) => {
        #[inline]
        fn add(&mut self, $key: &K) -> bool {
            let $filter = self;
            $does
        }
    };
    (@has $filter:ident $key:ident $does:expr) => {
        #[inline]
        fn has(&self, $key: &K) -> bool {
            let $filter = self;
            $does
        }
    };
    (@take $filter:ident $key:ident $does:expr) => {
        const REMOVES: bool = true;

        #[inline]
        fn take(&mut self, $key: &K) -> bool {
            let $filter = self;
            $does
        }
    };
    (@add_if_absent $filter:ident $key:ident $does:expr) => {
        const ADDS_IF_ABSENT: bool = true;

        #[inline]
        fn add_if_absent(&mut self, $key: &K) -> bool {
            let $filter = self;
            $does
        }
    };
    (@memory_bytes $filter:ident $key:ident $does:expr) => {
        fn memory_bytes(&self) -> Option<usize> {
            let $filter = self;
            Some($does)
        }
    };
    // The peer has `shared_calls!` too.
    (@shared $filter:ident $key:ident $does:expr) => {
        fn shared(&self) -> Option<&dyn $crate::contestant::Shared<K>> {
            Some(self)
        }
    };
}

/// Says how a peer adds a key through a shared reference, and whether it has taken it.
macro_rules! shared_calls {
    ($peer:ty, $filter:ident, $key:ident; $does:expr) => {
        impl<K: $crate::keys::Key> $crate::contestant::Shared<K> for $peer {
            fn insert(&self, keys: &[K]) -> u64 {
                let $filter = self;
                keys.iter().map(|$key| u64::from(!$does)).sum()
            }
        }
    };
}

pub(super) use {calls, shared_calls};

/// A loop of single calls.
#[derive(Debug)]
pub(super) struct Calls<P>(P);

impl<P> Calls<P> {
    /// Ready to take part.
    pub(super) fn boxed<K: Key>(peer: P) -> Box<dyn Contestant<K>>
    where
        P: OneByOne<K> + 'static,
    {
        Box::new(Self(peer))
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

    fn insert_unique(&mut self, keys: &[K]) -> Option<u64> {
        P::ADDS_IF_ABSENT.then(|| keys.iter().map(|key| u64::from(self.0.add_if_absent(key))).sum())
    }

    fn shared(&self) -> Option<&dyn Shared<K>> {
        self.0.shared()
    }

    fn memory_bytes(&self) -> Option<usize> {
        self.0.memory_bytes()
    }
}

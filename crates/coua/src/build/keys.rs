//! Sources of hashes.

use std::ops::Range;

use crate::hash::{Key, KeyHash, KeyHasher};

/// Keys in order, by their hashes.
pub(super) trait Keys: Sync {
    fn len(&self) -> usize;

    /// The hashes of some keys; `space` may be used for them.
    fn hashes<'a>(&'a self, range: Range<usize>, space: &'a mut Vec<KeyHash>) -> &'a [KeyHash];
}

/// Keys as they are.
pub(super) struct Unhashed<'a, K> {
    pub(super) keys: &'a [K],
    pub(super) hasher: KeyHasher,
}

impl<K: Key + Sync> Keys for Unhashed<'_, K> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn hashes<'a>(&'a self, range: Range<usize>, space: &'a mut Vec<KeyHash>) -> &'a [KeyHash] {
        K::hash_all(&self.keys[range], self.hasher, space)
    }
}

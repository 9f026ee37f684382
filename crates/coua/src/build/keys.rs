//! Where the hashes come from.

use std::ops::Range;

use crate::hash::{KeyHash, KeyHasher};

/// Keys in order, by their hashes.
pub(super) trait Keys: Sync {
    fn len(&self) -> usize;

    /// The hashes of some keys; `space` may be used for them.
    fn hashes<'a>(&'a self, range: Range<usize>, space: &'a mut Vec<KeyHash>) -> &'a [KeyHash];
}

impl Keys for &[KeyHash] {
    fn len(&self) -> usize {
        <[_]>::len(self)
    }

    fn hashes<'a>(&'a self, range: Range<usize>, _space: &'a mut Vec<KeyHash>) -> &'a [KeyHash] {
        &self[range]
    }
}

/// Keys as they are.
pub(super) struct Unhashed<'a, K> {
    pub(super) keys: &'a [K],
    pub(super) hasher: KeyHasher,
}

impl<K: AsRef<[u8]> + Sync> Keys for Unhashed<'_, K> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn hashes<'a>(&'a self, range: Range<usize>, space: &'a mut Vec<KeyHash>) -> &'a [KeyHash] {
        space.clear();
        space.extend(self.keys[range].iter().map(|key| self.hasher.hash(key.as_ref())));
        space
    }
}

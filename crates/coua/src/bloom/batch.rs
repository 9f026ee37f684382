//! What the batches of all Bloom filters share: keys are taken in blocks of 64.
//!
//! A block is long enough that its memory accesses overlap (a core keeps about 48 under way) and
//! short enough that hashes and answers stay in the nearest cache.

use crate::{Insertion, KeyHash, KeyHasher};

/// Keys taken together.
pub(super) const BLOCK: usize = 64;

/// Hashes a block of at most [`BLOCK`] keys into `hashes` and returns the part that was filled.
#[inline]
pub(super) fn hash_block<'a, K: AsRef<[u8]>>(
    hasher: KeyHasher,
    keys: &[K],
    hashes: &'a mut [KeyHash; BLOCK],
) -> &'a [KeyHash] {
    for (hash, key) in hashes.iter_mut().zip(keys) {
        *hash = hasher.hash(key.as_ref());
    }
    &hashes[..keys.len().min(BLOCK)]
}

/// A block of hashes before any is known.
pub(super) const UNHASHED: [KeyHash; BLOCK] = [KeyHash::from_u64(0); BLOCK];

/// The outcome of an insert that found (`new`) or did not find something to do.
#[inline]
pub(super) fn outcome_of(new: bool) -> Insertion {
    if new { Insertion::Inserted } else { Insertion::AlreadyPresent }
}

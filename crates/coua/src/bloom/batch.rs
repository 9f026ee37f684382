//! The batches of Bloom filters: keys are taken in blocks of 64, or in bursts of more; hashes in one burst,
//! for which nothing has to be kept.
//!
//! A block is long enough that its memory accesses overlap and
//! short enough that hashes and answers stay in the nearest cache. Answers and bits are those of
//! the operations on single keys, in order.
//!
//! Cutting into blocks and hashing stand here once; a filter adds what it does with a block.

use std::convert::Infallible;

use super::blocked::BlockedBloomFilter;
use super::burst::{self, BURST};
use super::error::BloomBuildError;
use super::filter::BloomFilter;
use super::scalable::ScalableBloomFilter;
use crate::{Insertion, KeyHash, KeyHasher};

/// Keys taken together; not more than the bits of a `u64`.
const BLOCK: usize = 64;
/// All hashes of a batch taken together.
const ALL: usize = usize::MAX;

/// Hashes the keys and hands them on, at most `BLOCK` at a time, in order, until `take` fails.
#[inline]
fn try_blocks<const BLOCK: usize, K: AsRef<[u8]>, E>(
    hasher: KeyHasher,
    keys: &[K],
    mut take: impl FnMut(&[KeyHash]) -> Result<(), E>,
) -> Result<(), E> {
    let mut filled = [KeyHash::from_u64(0); BLOCK];
    keys.chunks(BLOCK).try_for_each(|block| {
        for (hash, key) in filled.iter_mut().zip(block) {
            *hash = hasher.hash(key.as_ref());
        }
        take(&filled[..block.len()])
    })
}

/// [`try_blocks`] for what cannot fail.
#[inline]
fn blocks<const BLOCK: usize, K: AsRef<[u8]>>(
    hasher: KeyHasher,
    keys: &[K],
    mut take: impl FnMut(&[KeyHash]),
) {
    let Ok(()) = try_blocks::<BLOCK, _, _>(hasher, keys, |block| {
        take(block);
        Ok::<(), Infallible>(())
    });
}

/// The lookups of many keys, made of `look_block`: so many `$keys` or `$hashes` at a time. `$made` and
/// `$insert` are lines of the example.
macro_rules! lookups {
    ($filter:ident, $keys:ident, $hashes:ident, $made:literal, $insert:literal) => {
        impl $filter {
            /// [`contains`](Self::contains) for many keys: `present` is cleared, then holds one
            /// answer per key, in order. The memory accesses of 64 keys or more overlap.
            ///
            /// ```
            #[doc = concat!($made, " = coua::", stringify!($filter), "::with_capacity(1_000, 1e-6)?;")]
            #[doc = $insert]
            /// let mut present = Vec::new();
            /// filter.contains_batch(&["wren", "robin"], &mut present);
            /// assert_eq!(present, [true, false]);
            /// # Ok::<(), coua::BloomBuildError>(())
            /// ```
            pub fn contains_batch<K: AsRef<[u8]>>(&self, keys: &[K], present: &mut Vec<bool>) {
                present.clear();
                blocks::<$keys, _>(self.hasher(), keys, |block| self.look_block(block, present));
            }

            /// [`contains_batch`](Self::contains_batch) for keys already hashed.
            ///
            /// ```
            #[doc = concat!("let filter = coua::", stringify!($filter), "::with_capacity(1_000, 0.01)?;")]
            /// let mut present = Vec::new();
            /// filter.contains_hash_batch(&[coua::KeyHash::from_u64(7)], &mut present);
            /// assert_eq!(present, [false]);
            /// # Ok::<(), coua::BloomBuildError>(())
            /// ```
            pub fn contains_hash_batch(&self, hashes: &[KeyHash], present: &mut Vec<bool>) {
                present.clear();
                hashes.chunks($hashes).for_each(|block| self.look_block(block, present));
            }
        }
    };
}

/// The inserts of many keys that cannot fail, made of `insert_block`, as above. `$this` is `self`, which a
/// macro cannot name by itself; `$made` begins the example.
macro_rules! inserts {
    ($filter:ident, $keys:ident, $hashes:ident, $this:ident: $receiver:ty, $made:literal) => {
        impl $filter {
            /// [`insert`](Self::insert) for many keys, as if one by one, in order: `outcome` is
            /// cleared, then holds one answer per key.
            ///
            /// ```
            /// use coua::Insertion::{AlreadyPresent, Inserted};
            #[doc = concat!($made, " = coua::", stringify!($filter), "::with_capacity(1_000, 1e-6)?;")]
            /// let mut outcome = Vec::new();
            /// filter.insert_batch(&["wren", "robin", "wren"], &mut outcome);
            /// assert_eq!(outcome, [Inserted, Inserted, AlreadyPresent]);
            /// # Ok::<(), coua::BloomBuildError>(())
            /// ```
            pub fn insert_batch<K: AsRef<[u8]>>(
                $this: $receiver,
                keys: &[K],
                outcome: &mut Vec<Insertion>,
            ) {
                outcome.clear();
                blocks::<$keys, _>($this.hasher(), keys, |block| $this.insert_block(block, outcome));
            }

            /// [`insert_batch`](Self::insert_batch) for keys already hashed.
            ///
            /// ```
            #[doc = concat!($made, " = coua::", stringify!($filter), "::with_capacity(1_000, 0.01)?;")]
            /// let mut outcome = Vec::new();
            /// filter.insert_hash_batch(&[coua::KeyHash::from_u64(7)], &mut outcome);
            /// assert_eq!(outcome, [coua::Insertion::Inserted]);
            /// # Ok::<(), coua::BloomBuildError>(())
            /// ```
            pub fn insert_hash_batch(
                $this: $receiver,
                hashes: &[KeyHash],
                outcome: &mut Vec<Insertion>,
            ) {
                outcome.clear();
                hashes.chunks($hashes).for_each(|block| $this.insert_block(block, outcome));
            }
        }
    };
}

lookups!(BloomFilter, BLOCK, BLOCK, "let filter", "filter.insert(\"wren\");");
inserts!(BloomFilter, BLOCK, BLOCK, self: &Self, "let filter");
lookups!(BlockedBloomFilter, BURST, ALL, "let mut filter", "filter.insert(\"wren\");");
inserts!(BlockedBloomFilter, BURST, ALL, self: &mut Self, "let mut filter");
lookups!(ScalableBloomFilter, BLOCK, BLOCK, "let mut filter", "filter.insert(\"wren\")?;");

impl BloomFilter {
    /// Without a branch on what is found, so that the processor runs ahead of memory. In two turns:
    /// two probes tell three of four absent keys, which then cost no further line.
    fn look_block(&self, hashes: &[KeyHash], present: &mut Vec<bool>) {
        let mut found = 0_u64;
        for (index, &hash) in hashes.iter().enumerate() {
            found |= u64::from(self.look(self.locate(hash).take(2))) << index;
        }
        let mut left = found;
        while left != 0 {
            let index = left.trailing_zeros();
            let rest = self.locate(hashes[index as usize]).skip(2);
            found &= !(u64::from(!self.look(rest)) << index);
            left &= left - 1;
        }
        present.extend((0..hashes.len()).map(|index| (found >> index) & 1 == 1));
    }

    /// Looks first, which brings every line near; only then come the locked instructions, which
    /// wait for their line one at a time.
    fn insert_block(&self, hashes: &[KeyHash], outcome: &mut Vec<Insertion>) {
        let mut present = [false; BLOCK];
        for (present, &hash) in present.iter_mut().zip(hashes) {
            *present = self.look(self.locate(hash));
        }
        outcome.extend(hashes.iter().zip(present).map(|(&hash, present)| {
            if present { Insertion::AlreadyPresent } else { self.insert_hash(hash) }
        }));
    }

    /// Whether all bits are set, without stopping at the first that is not.
    #[inline]
    fn look(&self, positions: impl Iterator<Item = u64>) -> bool {
        positions.fold(true, |all, position| all & self.row.contains(position))
    }
}

impl BlockedBloomFilter {
    fn look_block(&self, hashes: &[KeyHash], present: &mut Vec<bool>) {
        let start = present.len();
        present.resize(start + hashes.len(), false);
        burst::run(burst::LookMany {
            blocks: &self.blocks,
            hashes,
            present: &mut present[start..],
        });
    }

    fn insert_block(&mut self, hashes: &[KeyHash], outcome: &mut Vec<Insertion>) {
        let start = outcome.len();
        outcome.resize(start + hashes.len(), Insertion::Inserted);
        let outcome = &mut outcome[start..];
        burst::run(burst::InsertMany { blocks: &mut self.blocks, hashes, outcome });
    }
}

impl ScalableBloomFilter {
    /// [`insert`](Self::insert) for many keys, as if one by one, in order: `outcome` is cleared,
    /// then holds one answer per key.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert): the keys that have an outcome are in, the others untouched.
    ///
    /// ```
    /// # use coua::{Insertion::{AlreadyPresent, Inserted}, ScalableBloomFilter};
    /// let mut filter = ScalableBloomFilter::with_capacity(10, 0.01)?;
    /// let mut outcome = Vec::new();
    /// filter.insert_batch(&["wren", "robin", "wren"], &mut outcome)?;
    /// assert_eq!(outcome, [Inserted, Inserted, AlreadyPresent]);
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    pub fn insert_batch<K: AsRef<[u8]>>(
        &mut self,
        keys: &[K],
        outcome: &mut Vec<Insertion>,
    ) -> Result<(), BloomBuildError> {
        outcome.clear();
        try_blocks::<BLOCK, _, _>(self.hasher(), keys, |block| self.insert_block(block, outcome))
    }

    /// [`insert_batch`](Self::insert_batch) for keys already hashed.
    ///
    /// # Errors
    ///
    /// As [`insert_batch`](Self::insert_batch).
    ///
    /// ```
    /// let mut filter = coua::ScalableBloomFilter::with_capacity(1_000, 0.01)?;
    /// let mut outcome = Vec::new();
    /// filter.insert_hash_batch(&[coua::KeyHash::from_u64(7)], &mut outcome)?;
    /// assert_eq!(outcome, [coua::Insertion::Inserted]);
    /// # Ok::<(), coua::BloomBuildError>(())
    /// ```
    pub fn insert_hash_batch(
        &mut self,
        hashes: &[KeyHash],
        outcome: &mut Vec<Insertion>,
    ) -> Result<(), BloomBuildError> {
        outcome.clear();
        hashes.chunks(BLOCK).try_for_each(|block| self.insert_block(block, outcome))
    }

    fn look_block(&self, hashes: &[KeyHash], present: &mut Vec<bool>) {
        let start = present.len();
        present.resize(start + hashes.len(), false);
        let mut in_stage = Vec::with_capacity(BLOCK);
        for stage in &self.stages {
            stage.filter.contains_hash_batch(hashes, &mut in_stage);
            let answers = present[start..].iter_mut().zip(&in_stage);
            answers.for_each(|(present, &found)| *present |= found);
        }
    }

    fn insert_block(
        &mut self,
        hashes: &[KeyHash],
        outcome: &mut Vec<Insertion>,
    ) -> Result<(), BloomBuildError> {
        let mut present = Vec::with_capacity(BLOCK);
        self.look_block(hashes, &mut present);
        for (&hash, present) in hashes.iter().zip(present) {
            // An absent key is asked for again: another of this block may have brought its bits.
            let done = if present { Insertion::AlreadyPresent } else { self.insert_hash(hash)? };
            outcome.push(done);
        }
        Ok(())
    }
}

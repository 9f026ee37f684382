//! The batches of Bloom filters, whose memory accesses overlap. Answers and bits are those of the
//! operations on single keys, in order.

use super::blocked::BlockedBloomFilter;
use super::burst::{self, Blocks, Many};
use super::filter::BloomFilter;
use crate::error::Insertion;
use crate::hash::{Key, KeyHash, KeyHasher};

/// Keys hashed together: their hashes stay in the nearest cache.
const CHUNK: usize = 1 << 12;
/// Keys of a [`BloomFilter`] per block; not more than the bits of a `u64`.
const BLOCK: usize = 64;

/// Calls `take` with the hashes of the keys, some at a time, in order.
fn in_chunks<K: Key>(hasher: KeyHasher, keys: &[K], mut take: impl FnMut(&[KeyHash])) {
    let mut space = Vec::new();
    keys.chunks(CHUNK).for_each(|chunk| take(K::hash_all(chunk, hasher, &mut space)));
}

impl BloomFilter {
    /// [`contains`](Self::contains) for many keys: one answer for each, in order.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut present = Vec::with_capacity(keys.len());
        in_chunks(self.hasher(), keys, |hashes| {
            hashes.chunks(BLOCK).for_each(|block| self.look_block(block, &mut present));
        });
        present
    }

    /// [`insert_unique`](Self::insert_unique) for many keys, as if one by one: one answer for each, in
    /// order.
    pub fn insert_unique_batch<K: Key>(&self, keys: &[K]) -> Vec<Insertion> {
        let mut outcomes = Vec::with_capacity(keys.len());
        in_chunks(self.hasher(), keys, |hashes| {
            hashes.chunks(BLOCK).for_each(|block| self.insert_block(block, &mut outcomes));
        });
        outcomes
    }

    /// No branch depends on what is found, so that the processor runs ahead of memory. In two passes: two
    /// probes recognize three of four absent keys, which then cost no further cache line.
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

    /// Looks first, which fetches every cache line. Then come the locked instructions, each of which
    /// waits for its line.
    fn insert_block(&self, hashes: &[KeyHash], outcomes: &mut Vec<Insertion>) {
        let mut present = [false; BLOCK];
        for (present, &hash) in present.iter_mut().zip(hashes) {
            *present = self.look(self.locate(hash));
        }
        outcomes.extend(hashes.iter().zip(present).map(|(&hash, present)| {
            if present { Insertion::AlreadyPresent } else { self.insert_unique(hash) }
        }));
    }

    /// Whether all bits are set, without stopping at the first that is not.
    #[inline]
    fn look(&self, positions: impl Iterator<Item = u64>) -> bool {
        positions.fold(true, |all, position| all & self.row.contains(position))
    }
}

impl BlockedBloomFilter {
    /// [`contains`](Self::contains) for many keys: one answer for each, in order.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        visit_blocks(&self.blocks[..], self.hasher(), keys)
    }

    /// [`insert_unique`](Self::insert_unique) for many keys, as if one by one: one answer for each, in
    /// order.
    pub fn insert_unique_batch<K: Key>(&mut self, keys: &[K]) -> Vec<Insertion> {
        let hasher = self.hasher();
        visit_blocks(&mut self.blocks[..], hasher, keys)
    }
}

fn visit_blocks<K: Key, B: Blocks>(mut blocks: B, hasher: KeyHasher, keys: &[K]) -> Vec<B::Answer> {
    let mut answers = vec![B::NONE; keys.len()];
    let mut done = 0;
    in_chunks(hasher, keys, |hashes| {
        let answers = &mut answers[done..done + hashes.len()];
        burst::run(Many { blocks: &mut blocks, hashes, answers });
        done += hashes.len();
    });
    answers
}

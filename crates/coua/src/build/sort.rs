//! Sorting keys by shard.

use crate::cuckoo::{shard_of, within_shard};
use crate::hash::KeyHash;

/// Some keys, sorted by shard; those of one shard are in order, and as their shard knows them.
#[derive(Default)]
pub(super) struct Block {
    hashes: Vec<KeyHash>,
    /// Where each shard's keys end.
    ends: Vec<usize>,
}

impl Block {
    /// Takes other keys, and sorts them into 2^`bits` shards. Counting sort: two passes, no comparison.
    pub(super) fn fill(&mut self, hashes: &[KeyHash], bits: u32) {
        self.ends.clear();
        self.ends.resize(1 << bits, 0);
        for &hash in hashes {
            self.ends[shard_of(hash, bits)] += 1;
        }
        let mut next = 0;
        for end in &mut self.ends {
            next += std::mem::replace(end, next);
        }
        self.hashes.resize(hashes.len(), KeyHash::from_u64(0));
        for &hash in hashes {
            let place = &mut self.ends[shard_of(hash, bits)];
            self.hashes[*place] = within_shard(hash, bits);
            // In the end it has moved on to where the next shard's keys begin.
            *place += 1;
        }
    }

    /// The keys of a shard.
    pub(super) fn of_shard(&self, shard: usize) -> &[KeyHash] {
        let first = if shard == 0 { 0 } else { self.ends[shard - 1] };
        &self.hashes[first..self.ends[shard]]
    }
}

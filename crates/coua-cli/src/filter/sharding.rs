//! Which shard of a filter each key of a block belongs to: the first bits of its hash say it.

use crate::key::{Answers, BlockKeys, Group, Seen};
use coua::KeyHash;
use std::num::NonZeroUsize;

/// More shards take more memory than they save time: each has segments that are not full.
pub(super) const MOST_BITS: u32 = 6;

/// Bits of a hash.
pub(super) const HASH_BITS: u32 = 64;

/// A division into 2^`bits` shards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sharding {
    pub(super) bits: u32,
}

impl Sharding {
    /// As many shards as `threads` can use.
    pub(super) fn for_threads(threads: NonZeroUsize) -> Self {
        Self { bits: threads.get().next_power_of_two().ilog2().min(MOST_BITS) }
    }

    pub(super) fn shards(self) -> usize {
        1 << self.bits
    }

    pub(super) fn shard_of(self, hash: KeyHash) -> usize {
        // In two steps: all bits are too many for one.
        (hash.to_u64() >> 1 >> (HASH_BITS - 1 - self.bits)) as usize
    }

    /// Groups the keys of a block by their shards. `own` is a key's hash as its shard knows it.
    pub(super) fn group(
        self,
        keys: &BlockKeys,
        answers: &mut Answers,
        own: impl Fn(KeyHash) -> KeyHash,
    ) {
        let groups = &mut answers.groups;
        groups.resize_with(self.shards(), Group::default);
        for group in groups.iter_mut() {
            group.hashes.clear();
        }
        for hash in &keys.hashes {
            groups[self.shard_of(*hash)].hashes.push(own(*hash));
        }
    }

    /// Puts the answers of the groups in the order of the keys, up to the first that a shard has refused: that shard is
    /// the error.
    pub(super) fn merge(self, keys: &BlockKeys, answers: &mut Answers) -> Result<(), usize> {
        let Answers { groups, found, .. } = answers;
        let mut outcomes: Vec<_> = groups.iter().map(|group| group.outcomes.iter()).collect();
        found.resize(keys.hashes.len(), Seen::Unknown);
        for (nth, hash) in keys.hashes.iter().enumerate() {
            let shard = self.shard_of(*hash);
            let Some(outcome) = outcomes[shard].next() else {
                found.truncate(nth);
                return Err(shard);
            };
            found[nth] = Seen::from(*outcome);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_follow_the_threads() {
        let bits = [1, 2, 3, 4, 16, 256]
            .map(|threads| Sharding::for_threads(NonZeroUsize::new(threads).unwrap()).bits);
        assert_eq!(bits, [0, 1, 2, 2, 4, MOST_BITS]);
    }
}

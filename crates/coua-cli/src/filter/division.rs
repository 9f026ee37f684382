//! Which part of a filter each key of a block belongs to: the first bits of its hash say it.

use crate::key::{Answers, Found, Group, Keyed};
use coua::KeyHash;
use std::num::NonZeroUsize;

/// More parts take more memory than they save time: each has segments that are not full.
pub(super) const MOST_BITS: u32 = 6;

/// Bits of a hash.
pub(super) const HASH_BITS: u32 = 64;

/// A division into 2^`bits` parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    pub(super) bits: u32,
}

impl Division {
    /// As many parts as so many threads can use.
    pub(super) fn for_threads(threads: NonZeroUsize) -> Self {
        Self { bits: threads.get().next_power_of_two().ilog2().min(MOST_BITS) }
    }

    pub(super) fn parts(self) -> usize {
        1 << self.bits
    }

    pub(super) fn part_of(self, hash: KeyHash) -> usize {
        // In two steps: all bits are too many for one.
        (hash.to_u64() >> 1 >> (HASH_BITS - 1 - self.bits)) as usize
    }

    /// Groups the keys of a block by their parts. `own` is a key's hash as its part knows it.
    pub(super) fn group(
        self,
        keyed: &Keyed,
        answers: &mut Answers,
        own: impl Fn(KeyHash) -> KeyHash,
    ) {
        let groups = &mut answers.groups;
        groups.resize_with(self.parts(), Group::default);
        for group in groups.iter_mut() {
            group.hashes.clear();
        }
        for hash in &keyed.hashes {
            groups[self.part_of(*hash)].hashes.push(own(*hash));
        }
    }

    /// Puts the answers of the groups in the order of the keys, up to the first that a part has refused: that part is
    /// the error.
    pub(super) fn merge(self, keyed: &Keyed, answers: &mut Answers) -> Result<(), usize> {
        let Answers { groups, found, .. } = answers;
        let mut outcomes: Vec<_> = groups.iter().map(|group| group.outcomes.iter()).collect();
        found.resize(keyed.hashes.len(), Found::Unknown);
        for (nth, hash) in keyed.hashes.iter().enumerate() {
            let part = self.part_of(*hash);
            let Some(outcome) = outcomes[part].next() else {
                found.truncate(nth);
                return Err(part);
            };
            found[nth] = Found::from(*outcome);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_the_threads() {
        let bits = [1, 2, 3, 4, 16, 256]
            .map(|threads| Division::for_threads(NonZeroUsize::new(threads).unwrap()).bits);
        assert_eq!(bits, [0, 1, 2, 2, 4, MOST_BITS]);
    }
}

//! Batches over shards: keys are grouped by shard, and a lock is taken once for a group.

use thiserror::Error;

use crate::error::{BatchFull, Full, Insertion};
use crate::filter::IfPresent;
use crate::hash::{Key, KeyHash, KeyHasher};
use crate::shards::Division;
use crate::shared::SharedCuckooFilter;
use crate::verbs::{Filter, When, own_verbs};

/// Keys grouped at a time, per shard: enough for a group to be worth a lock and its own batch. Two processors have 8
/// shards, and the arrays stay in the second-level cache.
const BLOCK_PER_SHARD: usize = 1 << 11;

/// Some keys of a batch were refused; all its other keys were processed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{full} ({} keys of the batch were refused)", refused.len())]
pub struct BatchRefused {
    /// The places of the refused keys in the batch, ascending. Never empty.
    pub refused: Vec<usize>,
    /// Why one of them was refused.
    #[source]
    pub full: Full,
}

/// A block of keys, sorted by shard; those of one shard are in their original order, as their shard sees them.
#[derive(Default)]
struct Block {
    hashes: Vec<KeyHash>,
    /// The place of each key in the block.
    origins: Vec<u32>,
    /// The end of each shard's keys.
    ends: Vec<usize>,
}

/// The keys of a block that belong to one shard.
#[derive(Clone, Copy)]
struct Group<'a> {
    shard: usize,
    hashes: &'a [KeyHash],
    origins: &'a [u32],
    /// Where the block begins in the batch.
    start: usize,
}

impl Block {
    /// Replaces the content. A counting sort: two passes, no comparisons.
    fn fill(&mut self, hashes: &[KeyHash], division: Division) {
        self.ends.clear();
        self.ends.resize(division.shards(), 0);
        for &hash in hashes {
            self.ends[division.shard_of(hash)] += 1;
        }
        let mut next = 0;
        for end in &mut self.ends {
            next += std::mem::replace(end, next);
        }
        self.hashes.resize(hashes.len(), KeyHash::from_u64(0));
        self.origins.resize(hashes.len(), 0);
        for (origin, &hash) in (0..).zip(hashes) {
            let place = &mut self.ends[division.shard_of(hash)];
            self.hashes[*place] = division.within(hash);
            self.origins[*place] = origin;
            // After the last key, it is the end of the shard's keys.
            *place += 1;
        }
    }

    fn group(&self, shard: usize, start: usize) -> Group<'_> {
        let first = if shard == 0 { 0 } else { self.ends[shard - 1] };
        let places = first..self.ends[shard];
        Group { shard, hashes: &self.hashes[places.clone()], origins: &self.origins[places], start }
    }
}

impl Group<'_> {
    /// Writes the answers for the group's keys to their places in the batch.
    fn scatter<T: Copy>(&self, answers: &[T], out: &mut [T]) {
        for (index, &answer) in answers.iter().enumerate() {
            out[self.position(index)] = answer;
        }
    }

    /// The place in the batch of the group's key number `index`.
    fn position(&self, index: usize) -> usize {
        self.start + self.origins[index] as usize
    }
}

impl SharedCuckooFilter {
    /// Calls `work` for every group of keys. Each block begins at another shard, so that threads seldom queue for the same
    /// shard.
    fn visit(&self, hashes: &[KeyHash], mut work: impl FnMut(Group<'_>)) {
        let mut block = Block::default();
        let (division, shards) = (self.plan.division, self.shards());
        let keys = shards * BLOCK_PER_SHARD;
        for (number, part) in hashes.chunks(keys).enumerate() {
            block.fill(part, division);
            let first = division.shard_of(part[0]);
            for index in 0..shards {
                let group = block.group((first + index) % shards, number * keys);
                if !group.hashes.is_empty() {
                    work(group);
                }
            }
        }
    }

    /// [`contains`](Self::contains) for many keys: one answer for each, in order. O(keys); takes 8 bytes per key for
    /// the hashes, as all batches do, unless the keys are hashes already.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        self.answers(keys, |group| self.shards.read(group.shard).contains_hashes(group.hashes))
    }

    /// [`count`](Self::count) for many keys: one number for each, in order. O(keys).
    pub fn count_batch<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        self.answers(keys, |group| self.shards.read(group.shard).count_hashes(group.hashes))
    }

    /// [`remove`](Self::remove) for many keys: one answer for each, in order. O(keys).
    pub fn remove_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        self.answers(keys, |group| {
            let mut shard = self.shards.write(group.shard);
            let before = shard.stored();
            let removed = shard.remove_hashes(group.hashes);
            self.allowance.give_back(before - shard.stored());
            removed
        })
    }

    /// Collects the answers of `work` for the keys of each group.
    fn answers<K: Key, T: Copy + Default>(
        &self,
        keys: &[K],
        mut work: impl FnMut(Group<'_>) -> Vec<T>,
    ) -> Vec<T> {
        let mut space = Vec::new();
        let mut answers = vec![T::default(); keys.len()];
        self.visit(K::hash_all(keys, self.plan.hasher, &mut space), |group| {
            group.scatter(&work(group), &mut answers);
        });
        answers
    }

    /// [`insert`](Self::insert) for many keys, repeats included. Every key is tried. O(keys)
    /// expected, growth included, and O(r log r) more if r of them are refused.
    ///
    /// # Errors
    ///
    /// [`BatchRefused`] lists the refused keys; all others were inserted.
    pub fn insert_batch<K: Key>(&self, keys: &[K]) -> Result<(), BatchRefused> {
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.plan.hasher, &mut space);
        self.insert_all(hashes, IfPresent::AddCopy, &mut [])
    }

    /// [`insert_unique`](Self::insert_unique) for many keys: one answer for each, in order. If a key occurs several
    /// times in the batch, the first is inserted. O(keys) expected, growth included, and O(r log r) more if r of them
    /// are refused.
    ///
    /// # Errors
    ///
    /// [`BatchRefused`] lists the absent keys that were refused; all others were processed. To get their
    /// answers, use [`Filter::insert_each`].
    ///
    /// ```
    /// use coua::Insertion::{AlreadyPresent, Inserted};
    /// let seen = coua::SharedCuckooFilter::new();
    /// assert_eq!(seen.insert_unique_batch(&["a", "b", "a"])?, [Inserted, Inserted, AlreadyPresent]);
    /// assert_eq!(seen.contains_batch(&["a", "b", "c"]), [true, true, false]);
    /// # Ok::<(), coua::BatchRefused>(())
    /// ```
    pub fn insert_unique_batch<K: Key>(&self, keys: &[K]) -> Result<Vec<Insertion>, BatchRefused> {
        let (mut space, mut outcomes) = (Vec::new(), vec![Insertion::Refused; keys.len()]);
        let hashes = K::hash_all(keys, self.plan.hasher, &mut space);
        self.insert_all(hashes, IfPresent::Skip, &mut outcomes).map(|()| outcomes)
    }

    /// Inserts all keys that are not refused, and records what became of each, unless `outcomes` is empty.
    fn insert_all(
        &self,
        hashes: &[KeyHash],
        if_present: IfPresent,
        outcomes: &mut [Insertion],
    ) -> Result<(), BatchRefused> {
        let (mut part, mut refused, mut last) = (Vec::new(), Vec::<usize>::new(), None);
        self.visit(hashes, |group| {
            let mut permit = self.allowance.permit(group.hashes.len() as u64);
            let mut shard = self.shards.write(group.shard);
            if !outcomes.is_empty() {
                part.clear();
                part.resize(group.hashes.len(), Insertion::AlreadyPresent);
            }
            let refusals = self.with_permit(&mut shard, &mut permit, |shard| {
                shard.insert_accepted(group.hashes, if_present, &mut part)
            });
            group.scatter(&part, outcomes);
            refused.extend(refusals.keys.into_iter().map(|key| group.position(key)));
            last = refusals.reason.or(last);
        });
        refused.sort_unstable();
        if !outcomes.is_empty() {
            for &key in &refused {
                outcomes[key] = Insertion::Refused;
            }
        }
        last.map_or(Ok(()), |reason| Err(BatchRefused { refused, full: self.full(reason) }))
    }
}

impl Filter for &SharedCuckooFilter {
    own_verbs!(SharedCuckooFilter);

    /// Tries every key.
    fn insert_each(
        &mut self,
        hashes: &[KeyHash],
        _when: When<'_>,
        if_present: IfPresent,
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        outcomes.clear();
        outcomes.resize(hashes.len(), Insertion::Refused);
        let done = self.insert_all(hashes, if_present, outcomes);
        done.map_err(|BatchRefused { refused, full }| BatchFull { done: refused[0], full })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::LOOKUPS;
    use crate::filter::{CuckooFilter, WhenFull};
    use crate::shards::tests::mix;
    use std::ops::Range;

    fn hashes(keys: Range<u64>) -> Vec<KeyHash> {
        keys.map(|n| KeyHash::from_u64(mix(mix(n)))).collect()
    }

    /// A batch goes on after a refusal: each key is looked up at most once, even if nearly all are refused.
    #[test]
    fn refused_keys_are_looked_up_once() {
        let limited = CuckooFilter::builder().max_items(3_000);
        let fixed = CuckooFilter::builder().capacity(3_000).when_full(WhenFull::Refuse);
        for builder in [limited, fixed] {
            let shared: SharedCuckooFilter = builder.build_shared().unwrap();
            let refused = shared.insert_batch(&hashes(0..8_000)).unwrap_err().refused;
            assert_eq!(refused.len() as u64, 8_000 - shared.len());
            let keys = hashes(10_000..20_000);
            let mut outcomes = vec![Insertion::Inserted; keys.len()];
            LOOKUPS.set(0);
            let result = shared.insert_all(&keys, IfPresent::Skip, &mut outcomes);
            let refused = result.unwrap_err().refused;
            assert!(refused.len() > 9_000, "{}", refused.len());
            assert!(refused.iter().all(|&key| outcomes[key] == Insertion::Refused));
            assert!(LOOKUPS.get() <= keys.len(), "{} lookups", LOOKUPS.get());
        }
    }
}

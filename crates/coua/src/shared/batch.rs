//! Batches over shards: keys are grouped by shard, and a lock is taken once for a group.

use crate::batch::Refusals;
use crate::error::{BatchFull, Full, Insertion};
use crate::filter::{GroupedKeys, IfPresent};
use crate::hash::{Key, KeyHash, KeyHasher};
use crate::shared::SharedCuckooFilter;
use crate::verbs::{Filter, When, own_verbs};

/// Keys grouped at a time, per shard: enough for a group to be worth a lock and its own batch. Two processors have 8
/// shards, and the arrays stay in the second-level cache.
const BLOCK_PER_SHARD: usize = 1 << 11;

/// The keys of a block that belong to one shard.
#[derive(Clone, Copy)]
struct Group<'a> {
    shard: usize,
    hashes: &'a [KeyHash],
    origins: &'a [u32],
    /// Where the block begins in the batch.
    start: usize,
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
        let mut block = GroupedKeys::default();
        let (division, shards) = (self.plan.division, self.shards());
        let keys = shards * BLOCK_PER_SHARD;
        for (number, part) in hashes.chunks(keys).enumerate() {
            block.divide(
                part,
                shards,
                |hash| division.shard_of(hash) as u8,
                |hash| division.within(hash),
            );
            let first = division.shard_of(part[0]);
            for index in 0..shards {
                let (shard, start) = ((first + index) % shards, number * keys);
                let (hashes, origins) = block.group(shard);
                if !hashes.is_empty() {
                    work(Group { shard, hashes, origins, start });
                }
            }
        }
    }

    /// [`contains`](Self::contains) for many keys: one answer for each, in order. O(keys); takes 8 bytes per key for
    /// the hashes, as all batches do, unless the keys are hashes already.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        self.answers(keys, |group| self.shards[group.shard].read().contains_hashes(group.hashes))
    }

    /// [`count`](Self::count) for many keys: one number for each, in order. O(keys).
    pub fn count_batch<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        self.answers(keys, |group| self.shards[group.shard].read().count_hashes(group.hashes))
    }

    /// [`remove`](Self::remove) for many keys: one answer for each, in order. O(keys).
    pub fn remove_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        self.answers(keys, |group| {
            let mut shard = self.shards[group.shard].write();
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
    /// [`BatchFull`] if keys were refused; all others were inserted.
    pub fn insert_batch<K: Key>(&self, keys: &[K]) -> Result<(), BatchFull> {
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
    /// [`BatchFull`] if absent keys were refused; all others were processed. To get their
    /// answers, use [`Filter::insert_each`].
    ///
    /// ```
    /// use coua::Insertion::{AlreadyPresent, Inserted};
    /// let seen = coua::SharedCuckooFilter::new();
    /// assert_eq!(seen.insert_unique_batch(&["a", "b", "a"])?, [Inserted, Inserted, AlreadyPresent]);
    /// assert_eq!(seen.contains_batch(&["a", "b", "c"]), [true, true, false]);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn insert_unique_batch<K: Key>(&self, keys: &[K]) -> Result<Vec<Insertion>, BatchFull> {
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
    ) -> Result<(), BatchFull> {
        let (mut part, mut first, mut last) = (Vec::new(), usize::MAX, None);
        self.visit(hashes, |group| {
            let mut permit = self.allowance.permit(group.hashes.len() as u64);
            let mut shard = self.shards[group.shard].write();
            if !outcomes.is_empty() {
                part.clear();
                part.resize(group.hashes.len(), Insertion::AlreadyPresent);
            }
            let mut refusals = Refusals::default();
            let inserted = self.with_permit(&mut shard, &mut permit, |shard| {
                shard.insert_all(group.hashes, if_present, &mut part, Some(&mut refusals))
            });
            debug_assert!(inserted.is_ok(), "a batch that records refusals goes on");
            group.scatter(&part, outcomes);
            for place in refusals.keys.into_iter().map(|key| group.position(key)) {
                first = first.min(place);
                if let Some(outcome) = outcomes.get_mut(place) {
                    *outcome = Insertion::Refused;
                }
            }
            last = refusals.reason.or(last);
        });
        last.map_or(Ok(()), |reason| Err(BatchFull { done: first, full: self.full(reason) }))
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
        self.insert_all(hashes, if_present, outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::LOOKUPS;
    use crate::filter::{CuckooFilter, WhenFull};
    use crate::shards::tests::mix;
    use crate::smoke::few_in_miri;
    use std::ops::Range;

    fn hashes(keys: Range<u64>) -> Vec<KeyHash> {
        keys.map(|n| KeyHash::from_u64(mix(mix(n)))).collect()
    }

    /// A batch goes on after a refusal: each key is looked up at most once, even if nearly all are refused.
    #[test]
    fn refused_keys_are_looked_up_once() {
        let most: u64 = if cfg!(miri) { 60 } else { 3_000 };
        let limited = CuckooFilter::builder().max_items(most);
        let fixed = CuckooFilter::builder().capacity(most).when_full(WhenFull::Refuse);
        for builder in few_in_miri([limited, fixed].into_iter(), 2) {
            let shared: SharedCuckooFilter = builder.build_shared().unwrap();
            let count = |outcomes: &[Insertion], which| {
                outcomes.iter().filter(|&&outcome| outcome == which).count()
            };
            let (keys, mut outcomes) = (hashes(0..most * 8 / 3), Vec::new());
            let inserted =
                (&shared).insert_each(&keys, When::Now, IfPresent::AddCopy, &mut outcomes);
            let first = outcomes.iter().position(|&outcome| outcome == Insertion::Refused);
            assert_eq!(Some(inserted.unwrap_err().done), first);
            assert_eq!(count(&outcomes, Insertion::Inserted) as u64, shared.len());
            let keys = hashes(most * 10 / 3..most * 20 / 3);
            let mut outcomes = vec![Insertion::Inserted; keys.len()];
            LOOKUPS.set(0);
            let result = shared.insert_all(&keys, IfPresent::Skip, &mut outcomes);
            assert!(result.is_err());
            let refused = count(&outcomes, Insertion::Refused);
            assert!(refused > keys.len() * 9 / 10, "{refused}");
            assert!(LOOKUPS.get() <= keys.len(), "{} lookups", LOOKUPS.get());
        }
    }
}

//! Coua's filter for many threads.

use coua::{CuckooFilter, Insertion, KeyHash, SharedCuckooFilter, WhenFull};

use crate::contestant::{Calls, Contestant, Entry, OneByOne, Plan, Shared};
use crate::keys::Key;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    vec![
        Entry::new("coua shared", "behind locks, threads, key by key", 16.0)
            .fixed(|plan| Ok(Calls::boxed(build(plan)?))),
        Entry::new("coua shared, batches", "behind locks, threads", 16.0)
            .fixed(|plan| Ok(Box::new(Batches(build(plan)?))))
            .batched()
            .twin(),
    ]
}

fn build(plan: Plan) -> Result<SharedCuckooFilter, String> {
    let builder =
        CuckooFilter::builder().capacity(plan.items).rate(plan.rate).when_full(WhenFull::Refuse);
    builder.build_shared().map_err(|error| error.to_string())
}

impl<K: Key> OneByOne<K> for SharedCuckooFilter {
    const ADDS_IF_ABSENT: bool = true;

    fn add(&mut self, key: &K) -> bool {
        self.insert_hash(key.hashed(self.hasher())).is_ok()
    }

    fn has(&self, key: &K) -> bool {
        self.contains_hash(key.hashed(self.hasher()))
    }

    fn take(&mut self, key: &K) -> bool {
        self.remove_hash(key.hashed(self.hasher()))
    }

    fn add_if_absent(&mut self, key: &K) -> bool {
        self.insert_unique_hash(key.hashed(self.hasher())) == Ok(Insertion::Inserted)
    }

    fn shared(&self) -> Option<&dyn Shared<K>> {
        Some(self)
    }

    fn memory_bytes(&self) -> Option<usize> {
        Some(Self::memory_bytes(self))
    }
}

impl<K: Key> Shared<K> for SharedCuckooFilter {
    fn insert(&self, keys: &[K]) -> u64 {
        let refused = |key: &K| self.insert_hash(key.hashed(self.hasher())).is_err();
        keys.iter().map(|key| u64::from(refused(key))).sum()
    }
}

struct Batches(SharedCuckooFilter);

impl Batches {
    fn hash<K: Key>(&self, keys: &[K]) -> Vec<KeyHash> {
        keys.iter().map(|key| key.hashed(self.0.hasher())).collect()
    }
}

impl<K: Key> Contestant<K> for Batches {
    /// A batch is cut among the locks, so it must be larger to be as good.
    fn block(&self) -> usize {
        1 << 14
    }

    fn insert(&mut self, keys: &[K], refused: &mut Vec<K>) {
        // Which keys were refused is told by position.
        if let Err(rest) = self.0.insert_hash_batch(&self.hash(keys)) {
            refused.extend(rest.refused.iter().map(|&place| keys[place]));
        }
    }

    fn contains(&self, keys: &[K]) -> u64 {
        let mut answers = Vec::with_capacity(keys.len());
        self.0.contains_hash_batch(&self.hash(keys), &mut answers);
        answers.iter().map(|&answer| u64::from(answer)).sum()
    }

    fn remove(&mut self, keys: &[K]) -> Option<u64> {
        let mut answers = Vec::with_capacity(keys.len());
        self.0.remove_hash_batch(&self.hash(keys), &mut answers);
        Some(answers.iter().map(|&answer| u64::from(answer)).sum())
    }

    fn shared(&self) -> Option<&dyn Shared<K>> {
        Some(self)
    }

    fn memory_bytes(&self) -> Option<usize> {
        Some(self.0.memory_bytes())
    }
}

impl<K: Key> Shared<K> for Batches {
    fn insert(&self, keys: &[K]) -> u64 {
        let done = self.0.insert_hash_batch(&self.hash(keys));
        done.map_or_else(|rest| rest.refused.len() as u64, |()| 0)
    }
}

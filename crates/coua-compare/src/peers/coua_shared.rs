//! Coua's filter for many threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use coua::{CuckooFilter, Insertion, KeyHash, SharedCuckooFilter, WhenFull};

use super::calls::{Calls, calls, shared_calls};
use super::{count, inserted};
use crate::contestant::{Contestant, Entry, Plan, Shared};
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

calls!(SharedCuckooFilter, filter, key;
    add => filter.insert(key.hashed(filter.hasher())).is_ok(),
    has => filter.contains(key.hashed(filter.hasher())),
    take => filter.remove(key.hashed(filter.hasher())),
    add_if_absent => filter.insert_unique(key.hashed(filter.hasher())) == Ok(Insertion::Inserted),
    shared => true,
    memory_bytes => Self::memory_bytes(filter),
);
shared_calls!(SharedCuckooFilter, filter, key; filter.insert(key.hashed(filter.hasher())).is_ok());

/// Keys that a thread hashes and hands over at once while it builds from all of them: many for each
/// lock, few enough to stay in the cache.
const AT_ONCE: usize = 1 << 17;

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
        if let Err(rest) = self.0.insert_batch(&self.hash(keys)) {
            refused.extend(rest.refused.iter().map(|&place| keys[place]));
        }
    }

    fn contains(&self, keys: &[K]) -> u64 {
        count(&self.0.contains_batch(&self.hash(keys)))
    }

    fn remove(&mut self, keys: &[K]) -> Option<u64> {
        Some(count(&self.0.remove_batch(&self.hash(keys))))
    }

    fn insert_unique(&mut self, keys: &[K]) -> Option<u64> {
        let mut outcomes = Vec::with_capacity(keys.len());
        // A refused key counts as not inserted; none is expected below capacity.
        match self.0.insert_unique_batch_into(&self.hash(keys), &mut outcomes) {
            Ok(()) | Err(_) => {}
        }
        Some(inserted(&outcomes))
    }

    fn build(&mut self, keys: &[K], threads: usize) -> Option<u64> {
        let (batches, refused) = (&*self, AtomicU64::new(0));
        thread::scope(|scope| {
            for share in keys.chunks(keys.len().div_ceil(threads).max(1)) {
                let refused = &refused;
                scope.spawn(move || {
                    let count: u64 = share.chunks(AT_ONCE).map(|part| batches.insert(part)).sum();
                    refused.fetch_add(count, Ordering::Relaxed)
                });
            }
        });
        Some(refused.into_inner())
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
        let done = self.0.insert_batch(&self.hash(keys));
        done.map_or_else(|rest| rest.refused.len() as u64, |()| 0)
    }
}

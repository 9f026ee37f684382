//! Coua's own Bloom filters: no removal.

use coua::bloom::{BlockedBloomFilter, BloomBuildError, BloomFilter, ScalableBloomFilter};
use coua::{Insertion, KeyHash};

use super::calls::{Calls, OneByOne, calls, shared_calls};
use crate::contestant::{Contestant, Entry, Made};
use crate::keys::Key;

/// Where growing filters start.
const SMALL: u64 = 1024;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    vec![
        Entry::new("coua BloomFilter", "key by key, threads", 8.0)
            .fixed(|plan| made(BloomFilter::with_capacity(plan.items, plan.rate))),
        Entry::new("coua BlockedBloomFilter", "split blocks, key by key", 16.0)
            .fixed(|plan| made(BlockedBloomFilter::with_capacity(plan.items, plan.rate))),
        Entry::new("coua BlockedBloomFilter, batches", "split blocks", 16.0)
            .fixed(|plan| {
                let filter = BlockedBloomFilter::with_capacity(plan.items, plan.rate);
                Ok(Box::new(BlockedBatches(filter.map_err(|error| error.to_string())?)))
            })
            .batched()
            .twin(),
        Entry::new("coua ScalableBloomFilter", "a chain when it grows", 16.0)
            .growing(|plan| made(ScalableBloomFilter::with_capacity(SMALL, plan.rate))),
    ]
}

fn made<K: Key, P>(filter: Result<P, BloomBuildError>) -> Made<K>
where
    P: OneByOne<K> + 'static,
{
    filter.map(Calls::boxed).map_err(|error| error.to_string())
}

struct BlockedBatches(BlockedBloomFilter);

impl BlockedBatches {
    fn hashes<K: Key>(&self, keys: &[K]) -> Vec<KeyHash> {
        let hasher = self.0.hasher();
        keys.iter().map(|key| key.hashed(hasher)).collect()
    }
}

impl<K: Key> Contestant<K> for BlockedBatches {
    fn insert(&mut self, keys: &[K], _refused: &mut Vec<K>) {
        let hashes = self.hashes(keys);
        self.0.insert_unique_batch(&hashes);
    }

    fn contains(&self, keys: &[K]) -> u64 {
        super::count(&self.0.contains_batch(&self.hashes(keys)))
    }

    fn memory_bytes(&self) -> Option<usize> {
        Some(self.0.memory_bytes())
    }
}

calls!(BloomFilter, filter, key;
    add => {
        filter.insert_unique(key.hashed(filter.hasher()));
        true
    },
    has => filter.contains(key.hashed(filter.hasher())),
    add_if_absent => filter.insert_unique(key.hashed(filter.hasher())) == Insertion::Inserted,
    shared => true,
    memory_bytes => Self::memory_bytes(filter),
);
shared_calls!(BloomFilter, filter, key; {
    filter.insert_unique(key.hashed(filter.hasher()));
    true
});

calls!(BlockedBloomFilter, filter, key;
    add => {
        filter.insert_unique(key.hashed(filter.hasher()));
        true
    },
    has => filter.contains(key.hashed(filter.hasher())),
    add_if_absent => filter.insert_unique(key.hashed(filter.hasher())) == Insertion::Inserted,
    memory_bytes => Self::memory_bytes(filter),
);

calls!(ScalableBloomFilter, filter, key;
    add => filter.insert_unique(key.hashed(filter.hasher())).is_ok(),
    has => filter.contains(key.hashed(filter.hasher())),
    add_if_absent => filter.insert_unique(key.hashed(filter.hasher())).is_ok_and(Insertion::is_new),
    memory_bytes => Self::memory_bytes(filter),
);

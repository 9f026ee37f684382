//! Coua itself: key by key, in batches, both layouts, growing, shared.

use coua::{BuildError, CuckooFilter, CuckooFilterBuilder, Insertion, KeyHash, Layout, WhenFull};

use super::calls::{Calls, calls};
use super::{count, inserted};
use crate::contestant::{Contestant, Entry, Made, Plan};
use crate::keys::Key;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    let mut all = vec![
        Entry::new(super::REFERENCE, "buckets of 4, key by key", 16.0)
            .fixed(|plan| Ok(Calls::boxed(build(fixed(plan))?)))
            .ready(|plan| Ok(Calls::boxed(build(ready(plan))?)))
            .growing(|plan| Ok(Calls::boxed(build(growing(plan))?))),
        Entry::new("coua, batches", "the same filter, asked in batches", 16.0)
            .fixed(|plan| Batches::boxed(fixed(plan)))
            .ready(|plan| Batches::boxed(ready(plan)))
            .growing(|plan| Batches::boxed(growing(plan)))
            .batched()
            .twin(),
        Entry::new("coua windows, batches", "overlapping windows of two", 16.0)
            .fixed(|plan| Batches::boxed(fixed(plan).layout(Layout::Overlapping)))
            .ready(|plan| Batches::boxed(ready(plan).layout(Layout::Overlapping)))
            .growing(|plan| Batches::boxed(growing(plan).layout(Layout::Overlapping)))
            .batched(),
        Entry::new("coua default, batches", "keeps all 64 bits of the hash", 24.0)
            .ready(|plan| Batches::boxed(CuckooFilter::builder().capacity(plan.items)))
            .growing(|_| Batches::boxed(CuckooFilter::builder()))
            .batched(),
    ];
    // Keys of type u64 are uniform, and so serve as their own hash.
    if K::NAME == u64::NAME {
        all.push(
            Entry::new("coua, hashed keys", "batches of keys that are hashed already", 16.0)
                .fixed(|plan| Hashed::boxed(fixed(plan)))
                .ready(|plan| Hashed::boxed(ready(plan)))
                .growing(|plan| Hashed::boxed(growing(plan)))
                .batched()
                .twin(),
        );
    }
    all
}

fn fixed(plan: Plan) -> CuckooFilterBuilder {
    CuckooFilter::builder().capacity(plan.items).rate(plan.rate).when_full(WhenFull::Refuse)
}

fn growing(plan: Plan) -> CuckooFilterBuilder {
    CuckooFilter::builder().capacity(0).max_items(plan.items).rate(plan.rate)
}

/// The hash bits of the growing one, and room for all items.
fn ready(plan: Plan) -> CuckooFilterBuilder {
    // With a rate alone it would be of fixed size, and have other hash bits.
    CuckooFilter::builder()
        .capacity(plan.items)
        .max_items(plan.items)
        .rate(plan.rate)
        .when_full(WhenFull::ExceedRate)
}

fn build(builder: CuckooFilterBuilder) -> Result<CuckooFilter, String> {
    builder.build().map_err(|error| error.to_string())
}

// Large tables are mappings, which the counting allocator does not see.
calls!(CuckooFilter, filter, key;
    add => filter.insert(key.hashed(filter.hasher())).is_ok(),
    has => filter.contains(key.hashed(filter.hasher())),
    take => filter.remove(key.hashed(filter.hasher())),
    add_if_absent => filter.insert_unique(key.hashed(filter.hasher())) == Ok(Insertion::Inserted),
    memory_bytes => Self::memory_bytes(filter),
);

/// Hashes a block and hands it over whole.
struct Batches {
    builder: CuckooFilterBuilder,
    filter: CuckooFilter,
    hashes: Vec<KeyHash>,
    answers: Vec<bool>,
    outcomes: Vec<Insertion>,
}

impl Batches {
    fn boxed<K: Key>(builder: CuckooFilterBuilder) -> Made<K> {
        Ok(Box::new(Self::new(builder)?))
    }

    fn new(builder: CuckooFilterBuilder) -> Result<Self, String> {
        let filter = build(builder.clone())?;
        let (hashes, answers, outcomes) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { builder, filter, hashes, answers, outcomes })
    }

    /// Takes a filter built from so many keys, or stays empty; how many are not in.
    fn take(&mut self, built: Result<CuckooFilter, BuildError>, keys: usize) -> u64 {
        match built {
            Ok(filter) => {
                self.filter = filter;
                0
            }
            Err(_) => keys as u64,
        }
    }

    fn hash<K: Key>(&mut self, keys: &[K]) {
        let hasher = self.filter.hasher();
        self.hashes.clear();
        self.hashes.extend(keys.iter().map(|key| key.hashed(hasher)));
    }

    fn insert_hashes<K: Key>(&mut self, keys: &[K], refused: &mut Vec<K>) {
        let mut at = 0;
        while let Err(full) = self.filter.insert_batch(&self.hashes[at..]) {
            at += full.done;
            refused.push(keys[at]);
            at += 1;
        }
    }

    fn remove_hashes(&mut self) -> u64 {
        self.answers = self.filter.remove_batch(&self.hashes);
        count(&self.answers)
    }

    fn insert_unique_hashes(&mut self) -> u64 {
        // A refusal ends the batch, and the answers show it; none is expected below capacity.
        match self.filter.insert_unique_batch_into(&self.hashes, &mut self.outcomes) {
            Ok(()) | Err(_) => {}
        }
        inserted(&self.outcomes)
    }
}

fn contains_hashes(filter: &CuckooFilter, hashes: &[KeyHash]) -> u64 {
    count(&filter.contains_batch(hashes))
}

impl<K: Key> Contestant<K> for Batches {
    fn insert(&mut self, keys: &[K], refused: &mut Vec<K>) {
        self.hash(keys);
        self.insert_hashes(keys, refused);
    }

    fn contains(&self, keys: &[K]) -> u64 {
        let ready: Vec<_> = keys.iter().map(|key| key.hashed(self.filter.hasher())).collect();
        contains_hashes(&self.filter, &ready)
    }

    fn remove(&mut self, keys: &[K]) -> Option<u64> {
        self.hash(keys);
        Some(self.remove_hashes())
    }

    fn insert_unique(&mut self, keys: &[K]) -> Option<u64> {
        self.hash(keys);
        Some(self.insert_unique_hashes())
    }

    fn build(&mut self, keys: &[K], threads: usize) -> Option<u64> {
        let built = K::built(self.builder.clone().threads(threads), keys);
        Some(self.take(built, keys.len()))
    }

    fn memory_bytes(&self) -> Option<usize> {
        Some(self.filter.memory_bytes())
    }
}

/// Batches of keys that serve as their own hash: the filter alone, without hashing.
struct Hashed(Batches);

impl Hashed {
    fn boxed<K: Key>(builder: CuckooFilterBuilder) -> Made<K> {
        Ok(Box::new(Self(Batches::new(builder)?)))
    }

    fn take_over<K: Key>(&mut self, keys: &[K]) {
        self.0.hashes.clear();
        self.0.hashes.extend(keys.iter().map(Key::ready));
    }
}

impl<K: Key> Contestant<K> for Hashed {
    fn insert(&mut self, keys: &[K], refused: &mut Vec<K>) {
        self.take_over(keys);
        self.0.insert_hashes(keys, refused);
    }

    fn contains(&self, keys: &[K]) -> u64 {
        let hashes: Vec<_> = keys.iter().map(Key::ready).collect();
        contains_hashes(&self.0.filter, &hashes)
    }

    fn remove(&mut self, keys: &[K]) -> Option<u64> {
        self.take_over(keys);
        Some(self.0.remove_hashes())
    }

    fn insert_unique(&mut self, keys: &[K]) -> Option<u64> {
        self.take_over(keys);
        Some(self.0.insert_unique_hashes())
    }

    fn build(&mut self, keys: &[K], threads: usize) -> Option<u64> {
        // A list of hashes is made here within the time, a nanosecond or two for each.
        let hashes: Vec<_> = keys.iter().map(Key::ready).collect();
        let builder = self.0.builder.clone().threads(threads);
        Some(self.0.take(builder.build_from(&hashes), keys.len()))
    }

    fn memory_bytes(&self) -> Option<usize> {
        Some(self.0.filter.memory_bytes())
    }
}

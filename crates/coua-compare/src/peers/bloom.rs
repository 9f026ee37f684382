//! Bloom filters of other crates: no removal.

use coua::KeyHasher;
use coua::sizing::bloom::BlockedBloomPlan;
use fastbloom::AtomicBloomFilter;
use growable_bloom_filter::GrowableBloom;

use crate::contestant::{Calls, Entry, Made, OneByOne, Shared};
use crate::keys::Key;

/// Where growing filters start.
const SMALL: u64 = 1024;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    vec![
        Entry::new("fastbloom", "SipHash", 8.0).fixed(|plan| {
            let builder = fastbloom::BloomFilter::with_false_pos(plan.rate);
            Ok(Calls::boxed(builder.expected_items(plan.items as usize)))
        }),
        Entry::new("fastbloom, atomic", "SipHash, threads", 8.0).fixed(|plan| {
            let builder = AtomicBloomFilter::with_false_pos(plan.rate);
            Ok(Calls::boxed(builder.expected_items(plan.items as usize)))
        }),
        Entry::new("growable-bloom-filter", "xxh3, a chain when it grows", 16.0)
            .fixed(|plan| Ok(Calls::boxed(GrowableBloom::new(plan.rate, plan.items as usize))))
            .growing(|plan| Ok(Calls::boxed(GrowableBloom::new(plan.rate, SMALL as usize)))),
        Entry::new("sbbf-rs-safe", "split blocks, AVX2; keys hashed by xxh3 outside", 16.0)
            .fixed(|plan| split_blocks(plan.items, plan.rate)),
    ]
}

/// As many whole bits a key as Coua's formula asks for.
fn split_blocks<K: Key>(items: u64, rate: f64) -> Made<K> {
    let plan = BlockedBloomPlan::for_rate(items, rate).map_err(|error| error.to_string())?;
    let bits = (plan.bytes() as f64 * 8.0 / items as f64).ceil() as usize;
    Ok(Calls::boxed(sbbf_rs_safe::Filter::new(bits, items as usize)))
}

impl<K: Key> OneByOne<K> for fastbloom::BloomFilter {
    const REMOVES: bool = false;

    fn add(&mut self, key: &K) -> bool {
        self.insert(key);
        true
    }

    fn has(&self, key: &K) -> bool {
        self.contains(key)
    }
}

impl<K: Key> OneByOne<K> for AtomicBloomFilter {
    const REMOVES: bool = false;

    fn add(&mut self, key: &K) -> bool {
        Self::insert(self, key);
        true
    }

    fn has(&self, key: &K) -> bool {
        self.contains(key)
    }

    fn shared(&self) -> Option<&dyn Shared<K>> {
        Some(self)
    }
}

impl<K: Key> Shared<K> for AtomicBloomFilter {
    fn insert(&self, keys: &[K]) -> u64 {
        for key in keys {
            Self::insert(self, key);
        }
        0
    }
}

impl<K: Key> OneByOne<K> for GrowableBloom {
    const REMOVES: bool = false;

    fn add(&mut self, key: &K) -> bool {
        self.insert(key);
        true
    }

    fn has(&self, key: &K) -> bool {
        self.contains(key)
    }
}

impl<K: Key> OneByOne<K> for sbbf_rs_safe::Filter {
    const REMOVES: bool = false;

    fn add(&mut self, key: &K) -> bool {
        self.insert_hash(key.hashed(KeyHasher::default()).to_u64());
        true
    }

    fn has(&self, key: &K) -> bool {
        self.contains_hash(key.hashed(KeyHasher::default()).to_u64())
    }
}

//! Bloom filters of other crates: no removal.

use coua::KeyHasher;
use coua::sizing::bloom::BlockedBloomPlan;
use fastbloom::AtomicBloomFilter;
use growable_bloom_filter::GrowableBloom;

use super::TOO_MANY;
use super::calls::{Calls, calls, shared_calls};
use crate::contestant::{Entry, Made};
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
            .up_to(TOO_MANY)
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

calls!(fastbloom::BloomFilter, filter, key;
    add => {
        filter.insert(key);
        true
    },
    has => filter.contains(key),
);

calls!(AtomicBloomFilter, filter, key;
    add => {
        Self::insert(filter, key);
        true
    },
    has => filter.contains(key),
    shared => true,
);
shared_calls!(AtomicBloomFilter, filter, key; {
    Self::insert(filter, key);
    true
});

calls!(GrowableBloom, filter, key;
    add => {
        filter.insert(key);
        true
    },
    has => filter.contains(key),
);

calls!(sbbf_rs_safe::Filter, filter, key;
    add => {
        filter.insert_hash(key.hashed(KeyHasher::default()).to_u64());
        true
    },
    has => filter.contains_hash(key.hashed(KeyHasher::default()).to_u64()),
);

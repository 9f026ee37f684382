//! Bloom filters: no removal.

use coua::KeyHasher;
use coua::sizing::bloom::BlockedBloomPlan;

use super::calls::{Calls, calls};
use crate::contestant::{Entry, Made, Plan};
use crate::keys::Key;

pub(super) fn entries<K: Key>() -> Vec<Entry<K>> {
    vec![
        Entry {
            name: "fastbloom",
            make: |plan| {
                let builder = fastbloom::BloomFilter::with_false_pos(plan.rate);
                Ok(Calls::boxed(builder.expected_items(plan.items as usize)))
            },
        },
        Entry { name: "sbbf-rs-safe", make: split_blocks },
    ]
}

/// As many whole bits a key as Coua's formula asks for.
fn split_blocks<K: Key>(plan: Plan) -> Made<K> {
    let sized = BlockedBloomPlan::for_rate(plan.items, plan.rate);
    let bytes = sized.map_err(|error| error.to_string())?.bytes();
    let bits = (bytes as f64 * 8.0 / plan.items as f64).ceil() as usize;
    Ok(Calls::boxed(sbbf_rs_safe::Filter::new(bits, plan.items as usize)))
}

calls!(fastbloom::BloomFilter, filter, key;
    add => {
        filter.insert(key);
        true
    },
    has => filter.contains(key),
);

// It takes hashes: those of XXH3.
calls!(sbbf_rs_safe::Filter, filter, key;
    add => {
        filter.insert_hash(KeyHasher::default().hash(key).to_u64());
        true
    },
    has => filter.contains_hash(KeyHasher::default().hash(key).to_u64()),
);

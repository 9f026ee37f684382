//! Any sequence of operations, on a filter beside the exact model of the tests.

#![no_main]

#[allow(dead_code, reason = "the model of the tests; not all of it is needed here")]
#[path = "../../crates/coua/tests/model/counts.rs"]
mod counts;
#[allow(dead_code, reason = "the model of the tests; not all of it is needed here")]
#[path = "../../crates/coua/tests/model/twin.rs"]
mod twin;

use std::rc::Rc;

use arbitrary::Arbitrary;
use coua::{Conversion, CuckooFilter, KeyHash, Layout, WhenFull, Load};
use libfuzzer_sys::fuzz_target;
use twin::{Twin, bytes_of};

/// A filter, the keys, and what to do with them.
#[derive(Arbitrary, Debug)]
struct Plan {
    shape: u8,
    capacity: u16,
    more: u16,
    exactness: Exactness,
    when_full: u8,
    max_evictions: u8,
    /// Hashes, some made from others by changing low bits.
    pool: Vec<(u64, u8)>,
    operations: Vec<Operation>,
}

#[derive(Arbitrary, Debug)]
enum Exactness {
    Rate(u8),
    RateUpTo(u8),
    HashBits(u8),
}

#[derive(Arbitrary, Debug)]
enum Operation {
    Insert(u8),
    InsertUnique(u8),
    InsertMany(u8, u8),
    Remove(u8),
    Batch(u8, Vec<u8>),
    Clear,
    Reserve(u16),
    Compact,
    Merge(Vec<u8>),
    Convert(u8),
    Reload,
}

const MOST_OPERATIONS: usize = 500;

fuzz_target!(|plan: Plan| {
    let pool = pool_of(&plan);
    if pool.is_empty() {
        return;
    }
    let Some(filter) = build(&plan) else { return };
    let mut twin = Twin::new(filter, Rc::new(pool));
    for operation in plan.operations.iter().take(MOST_OPERATIONS) {
        apply(&plan, &mut twin, operation);
    }
    twin.check_all();
    while twin.len > 0 {
        let held: Vec<usize> = (0..twin.pool.len()).filter(|&key| twin.copies[key] > 0).collect();
        twin.remove_batch(&held);
    }
    assert!(twin.filter.is_empty());
});

fn build(plan: &Plan) -> Option<CuckooFilter> {
    let (layout, slots) = [
        (Layout::Buckets, 1),
        (Layout::Buckets, 2),
        (Layout::Buckets, 4),
        (Layout::Buckets, 8),
        (Layout::Overlapping, 2),
    ][usize::from(plan.shape % 5)];
    let capacity = u64::from(plan.capacity % 3_000);
    let when_full = match plan.when_full % 3 {
        0 => WhenFull::Grow,
        1 => WhenFull::Refuse,
        _ => WhenFull::ExceedRate,
    };
    let builder = CuckooFilter::builder()
        .layout(layout)
        .slots_per_bucket(slots)
        .capacity(capacity)
        .when_full(when_full)
        .max_evictions(u32::from(plan.max_evictions));
    let rate = |exponent: u8| 0.9f64.powi(1 + i32::from(exponent));
    let builder = match plan.exactness {
        Exactness::Rate(exponent) => builder.rate(rate(exponent)),
        Exactness::RateUpTo(exponent) => {
            builder.rate(rate(exponent)).max_items(capacity + u64::from(plan.more))
        }
        Exactness::HashBits(bits) => builder.hash_bits(8 + u32::from(bits) % 57),
    };
    builder.build().ok()
}

fn pool_of(plan: &Plan) -> Vec<KeyHash> {
    let mut pool = Vec::new();
    for &(hash, close) in plan.pool.iter().take(256) {
        pool.push(KeyHash::from_u64(hash));
        for number in 1..=u64::from(close % 16) {
            pool.push(KeyHash::from_u64(hash ^ (number << (close >> 4))));
        }
    }
    pool.sort_unstable();
    pool.dedup();
    pool
}

fn apply(plan: &Plan, twin: &mut Twin, operation: &Operation) {
    let size = twin.pool.len();
    let key = |number: u8| usize::from(number) * size / 256;
    match operation {
        Operation::Insert(number) => twin.insert(key(*number)),
        Operation::InsertUnique(number) => twin.insert_unique(key(*number)),
        Operation::InsertMany(number, times) => {
            twin.insert_batch(&vec![key(*number); usize::from(*times)]);
        }
        Operation::Remove(number) => {
            if twin.may_remove(key(*number)) {
                twin.remove(key(*number));
            }
        }
        Operation::Batch(kind, numbers) => {
            let keys: Vec<usize> = numbers.iter().map(|&number| key(number)).collect();
            match kind % 3 {
                0 => twin.insert_batch(&keys),
                1 => twin.insert_unique_batch(&keys),
                _ => twin.remove_batch(&keys),
            }
        }
        Operation::Clear => {
            twin.filter.clear();
            twin.forget_all();
        }
        Operation::Merge(numbers) => {
            let keys: Vec<usize> = numbers.iter().map(|&number| key(number)).collect();
            merge(plan, twin, &keys);
        }
        whole => rebuild(twin, whole),
    }
}

fn merge(plan: &Plan, twin: &mut Twin, keys: &[usize]) {
    let Some(mut other) = build(plan) else { return };
    let hashes: Vec<KeyHash> = keys.iter().map(|&key| twin.pool[key]).collect();
    let done = match other.insert_batch(&hashes) {
        Ok(()) => keys.len(),
        Err(stopped) => stopped.done,
    };
    let before = bytes_of(&twin.filter);
    if keys.len() % 2 == 1 {
        match twin.filter.merge_unique(&other) {
            Ok(()) => twin.absorb_unique(&keys[..done]),
            Err(_) => assert!(before == bytes_of(&twin.filter)),
        }
        return;
    }
    match twin.filter.merge(&other) {
        Ok(()) => twin.absorb(&keys[..done]),
        Err(_) => assert!(before == bytes_of(&twin.filter)),
    }
}

/// The operations that move everything and change no answer.
fn rebuild(twin: &mut Twin, operation: &Operation) {
    match operation {
        Operation::Reserve(items) => {
            let _refused = twin.filter.reserve(u64::from(*items));
        }
        Operation::Compact => {
            let slots = twin.filter.slots();
            twin.filter.compact();
            assert!(twin.filter.slots() <= slots);
        }
        Operation::Convert(kind) => {
            let bits = twin.filter.hash_bits() as u32;
            let to = match kind % 4 {
                0 => Conversion::Layout { layout: Layout::Overlapping, slots_per_bucket: 2 },
                1 => Conversion::Layout { layout: Layout::Buckets, slots_per_bucket: 8 },
                2 => Conversion::Rate(0.9f64.powi(1 + i32::from(kind / 4))),
                _ => Conversion::HashBits(bits.saturating_sub(u32::from(kind / 64))),
            };
            if let Ok(filter) = twin.filter.convert(to) {
                twin.replace(filter);
            }
        }
        _ => {
            let bytes = bytes_of(&twin.filter);
            let loaded = Load::new().bytes::<CuckooFilter>(&bytes).expect("what was written can be read");
            assert!(bytes == bytes_of(&loaded));
            twin.replace(loaded);
        }
    }
    twin.check_all();
}

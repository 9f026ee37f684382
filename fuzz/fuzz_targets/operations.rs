//! Any sequence of operations, on a filter and the exact model of the tests.

#![no_main]

#[allow(dead_code, reason = "the model of the tests; not all of it is needed here")]
#[path = "../../crates/coua/tests/model/counts.rs"]
mod counts;
#[allow(dead_code, reason = "the model of the tests; not all of it is needed here")]
#[path = "../../crates/coua/tests/model/reference.rs"]
mod reference;

use std::rc::Rc;

use arbitrary::Arbitrary;
use coua::{CuckooFilter, KeyHash, Load, WhenFull};
use libfuzzer_sys::fuzz_target;
use reference::{Reference, bytes_of};

/// A filter, the keys, and what to do with them.
#[derive(Arbitrary, Debug)]
struct Plan {
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
    let mut reference = Reference::new(filter, Rc::new(pool));
    for operation in plan.operations.iter().take(MOST_OPERATIONS) {
        apply(&plan, &mut reference, operation);
    }
    reference.check_all();
    while reference.len > 0 {
        let held: Vec<usize> =
            (0..reference.pool.len()).filter(|&key| reference.copies[key] > 0).collect();
        reference.remove_batch(&held);
    }
    assert!(reference.filter.is_empty());
});

fn build(plan: &Plan) -> Option<CuckooFilter> {
    let capacity = u64::from(plan.capacity % 3_000);
    let when_full = match plan.when_full % 3 {
        0 => WhenFull::Grow,
        1 => WhenFull::Refuse,
        _ => WhenFull::ExceedRate,
    };
    let builder = CuckooFilter::builder()
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

fn apply(plan: &Plan, reference: &mut Reference, operation: &Operation) {
    let size = reference.pool.len();
    let key = |number: u8| usize::from(number) * size / 256;
    match operation {
        Operation::Insert(number) => reference.insert(key(*number)),
        Operation::InsertUnique(number) => reference.insert_unique(key(*number)),
        Operation::InsertMany(number, times) => {
            reference.insert_batch(&vec![key(*number); usize::from(*times)]);
        }
        Operation::Remove(number) => {
            if reference.may_remove(key(*number)) {
                reference.remove(key(*number));
            }
        }
        Operation::Batch(kind, numbers) => {
            let keys: Vec<usize> = numbers.iter().map(|&number| key(number)).collect();
            match kind % 3 {
                0 => reference.insert_batch(&keys),
                1 => reference.insert_unique_batch(&keys),
                _ => reference.remove_batch(&keys),
            }
        }
        Operation::Clear => {
            reference.filter.clear();
            reference.forget_all();
        }
        Operation::Merge(numbers) => {
            let keys: Vec<usize> = numbers.iter().map(|&number| key(number)).collect();
            merge(plan, reference, &keys);
        }
        whole => rebuild(reference, whole),
    }
}

fn merge(plan: &Plan, reference: &mut Reference, keys: &[usize]) {
    let Some(mut other) = build(plan) else { return };
    let hashes: Vec<KeyHash> = keys.iter().map(|&key| reference.pool[key]).collect();
    let done = match other.insert_batch(&hashes) {
        Ok(()) => keys.len(),
        Err(stopped) => stopped.done,
    };
    let before = bytes_of(&reference.filter);
    if keys.len() % 2 == 1 {
        match reference.filter.merge_unique(&other) {
            Ok(()) => reference.absorb_unique(&keys[..done]),
            Err(_) => assert!(before == bytes_of(&reference.filter)),
        }
        return;
    }
    match reference.filter.merge(&other) {
        Ok(()) => reference.absorb(&keys[..done]),
        Err(_) => assert!(before == bytes_of(&reference.filter)),
    }
}

/// The operations that move everything and change no answer.
fn rebuild(reference: &mut Reference, operation: &Operation) {
    match operation {
        Operation::Reserve(items) => {
            let _refused = reference.filter.reserve(u64::from(*items));
        }
        Operation::Compact => {
            let slots = reference.filter.slots();
            reference.filter.compact().unwrap();
            assert!(reference.filter.slots() <= slots);
        }
        Operation::Convert(kind) => {
            let rate = 0.9f64.powi(1 + i32::from(*kind));
            if let Ok(filter) = reference.filter.convert(rate) {
                reference.replace(filter);
            }
        }
        _ => {
            let bytes = bytes_of(&reference.filter);
            let loaded =
                Load::new().bytes::<CuckooFilter>(&bytes).expect("what was written can be read");
            assert!(bytes == bytes_of(&loaded));
            reference.replace(loaded);
        }
    }
    reference.check_all();
}

//! Filters all of whose items move lose nothing, and have the room that they say. Large ones too that have
//! grown: above the size from which memory is given back on the way, with their segments in any order.

use std::ops::Range;

use coua::{CuckooFilter, FullReason, SharedCuckooFilter, WhenFull};

/// Items whose table lies in several steps of giving memory back, 8 MiB each.
const ITEMS: u64 = 4_000_000;

fn keys(numbers: Range<u64>) -> Vec<[u8; 8]> {
    numbers.map(u64::to_le_bytes).collect()
}

fn grown(keys: &[[u8; 8]]) -> CuckooFilter {
    let mut filter = CuckooFilter::new();
    filter.insert_batch(keys).expect("it grows");
    assert!(filter.memory_bytes() > 24 << 20, "{}", filter.memory_bytes());
    filter
}

fn assert_holds(filter: &CuckooFilter, keys: &[[u8; 8]], what: &str) {
    let mut present = Vec::new();
    filter.contains_batch(keys, &mut present);
    let lost = present.iter().filter(|is_present| !**is_present).count();
    assert_eq!(lost, 0, "{what}: lost of {}", keys.len());
    assert_eq!(filter.len(), keys.len() as u64, "{what}");
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("written");
    CuckooFilter::from_bytes(&bytes).expect("read");
}

#[test]
fn rebuilt_in_place_or_as_a_copy() {
    let keys = keys(0..ITEMS);
    let filter = grown(&keys);
    let mut copy = filter.clone();
    copy.compact();
    assert_holds(&copy, &keys, "copied and compacted");
    let mut copy = filter.clone();
    copy.reserve(2 * ITEMS).unwrap();
    assert_holds(&copy, &keys, "copied and enlarged");
    let mut filter = filter;
    filter.compact();
    assert_holds(&filter, &keys, "compacted");
    filter.reserve(2 * ITEMS).unwrap();
    assert_holds(&filter, &keys, "enlarged");
}

#[test]
fn merged() {
    let all = keys(0..2 * ITEMS);
    let (some, others) = all.split_at(ITEMS as usize);
    let mut filter = grown(some);
    filter.merge(&grown(others)).unwrap();
    assert_holds(&filter, &all, "merged");
}

#[test]
fn shared() {
    let keys = keys(0..3 * ITEMS);
    let filter = SharedCuckooFilter::new();
    filter.insert_batch(&keys).unwrap();
    let mut snapshot = filter.snapshot().unwrap();
    snapshot.compact();
    assert_holds(&snapshot, &keys, "a copy of all shards, compacted");
    let mut joined = filter.into_filter();
    joined.reserve(4 * ITEMS).unwrap();
    assert_holds(&joined, &keys, "joined and enlarged");
}

#[test]
fn room_that_was_reserved_stays() {
    let builder = CuckooFilter::builder().capacity(1_000).hash_bits(40).max_items(1_000);
    let mut filter = builder.when_full(WhenFull::ExceedRate).build().unwrap();
    filter.insert_batch(&keys(0..5_000)).unwrap();
    filter.reserve(100_000).unwrap();
    let slots = filter.slots();
    filter.reserve(10).unwrap();
    assert_eq!(filter.slots(), slots);
    filter.merge(&filter.clone()).unwrap();
    assert!(filter.slots() >= slots && filter.len() == 10_000);
}

/// Of a fixed size, it has no more room than it was compacted to.
#[test]
fn room_that_is_not_there_is_refused() {
    let builder = CuckooFilter::builder().capacity(1_000_000).rate(0.001);
    let mut filter = builder.when_full(WhenFull::Refuse).build().unwrap();
    filter.reserve(1_000_000).unwrap();
    filter.compact();
    let full = filter.reserve(900_000).unwrap_err();
    assert_eq!(full.reason, FullReason::NoRoom);
    filter.reserve(filter.capacity()).unwrap();
}

//! Filters as values: equality, iteration, what is seen inside, and what the constructors say.

use coua::{CuckooFilter, FullReason, KeyHash, Layout, WhenFull};

use crate::layouts::LAYOUTS;
use crate::random::Random;

fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("written");
    bytes
}

/// Of every layout, with copies in slots and in the overflow table.
fn filters() -> impl Iterator<Item = (CuckooFilter, Vec<KeyHash>)> {
    LAYOUTS.iter().map(|&(layout, slots)| {
        let builder = CuckooFilter::builder().layout(layout).slots_per_bucket(slots);
        let mut filter = builder.hash_bits(40).capacity(20_000).build().expect("valid");
        let mut keys = Random::new(3).hashes(30_000);
        keys.extend([keys[0]; 25]);
        filter.insert_batch(&keys).expect("it grows");
        (filter, keys)
    })
}

#[test]
fn filters_are_equal_if_their_snapshots_are() {
    for (filter, keys) in filters() {
        let mut other = filter.clone();
        assert!(filter == other && bytes_of(&filter) == bytes_of(&other));
        other.insert(keys[0]).unwrap();
        assert!(filter != other, "one copy more in the overflow table");
        assert!(other.remove(keys[0]) && filter == other);
        assert!(other.remove(keys[7]) && filter != other, "one item less in a slot");
    }
    let made = || CuckooFilter::builder().capacity(100);
    let [small, seeded] = [made(), made().hasher(coua::KeyHasher::xxh3(1))];
    assert!(small.clone().build().unwrap() != seeded.build().unwrap());
    assert!(small.clone().build().unwrap() != small.when_full(WhenFull::Refuse).build().unwrap());
    let secret = |key| made().hasher(coua::KeyHasher::siphash13([key; 16])).build().unwrap();
    assert!(secret(1) == secret(1) && secret(1) != secret(2));
}

#[test]
fn hashes_of_all_items_make_the_same_filter() {
    for (filter, keys) in filters() {
        let hashes: Vec<_> = filter.iter_hashes().collect();
        assert_eq!(hashes.len() as u64, filter.len());
        let mut again = CuckooFilter::builder().hash_bits(40).build().unwrap();
        again.extend(hashes);
        assert_eq!(again.len(), filter.len());
        assert!(keys.iter().all(|&key| again.count(key) == filter.count(key)));
        assert!(keys.iter().all(|&key| again.remove(key)) && again.is_empty());
    }
}

#[test]
#[should_panic(expected = "filter is full: it holds 1 items")]
fn extending_a_full_filter_panics() {
    CuckooFilter::with_capacity(1, 0.01).unwrap().extend(["a", "b"]);
}

#[test]
fn a_filter_is_extended_across_batches() {
    let seen: CuckooFilter = (0..20_000_u32).collect();
    assert_eq!(seen.len(), 20_000);
    assert!((0..20_000_u64).all(|key| seen.contains(key)));
}

/// `with_capacity` makes a filter that refuses more items than it was made for, and takes more memory only
/// where chance, or somebody, crowds a segment.
#[test]
fn a_filter_for_a_capacity_grows_only_where_it_is_crowded() {
    let items = 200_000;
    let builder = CuckooFilter::builder().capacity(items).rate(0.001);
    let mut filter = CuckooFilter::with_capacity(items, 0.001).unwrap();
    assert!(filter == builder.clone().build().unwrap());
    assert_eq!((filter.when_full(), filter.layout()), (WhenFull::Grow, Layout::Buckets));
    let (segments, memory) = (filter.segments(), filter.memory_bytes());
    filter.insert_batch(&Random::new(1).hashes(items as usize)).unwrap();
    assert_eq!(filter.insert(KeyHash::from_u64(9)).unwrap_err().reason, FullReason::MaxItems);
    assert_eq!(filter.segments(), segments);
    assert!(filter.memory_bytes() < memory + 10_000, "some items may be overflowed");

    // Half of the keys, all in the first quarter of the segments.
    let crowd: Vec<_> = Random::new(2).hashes(items as usize / 2);
    let crowd: Vec<_> = crowd.iter().map(|hash| KeyHash::from_u64(hash.to_u64() >> 2)).collect();
    filter.clear();
    filter.insert_batch(&crowd).unwrap();
    assert!(filter.segments() > segments && filter.memory_bytes() > memory);
    let mut fixed = builder.when_full(WhenFull::Refuse).build().unwrap();
    let refused = fixed.insert_batch(&crowd).unwrap_err();
    assert_eq!((fixed.segments(), refused.full.reason), (segments, FullReason::NoRoom));
}

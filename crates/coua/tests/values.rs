//! Filters as values: equality, iteration, what is seen inside, and what the constructors say.

use coua::inspect::Inspect;
use coua::{CuckooFilter, FullReason, KeyHash, Layout, WhenFull};

mod layouts;
mod random;

use layouts::LAYOUTS;
use random::Random;

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
fn every_item_is_seen_where_its_key_is_located() {
    for (filter, keys) in filters() {
        let inside = Inspect::new(&filter);
        assert_eq!(inside.segments().count(), filter.segments());
        let slots: u64 = inside.segments().map(|segment| segment.slots()).sum();
        assert_eq!(slots, filter.slots());
        let occupied: u64 = inside.segments().map(|segment| segment.occupied()).sum();
        assert!((occupied as f64 / slots as f64 - filter.load()).abs() < 1e-12);
        let extra: u64 = inside.overflow().map(|entry| entry.extra + entry.overflowed).sum();
        assert_eq!(occupied + extra, filter.len());
        let mut seen = 0;
        for segment in inside.segments() {
            assert_eq!(segment.slot_bits(), filter.slot_bits());
            assert_eq!(segment.prefix().to_u64().checked_shl(segment.depth()).unwrap_or(0), 0);
            for number in 0..segment.buckets() {
                for item in segment.bucket(number).into_iter().flatten() {
                    let place = inside.locate(item.representative);
                    let own = if item.is_in_alternate { place.alternate } else { place.primary };
                    assert_eq!((place.segment, own), (segment.number(), item.bucket));
                    assert_eq!(place.fingerprint, item.fingerprint);
                    seen += u64::from(item.bucket == number);
                }
            }
        }
        assert_eq!(seen, occupied, "each item once in its own bucket");
        for &key in &keys {
            let place = inside.locate(key);
            let segment = inside.segment(place.segment);
            let held = |bucket, alternate| {
                let is_its = |item: &coua::inspect::Item| {
                    (item.bucket, item.is_in_alternate, item.fingerprint)
                        == (bucket, alternate, place.fingerprint)
                };
                segment.bucket(bucket).into_iter().flatten().any(|item| is_its(&item))
            };
            assert!(held(place.primary, false) || held(place.alternate, true));
        }
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

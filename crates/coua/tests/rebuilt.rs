//! Filters all of whose items move lose nothing, and have the room that they say. Large ones too that have
//! grown: above the size from which memory is given back on the way, with their segments in any order.

use std::ops::Range;

use coua::{CuckooFilter, FullReason, KeyHash, KeyHasher, Load, WhenFull};

use coua_dev::cases::sample;

fn keys(numbers: Range<u64>) -> Vec<[u8; 8]> {
    numbers.map(u64::to_le_bytes).collect()
}

fn assert_holds(filter: &CuckooFilter, keys: &[[u8; 8]], what: &str) {
    let present = filter.contains_batch(keys);
    let lost = present.iter().filter(|is_present| !**is_present).count();
    assert_eq!(lost, 0, "{what}: lost of {}", keys.len());
    assert_eq!(filter.len(), keys.len() as u64, "{what}");
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("written");
    Load::new().bytes::<CuckooFilter>(&bytes).expect("read");
}

/// Above the size from which memory is given back.
mod large {
    use super::{assert_holds, keys};
    use coua::{CuckooFilter, SharedCuckooFilter};

    /// Items whose table lies in several steps of giving memory back, 8 MiB each.
    const ITEMS: u64 = 3_200_000;

    fn grown(keys: &[[u8; 8]]) -> CuckooFilter {
        let mut filter = CuckooFilter::new();
        filter.insert_batch(keys).expect("it grows");
        assert!(filter.memory_bytes() > 20 << 20, "{}", filter.memory_bytes());
        filter
    }

    #[test]
    fn rebuilt_in_place_or_as_a_copy() {
        let keys = keys(0..ITEMS);
        let filter = grown(&keys);
        let mut copy = filter.clone();
        copy.compact().unwrap();
        assert_holds(&copy, &keys, "copied and compacted");
        let mut copy = filter.clone();
        copy.reserve(2 * ITEMS).unwrap();
        assert_holds(&copy, &keys, "copied and enlarged");
        let mut filter = filter;
        filter.compact().unwrap();
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
        let keys = keys(0..2 * ITEMS);
        let filter = SharedCuckooFilter::new();
        filter.insert_batch(&keys).unwrap();
        let mut snapshot = filter.snapshot().unwrap();
        snapshot.compact().unwrap();
        assert_holds(&snapshot, &keys, "a copy of all shards, compacted");
        let mut joined = filter.snapshot().unwrap();
        joined.reserve(3 * ITEMS).unwrap();
        assert_holds(&joined, &keys, "joined and enlarged");
    }
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
    filter.compact().unwrap();
    let full = filter.reserve(900_000).unwrap_err();
    assert_eq!(full.reason, FullReason::NoRoom);
    filter.reserve(filter.capacity()).unwrap();
}

/// Fingerprints of a few bits.
#[test]
fn what_was_compacted_can_be_read() {
    for rate in [0.9, 0.5, 0.3, 0.2, 0.1] {
        let mut filter = CuckooFilter::with_capacity(300_000, rate).unwrap();
        let keys = keys(0..10);
        filter.insert_batch(&keys).unwrap();
        let slots = filter.slots();
        filter.compact().unwrap();
        assert!(filter.slots() < slots);
        assert_holds(&filter, &keys, "compacted");
    }
}

/// Fewer segments have wider slots.
#[test]
fn nothing_gets_larger_by_compaction() {
    let saved = |filter: &CuckooFilter| {
        let mut file = Vec::new();
        filter.write_to(&mut file).unwrap();
        file.len()
    };
    let all = keys(0..150_000);
    for items in sample((20_000..150_000).step_by(1_111), [30, 4]) {
        let mut filter = CuckooFilter::new();
        filter.insert_batch(&all[..items]).unwrap();
        let mut filter = filter.convert(0.01).unwrap();
        let before = saved(&filter);
        filter.compact().unwrap();
        assert!(saved(&filter) <= before, "{items}: {before}, then {}", saved(&filter));
    }
}

/// What is full may hold more than it was planned for.
#[test]
fn full_filters_can_be_converted() {
    for capacity in [1_000, 15_000, 100_000] {
        let what = format!("capacity {capacity}");
        let builder = CuckooFilter::builder().capacity(capacity).hash_bits(44);
        let mut filter = builder.when_full(WhenFull::Refuse).build().unwrap();
        let mut keys = keys(0..2 * capacity);
        keys.retain(|key| filter.insert(key).is_ok());
        assert!(keys.len() as u64 >= capacity, "{what}");
        for rate in [keys.len() as f64 / 2f64.powi(40), 0.01] {
            assert_holds(&filter.convert(rate).unwrap(), &keys, &what);
        }
    }
}

/// Items without a slot take more memory than those with one, and only so many may be without.
#[test]
fn copies_do_not_lose_their_slots_by_compaction() {
    for copies in [3, 4] {
        for when_full in [WhenFull::Grow, WhenFull::Refuse] {
            let what = format!("{copies} copies, {when_full:?}");
            let builder = CuckooFilter::builder().capacity(100_000).rate(1e-4);
            let mut filter = builder.when_full(when_full).build().unwrap();
            let present = keys(0..48_000 / copies);
            (0..copies).for_each(|_| filter.insert_batch(&present).unwrap());
            let before = filter.memory_bytes();
            filter.compact().unwrap();
            let after = filter.memory_bytes();
            assert!(after <= before, "{what}: {before}, then {after}");
            if when_full == WhenFull::Grow {
                let more = keys(200_000..252_000);
                assert!(more.iter().all(|key| filter.insert(key).is_ok()), "{what}");
            }
            assert!(present.iter().all(|key| filter.count(key) >= copies), "{what}");
        }
    }
}

/// Copies of a key have two buckets between them: such a filter does not get as full as others.
#[test]
fn filters_of_many_copies_take_more_after_compaction() {
    for copies in sample(1..=4, [3, 2]) {
        let what = format!("{copies} copies");
        let builder = CuckooFilter::builder().hash_bits(64);
        let mut filter = builder.build().unwrap();
        for _ in 0..copies {
            filter.insert_batch(&keys(0..200_000)).unwrap();
        }
        let before = filter.memory_bytes();
        filter.compact().unwrap();
        let after = filter.memory_bytes();
        assert!(after <= before + before / 50 + (2 << 20), "{what}: {before}, then {after}");
        for key in keys(200_000..300_000) {
            assert!(filter.insert(key).is_ok(), "{what}: {filter:?}");
        }
        let present = filter.contains_batch(&keys(0..300_000));
        assert!(present.iter().all(|is_present| *is_present), "{what}");
        assert_eq!(filter.len(), 200_000 * copies + 100_000, "{what}");
    }
}

/// As keys are that come in the order of their hashes, while the first part of them is there.
#[test]
fn filters_of_a_part_of_all_hashes_are_compacted_and_merged() {
    let hasher = KeyHasher::default();
    for bits in [1, 4, 9] {
        let hash = |n: u64| KeyHash::from_u64(hasher.hash(n).to_u64() >> bits);
        let [mut one, two] = [0, 200_000u64].map(|first| {
            let mut filter = CuckooFilter::new();
            (first..first + 200_000).for_each(|n| filter.insert(hash(n)).unwrap());
            filter
        });
        one.clone().merge(&two).unwrap();
        one.reserve(400_000).unwrap();
        let before = one.memory_bytes();
        one.compact().unwrap();
        assert!(one.memory_bytes() <= before, "{before}, then {}", one.memory_bytes());
        one.merge(&two).unwrap();
        assert!((0..400_000).all(|n| one.contains(hash(n))));
        assert_eq!(one.len(), 400_000);
    }
}

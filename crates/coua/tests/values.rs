//! Filters as values: equality, iteration, what is seen inside, and what the constructors say.

use coua::{BatchFull, CuckooFilter, Full, FullReason, KeyHash, MergeError, WhenFull};

use coua_dev::random::Random;

fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("written");
    bytes
}

/// With narrow and wide slots, and with copies in slots and in the overflow table.
fn filters() -> impl Iterator<Item = (CuckooFilter, Vec<KeyHash>)> {
    [40, 60].into_iter().map(|bits| {
        let mut filter =
            CuckooFilter::builder().hash_bits(bits).capacity(20_000).build().expect("valid");
        let mut keys = Random::new(3).many(30_000, KeyHash::from_u64);
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
    let [small, seeded] = [made(), made().hasher(coua::KeyHasher::Xxh3 { seed: 1 })];
    assert!(small.clone().build().unwrap() != seeded.build().unwrap());
    assert!(small.clone().build().unwrap() != small.when_full(WhenFull::Refuse).build().unwrap());
    let secret =
        |key| made().hasher(coua::KeyHasher::SipHash13 { key: [key; 16] }).build().unwrap();
    assert!(secret(1) == secret(1) && secret(1) != secret(2));
}

#[test]
#[should_panic(expected = "filter is full: it holds 1 items")]
fn extending_a_full_filter_panics() {
    CuckooFilter::with_capacity(1, 0.01).unwrap().extend(["a", "b"]);
}

#[test]
fn filters_of_iterators_are_sets_across_batches() {
    let mut seen: CuckooFilter = (0..40_000_u32).map(|number| number / 2).collect();
    assert_eq!(seen.len(), 20_000);
    assert!((0..20_000_u64).all(|key| seen.count(key) == 1));
    seen.extend(19_999..20_001);
    assert_eq!(seen.len(), 20_001);
}

#[test]
fn a_union_is_the_set_of_both() {
    let [left, right] = [0..3_000_u64, 2_000..5_000].map(CuckooFilter::from_iter);
    let mut union = left.clone();
    union.merge_unique(&right).unwrap();
    assert_eq!((union.len(), left.len(), right.len()), (5_000, 3_000, 3_000));
    assert!((0..5_000_u64).all(|key| union.count(key) == 1));
    let other = CuckooFilter::builder().hasher(coua::KeyHasher::Xxh3 { seed: 1 }).build().unwrap();
    assert_eq!(union.merge_unique(&other), Err(MergeError::Hasher));
}

#[test]
fn an_intersection_is_the_set_of_what_both_have() {
    let filters = |rate: Option<f64>| {
        let mut builder = CuckooFilter::builder().capacity(5_000);
        builder = rate.map_or(builder.clone(), |rate| builder.rate(rate));
        [0..3_000_u64, 2_000..5_000].map(|keys| {
            let mut filter = builder.clone().build().unwrap();
            filter.extend(keys);
            filter
        })
    };
    for rate in [None, Some(1e-7)] {
        let [mut left, right] = filters(rate);
        // More copies than there are slots for.
        left.insert_batch(&[5_u64, 2_500].repeat(100)).unwrap();
        let mut both = left.clone();
        both.intersect(&right).unwrap();
        assert_eq!((both.len(), left.len(), right.len()), (1_100, 3_200, 3_000));
        assert!((0..5_000).all(|key| both.contains(key) == (2_000..3_000).contains(&key)));
        assert_eq!((both.count(5_u64), both.count(2_500_u64)), (0, 101));
    }
    let [mut left, mut coarse] =
        [64, 40].map(|bits| CuckooFilter::builder().hash_bits(bits).build().unwrap());
    assert!(left.intersect(&coarse).is_ok());
    assert!(matches!(coarse.intersect(&left), Err(MergeError::Resolution { .. })));
    let other = CuckooFilter::builder().hasher(coua::KeyHasher::Xxh3 { seed: 1 }).build().unwrap();
    assert_eq!(left.intersect(&other), Err(MergeError::Hasher));
}

/// Copies are counted, not listed: a list of 2^40 hashes would take 8 TiB.
#[test]
fn an_intersection_takes_no_memory_for_copies() {
    let mut many = CuckooFilter::from_iter(["a", "b"]);
    for _ in 0..40 {
        many.merge(&many.clone()).unwrap();
    }
    many.intersect(&CuckooFilter::from_iter(["b", "c"])).unwrap();
    assert_eq!(["a", "b", "c"].map(|key| many.count(key)), [0, 1 << 40, 0]);
    assert_eq!(many.len(), 1 << 40);
    many.intersect(&CuckooFilter::new()).unwrap();
    assert!(many.is_empty() && !many.contains("b"));
}

/// Items without a slot, and those in slots beside them.
#[test]
fn an_intersection_of_keys_that_share_a_prefix() {
    let hash = |n: u64| KeyHash::from_u64(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30);
    let hashes: Vec<_> = (1..=20_000).map(hash).collect();
    let mut all = CuckooFilter::new();
    all.insert_batch(&hashes).unwrap();
    all.insert_batch(&hashes[..10]).unwrap();
    // All keys are in one segment, because none is as deep as their prefix of 30 bits. It has fewer slots than items.
    let slots = all.slots() / all.segments() as u64;
    assert!(slots < 20_000, "{slots}");
    let kept: CuckooFilter = hashes[..7_000].iter().copied().collect();
    all.intersect(&kept).unwrap();
    let counts = all.count_batch(&hashes);
    let expected = |n: usize| if n < 10 { 2 } else { u64::from(n < 7_000) };
    assert!(counts.iter().enumerate().all(|(n, count)| *count == expected(n)));
    assert_eq!(all.len(), 7_010);
}

/// A program that meets full filters can be tested without one.
#[test]
fn refusals_can_be_made() {
    let full = Full { items: 1, max_items: 1, reason: FullReason::MaxItems };
    let real = CuckooFilter::with_capacity(1, 0.01).unwrap().insert_batch(&["a", "b"]);
    assert_eq!(real, Err(BatchFull { done: 1, full }));
}

/// `with_capacity` makes a filter that refuses more items than it was made for, and takes more memory only
/// where chance, or somebody, crowds a segment.
#[test]
fn a_filter_for_a_capacity_grows_only_where_it_is_crowded() {
    let items = 200_000;
    let builder = CuckooFilter::builder().capacity(items).rate(0.001);
    let mut filter = CuckooFilter::with_capacity(items, 0.001).unwrap();
    assert!(filter == builder.clone().build().unwrap());
    assert_eq!(filter.when_full(), WhenFull::Grow);
    let (segments, memory) = (filter.segments(), filter.memory_bytes());
    filter.insert_batch(&Random::new(1).many(items as usize, KeyHash::from_u64)).unwrap();
    assert_eq!(filter.insert(KeyHash::from_u64(9)).unwrap_err().reason, FullReason::MaxItems);
    assert_eq!(filter.segments(), segments);
    assert!(filter.memory_bytes() < memory + 10_000, "some items may be overflowed");

    // Half of the keys, all in the first quarter of the segments.
    let crowd: Vec<_> = Random::new(2).many(items as usize / 2, KeyHash::from_u64);
    let crowd: Vec<_> = crowd.iter().map(|hash| KeyHash::from_u64(hash.to_u64() >> 2)).collect();
    filter.clear();
    filter.insert_batch(&crowd).unwrap();
    assert!(filter.segments() > segments && filter.memory_bytes() > memory);
    let mut fixed = builder.when_full(WhenFull::Refuse).build().unwrap();
    let refused = fixed.insert_batch(&crowd).unwrap_err();
    assert_eq!((fixed.segments(), refused.full.reason), (segments, FullReason::NoRoom));
}

/// What `theory.md` says of a set at a rate from which keys are removed: which insert keeps all others.
#[test]
#[cfg_attr(miri, ignore = "takes minutes in Miri")]
fn a_key_that_was_not_stored_goes_with_the_one_it_was_taken_for() {
    let keys = Random::new(11).many(400_000, KeyHash::from_u64);
    let (gone, left) = keys.split_at(keys.len() / 2);
    let empty = || CuckooFilter::with_capacity(keys.len() as u64, 0.001).unwrap();
    let missing = |filter: &mut CuckooFilter| {
        filter.remove_batch(gone);
        filter.contains_batch(left).into_iter().filter(|present| !present).count()
    };

    let mut copies = empty();
    copies.insert_batch(&keys).unwrap();
    let expected = keys.len() as f64 * copies.false_positive_rate() / 4.0;
    assert_eq!(missing(&mut copies), 0);

    let mut unique = empty();
    unique.insert_unique_batch(&keys).unwrap();
    let found = missing(&mut unique) as f64;
    assert!((found - expected).abs() < 5.0 * expected.sqrt(), "{found}, expected {expected}");
}

/// Programs keep thousands of filters with a few items each.
#[test]
fn a_filter_is_as_small_as_its_items() {
    let mut filter = CuckooFilter::new();
    assert!(filter.memory_bytes() <= 2_000, "{filter:?}");
    assert!(bytes_of(&filter).len() <= 2_000);
    for number in 0..30_000u32 {
        filter.insert(number.to_le_bytes()).expect("it grows");
        let most = 2_000 + 20 * (number as usize + 1);
        assert!(filter.memory_bytes() <= most, "{filter:?}");
    }
    assert!(filter.hash_bits() > 63.9);
    assert!((0..30_000u32).all(|number| filter.contains(number.to_le_bytes())));
}

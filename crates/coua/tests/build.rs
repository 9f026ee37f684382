//! Filters built from all keys at once: the same bytes as single inserts leave, whatever the threads.

use coua::{
    BuildError, CuckooFilter, CuckooFilterBuilder, Full, FullReason, KeyHash, KeyHasher, WhenFull,
};
use proptest::prelude::*;

use crate::layouts::{LAYOUTS, with_each};
use coua_dev::cases::{few_usual_or_all, sample};
use coua_dev::random::Random;

/// What repeats come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    Multiset,
    Set,
}

/// Single inserts, in order.
fn one_by_one(
    builder: &CuckooFilterBuilder,
    hashes: &[KeyHash],
    kind: As,
) -> Result<CuckooFilter, Full> {
    let mut filter = builder.clone().build().expect("a valid description");
    for &hash in hashes {
        match kind {
            As::Multiset => filter.insert(hash)?,
            As::Set => drop(filter.insert_unique(hash)?),
        }
    }
    Ok(filter)
}

fn at_once(
    builder: &CuckooFilterBuilder,
    hashes: &[KeyHash],
    kind: As,
) -> Result<CuckooFilter, BuildError> {
    match kind {
        As::Multiset => builder.clone().build_from(hashes),
        As::Set => builder.clone().build_unique_from(hashes),
    }
}

fn bytes(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("memory takes every byte");
    bytes
}

/// Holds the bulk build to single inserts, by as many threads; whether the keys were refused.
fn compare(builder: &CuckooFilterBuilder, hashes: &[KeyHash], threads: &[usize]) -> bool {
    let mut refused = false;
    for kind in [As::Multiset, As::Set] {
        let single = one_by_one(builder, hashes, kind);
        refused |= single.is_err();
        for &threads in threads {
            let built = at_once(&builder.clone().threads(threads), hashes, kind);
            match (&single, built) {
                (Ok(single), Ok(built)) => {
                    assert_eq!(single.len(), built.len());
                    // Halves of split segments may lie in other pieces of memory.
                    if built.segments() == builder.clone().build().expect("as before").segments() {
                        assert_eq!(built.memory_bytes(), single.memory_bytes());
                    }
                    assert!(bytes(single) == bytes(&built), "threads {threads}: {built:?}");
                }
                (Err(full), Err(refusal)) => assert_eq!(refusal, BuildError::Full(*full)),
                (single, built) => panic!("single: {single:?}, at once: {built:?}"),
            }
        }
    }
    refused
}

/// Keys of which one in `repeats` has come before (none if 0).
fn keys(random: &mut Random, count: usize, repeats: u64) -> Vec<KeyHash> {
    let mut keys: Vec<KeyHash> = Vec::with_capacity(count);
    for _ in 0..count {
        let is_repeat = repeats > 0 && !keys.is_empty() && random.once_in(repeats);
        keys.push(if is_repeat { random.pick(&keys) } else { KeyHash::from_u64(random.next()) });
    }
    keys
}

#[test]
fn all_layouts_from_one_key_on() {
    let random = &mut Random::new(1);
    for ((layout, slots), count) in sample(with_each(&[1, 100, 20_000, 70_000, 300_000]), [3, 1]) {
        let builder = CuckooFilter::builder().layout(layout).slots_per_bucket(slots);
        let hashes = random.many(count, KeyHash::from_u64);
        let items = count as u64;
        let fixed = builder.clone().capacity(items).when_full(WhenFull::Refuse);
        for rate in sample([0.05, 1e-4, 1e-9], if count > 100_000 { [3, 3] } else { [3, 1] }) {
            assert!(!compare(&fixed.clone().rate(rate), &hashes, &[2]));
        }
        assert!(!compare(&builder.clone().capacity(items), &hashes, &[2]));
    }
}

#[test]
fn millions_of_keys() {
    let count = few_usual_or_all([300_000, 1_000_000, 3_000_000]);
    let hashes = keys(&mut Random::new(2), count, 5);
    let fixed = CuckooFilter::builder().capacity(count as u64).rate(1e-4);
    assert!(!compare(&fixed, &hashes, &[2]));
    let growing = CuckooFilter::builder().capacity(count as u64).hash_bits(40);
    assert!(!compare(&growing, &hashes, &[2]));
}

#[test]
fn more_threads_than_anybody_has_are_no_error() {
    let built = CuckooFilter::builder().rate(0.001).threads(usize::MAX).build_from(&["a", "b"]);
    assert_eq!(built.unwrap().len(), 2);
}

#[test]
fn any_number_of_threads() {
    let hashes = keys(&mut Random::new(3), 200_000, 10);
    for builder in [
        CuckooFilter::builder().capacity(200_000).rate(0.01),
        CuckooFilter::builder().capacity(200_000).hash_bits(48),
        // A single segment.
        CuckooFilter::builder().capacity(20_000).max_items(200_000).rate(0.01),
    ] {
        let threads: Vec<_> = sample((0..=8).chain([100]), [3, 1]).collect();
        assert!(!compare(&builder, &hashes, &threads));
    }
}

#[test]
fn filters_that_grow_on_the_way() {
    let random = &mut Random::new(4);
    for ((layout, slots), capacity) in sample(with_each(&[1, 5_000, 60_000, 240_000]), [11, 7]) {
        let builder = CuckooFilter::builder().layout(layout).slots_per_bucket(slots);
        let hashes = keys(random, 300_000, 7);
        let growing = builder.clone().capacity(capacity);
        assert!(!compare(&growing, &hashes, &[3]));
        let to_the_limit = growing.hash_bits(30).max_items(245_000);
        assert!(compare(&to_the_limit, &hashes, &[2]));
        let past_the_rate = builder.capacity(capacity).max_items(250_000).rate(0.01);
        assert!(!compare(&past_the_rate.when_full(WhenFull::ExceedRate), &hashes, &[2]));
    }
}

#[test]
fn full_filters_refuse_and_leave_nothing() {
    let random = &mut Random::new(5);
    let sizes = [(150_000, 125_000), (230_000, 200_000), (200_000, 15_000)];
    for ((layout, slots), (count, capacity)) in sample(with_each(&sizes), [7, 4]) {
        let builder = CuckooFilter::builder().layout(layout).slots_per_bucket(slots);
        let hashes = random.many(count, KeyHash::from_u64);
        let refusing = builder.when_full(WhenFull::Refuse).capacity(capacity);
        assert!(compare(&refusing.clone().rate(0.001), &hashes, &[1, 2]));
        // One of prefixes has slots for more than its capacity.
        let is_refused = compare(&refusing.hash_bits(50), &hashes, &[1, 2]);
        assert!(is_refused || count < 2 * capacity as usize);
    }
}

#[test]
fn overflowed_keys_up_to_the_limit_and_beyond() {
    let random = &mut Random::new(6);
    let (mut within, mut beyond) = (0, 0);
    let counts = [(0, 200_000), (1, 260_000), (3, 280_000), (0, 280_000)];
    for ((layout, slots), (steps, count)) in sample(with_each(&counts), [11, 7]) {
        let builder = CuckooFilter::builder()
            .layout(layout)
            .slots_per_bucket(slots)
            .max_evictions(steps)
            .capacity(300_000);
        let hashes = random.many(count, KeyHash::from_u64);
        for when_full in [WhenFull::Refuse, WhenFull::Grow] {
            let builder = builder.clone().when_full(when_full);
            for builder in [builder.clone().rate(0.01), builder.hash_bits(40)] {
                if compare(&builder, &hashes, &[2]) {
                    beyond += 1;
                } else {
                    within += 1;
                }
            }
        }
    }
    assert!(within > 0 && beyond > 0, "{within} {beyond}");
}

#[test]
fn keys_that_share_their_first_bits() {
    let random = &mut Random::new(7);
    let builder = CuckooFilter::builder().capacity(300_000);
    let builders = [
        builder.clone().rate(0.01).when_full(WhenFull::Refuse),
        builder.clone().hash_bits(32),
        builder,
    ];
    let cases =
        [1, 8, 14, 20].into_iter().flat_map(|bits| builders.iter().map(move |it| (bits, it)));
    for (shared_bits, builder) in sample(cases, [7, 5]) {
        let near = |hash: KeyHash| KeyHash::from_u64(hash.to_u64() >> shared_bits);
        let mut hashes = random.many(100_000, KeyHash::from_u64);
        hashes.extend(random.many(50_000, KeyHash::from_u64).into_iter().map(near));
        compare(builder, &hashes, &[2]);
    }
}

#[test]
fn one_key_very_often() {
    let mut hashes = random_with_repeats();
    hashes.extend(vec![hashes[17]; 100_000]);
    let growing = CuckooFilter::builder().capacity(300_000);
    assert!(!compare(&growing, &hashes, &[1, 2]));
    let fixed = CuckooFilter::builder().capacity(300_000).rate(0.001);
    assert!(!compare(&fixed.when_full(WhenFull::Refuse), &hashes, &[1, 2]));
}

fn random_with_repeats() -> Vec<KeyHash> {
    keys(&mut Random::new(8), 200_000, 2)
}

#[test]
fn keys_are_hashed_as_single_inserts_do() {
    let keys: Vec<String> = (0..100_000).map(|n| format!("key {}", n % 70_000)).collect();
    let keyed = KeyHasher::siphash13(*b"sixteen bytes ok");
    for threads in [1, 2] {
        let builder = || CuckooFilter::builder().hasher(keyed).rate(0.001).threads(threads);
        let hashes: Vec<_> = keys.iter().map(|key| keyed.hash(key.as_bytes())).collect();
        let from_keys = builder().build_from(&keys).unwrap();
        assert!(bytes(&from_keys) == bytes(&builder().build_from(&hashes).unwrap()));
        assert_eq!((from_keys.len(), from_keys.count("key 3")), (100_000, 2));
        let set = builder().build_unique_from(&keys).unwrap();
        assert!(bytes(&set) == bytes(&builder().build_unique_from(&hashes).unwrap()));
        assert!(set.len() <= 70_000 && set.contains("key 3"));
    }
}

#[test]
fn without_a_capacity_it_is_the_number_of_keys() {
    let hashes = Random::new(9).many(123_456, KeyHash::from_u64);
    let fixed = CuckooFilter::builder().rate(0.001).build_from(&hashes).unwrap();
    assert_eq!((fixed.max_items(), fixed.capacity()), (123_456, 123_456));
    let growing = CuckooFilter::builder().build_from(&hashes).unwrap();
    assert_eq!(growing.max_items(), u64::MAX);
    assert!(growing.capacity() >= 123_456 && growing.load_factor() > 0.8);
    let refused = CuckooFilter::builder().max_items(100).rate(0.01).build_from(&hashes);
    let Err(BuildError::Full(full)) = refused else { panic!("{refused:?}") };
    assert_eq!((full.items, full.reason), (100, FullReason::MaxItems));
}

#[test]
fn no_keys_make_an_empty_filter() {
    for builder in [CuckooFilter::builder(), CuckooFilter::builder().rate(0.01)] {
        let mut empty = builder.threads(2).build_from::<&str>(&[]).unwrap();
        assert!(empty.is_empty());
        empty.insert("it works").unwrap();
    }
}

#[test]
fn what_was_built_goes_on_as_any_filter() {
    let hashes = Random::new(10).many(200_000, KeyHash::from_u64);
    let (first, rest) = hashes.split_at(150_000);
    let builder = CuckooFilter::builder().capacity(150_000);
    let mut built = builder.clone().threads(2).build_from(first).unwrap();
    let mut single = one_by_one(&builder, first, As::Multiset).unwrap();
    for filter in [&mut built, &mut single] {
        filter.insert_batch(rest).unwrap();
        filter.remove(hashes[5]);
    }
    assert!(bytes(&built) == bytes(&single));
    built.compact();
    assert!(hashes[6..].iter().all(|&hash| built.contains(hash)));
    assert_eq!(built.clone().len(), 199_999);
}

/// Descriptions of all kinds, of filters of several segments.
fn descriptions() -> impl Strategy<Value = CuckooFilterBuilder> {
    let exactness = prop_oneof![
        prop_oneof![Just(0.2), Just(0.01), Just(1e-6)].prop_map(Some),
        Just(None).boxed(),
    ];
    let when_full =
        prop_oneof![Just(WhenFull::Grow), Just(WhenFull::Refuse), Just(WhenFull::ExceedRate)];
    let sizes = (10_000u64..200_000, 16u32..=64, 0u32..600);
    (0..LAYOUTS.len(), exactness, when_full, sizes).prop_map(
        |(layout, rate, when_full, (capacity, bits, steps))| {
            let (layout, slots) = LAYOUTS[layout];
            let builder = CuckooFilter::builder()
                .layout(layout)
                .slots_per_bucket(slots)
                .capacity(capacity)
                .max_evictions(steps)
                .when_full(when_full);
            match rate {
                Some(rate) => builder.rate(rate),
                None => builder.hash_bits(bits),
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(few_usual_or_all([10, 40, 40])))]

    #[test]
    fn bytes_are_those_of_single_inserts(
        builder in descriptions(),
        count in 0usize..220_000,
        repeats in 0u64..5,
        threads in 1usize..=8,
        seed: u64,
    ) {
        prop_assume!(builder.clone().build().is_ok());
        compare(&builder, &keys(&mut Random::new(seed), count, repeats), &[threads]);
    }
}

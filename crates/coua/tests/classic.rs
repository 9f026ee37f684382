//! The classic failures of cuckoo filters, each as a test that the usual implementations fail.

use std::time::Duration;

use coua::{
    BuildError, ConvertError, CuckooFilter, FullReason, Insertion, KeyHash, KeyHasher, Load,
    MergeError, WhenFull,
};

use coua_dev::instruction_sets::skipped;
use coua_dev::random::Random;

fn bytes_of(filter: &CuckooFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).expect("memory takes every byte");
    bytes
}

#[test]
fn nine_equal_inserts() {
    for capacity in [1, 2, 9, 1000] {
        let builder = CuckooFilter::builder();
        let mut filter = builder.capacity(capacity).rate(0.001).build().unwrap();
        for copies in 1..=9 {
            filter.insert("kestrel").unwrap();
            assert_eq!(filter.count("kestrel"), copies);
            assert_eq!(filter.len(), copies);
        }
        for left in (0..9).rev() {
            assert!(filter.contains("kestrel"));
            assert!(filter.remove("kestrel"));
            assert_eq!(filter.count("kestrel"), left);
        }
        assert!(!filter.contains("kestrel") && !filter.remove("kestrel"));
        assert!(filter.is_empty());
    }
}

#[test]
fn a_million_equal_inserts_and_removes() {
    let filters = [
        CuckooFilter::with_capacity(10, 0.01).unwrap(),
        CuckooFilter::builder().capacity(10).hash_bits(40).build().unwrap(),
        CuckooFilter::new(),
    ];
    for mut filter in filters {
        let before = (filter.memory_bytes(), filter.slots());
        for _ in 0..1_000_000 {
            filter.insert("kestrel").unwrap();
        }
        assert_eq!(filter.len(), 1_000_000);
        assert_eq!(filter.count("kestrel"), 1_000_000);
        assert_eq!(filter.slots(), before.1, "equal keys made the filter grow");
        assert!(filter.memory_bytes() < before.0 + 100);
        for _ in 0..1_000_000 {
            assert!(filter.remove("kestrel"));
        }
        assert!(!filter.remove("kestrel"));
        assert_eq!(filter.memory_bytes(), before.0);
    }
}

#[test]
fn floods_of_a_few_equal_keys_do_not_grow_the_filter() {
    let builder = CuckooFilter::builder();
    let mut filter = builder.capacity(10_000).hash_bits(64).build().unwrap();
    let before = filter.slots();
    let keys = Random::new(7).many(100, KeyHash::from_u64);
    for _ in 0..100 {
        for _ in 0..100 {
            filter.insert_batch(&keys).unwrap();
        }
    }
    assert_eq!(filter.len(), 1_000_000);
    assert_eq!(filter.slots(), before);
    assert!(keys.iter().all(|&key| filter.count(key) == 10_000));
}

#[test]
fn after_inserts_to_refusal_every_earlier_key_is_there() {
    for (capacity, max_evictions) in [(1, 500), (100, 0), (5_000, 20), (200_000, 500)] {
        let mut filter = CuckooFilter::builder()
            .capacity(capacity)
            .hash_bits(36)
            .max_evictions(max_evictions)
            .when_full(WhenFull::Refuse)
            .build()
            .unwrap();
        let mut random = Random::new(capacity);
        let mut keys = Vec::new();
        let full = loop {
            let key = KeyHash::from_u64(random.next());
            match filter.insert(key) {
                Ok(()) => keys.push(key),
                Err(full) => break full,
            }
        };
        assert_eq!(full.reason, FullReason::NoRoom);
        assert_eq!(full.items, keys.len() as u64);
        assert!(keys.len() as u64 >= capacity || max_evictions < 500, "{filter:?}");
        for _ in 0..1000 {
            let key = KeyHash::from_u64(random.next());
            if filter.insert(key).is_ok() {
                assert!(filter.remove(key));
            }
            assert!(filter.insert_unique(keys[0]) == Ok(Insertion::AlreadyPresent));
        }
        assert_eq!(filter.len(), keys.len() as u64);
        assert!(keys.iter().all(|&key| filter.contains(key)));
        for key in keys {
            assert!(filter.remove(key));
        }
        assert!(filter.is_empty());
    }
}

#[test]
fn removing_an_absent_key_is_false_and_changes_nothing() {
    let builder = CuckooFilter::builder();
    let mut filter = builder.capacity(2_000).rate(0.05).build().unwrap();
    let mut random = Random::new(3);
    filter.insert_batch(&random.many(1_990, KeyHash::from_u64)).unwrap();
    let before = bytes_of(&filter);
    let mut refused = 0;
    for _ in 0..5_000 {
        let key = KeyHash::from_u64(random.next());
        if filter.count(key) == 0 {
            assert!(!filter.remove(key));
            refused += 1;
        }
    }
    assert!(refused > 4_500);
    assert!(before == bytes_of(&filter));
}

#[test]
fn filters_of_different_seeds_do_not_merge() {
    let hashers = [
        KeyHasher::Xxh3 { seed: 0 },
        KeyHasher::Xxh3 { seed: 1 },
        KeyHasher::SipHash13 { key: [0; 16] },
        KeyHasher::SipHash13 { key: [1; 16] },
    ];
    let filter = |hasher| {
        let mut filter = CuckooFilter::builder().hasher(hasher).build().unwrap();
        filter.insert("a").unwrap();
        filter
    };
    for (at, into) in hashers.into_iter().enumerate() {
        for (from_at, from) in hashers.into_iter().enumerate() {
            let mut union = filter(into);
            let before = bytes_of(&union);
            let merged = union.merge(&filter(from));
            if at == from_at {
                assert_eq!(merged, Ok(()));
                assert_eq!(union.count("a"), 2);
            } else {
                assert_eq!(merged, Err(MergeError::Hasher));
                assert!(before == bytes_of(&union));
            }
        }
    }
}

#[test]
fn filters_of_different_resolution_do_not_merge_upwards() {
    let bits = |bits| CuckooFilter::builder().hash_bits(bits).build().unwrap();
    let (mut coarse, mut fine) = (bits(30), bits(31));
    fine.insert("a").unwrap();
    coarse.insert("b").unwrap();
    assert!(matches!(fine.merge(&coarse), Err(MergeError::Resolution { .. })));
    assert!(!fine.contains("b"));
    coarse.merge(&fine).unwrap();
    assert!(coarse.contains("a") && coarse.contains("b"));
    let mut fixed = CuckooFilter::with_capacity(1000, 0.01).unwrap();
    assert!(matches!(fixed.merge(&coarse), Err(MergeError::Resolution { .. })));
    assert!(matches!(coarse.merge(&fixed), Err(MergeError::Resolution { .. })));
    fixed.merge(&CuckooFilter::from_iter(["c"])).unwrap();
    assert!(fixed.contains("c"));
}

#[test]
fn a_capacity_that_is_a_power_of_two_is_reached() {
    let builder = CuckooFilter::builder();
    let mut filter =
        builder.capacity(65_536).rate(0.001).when_full(WhenFull::Refuse).build().unwrap();
    for key in 0..65_536u32 {
        filter.insert(key.to_le_bytes()).unwrap();
    }
    // Keys that the filter takes for copies of others need no room of their own.
    let mut more = (65_536..66_536u32).map(|key| filter.insert(key.to_le_bytes()));
    let full = more.find_map(Result::err).expect("refused within 1,000 more");
    assert_eq!(full.reason, FullReason::MaxItems);
    assert!((0..65_536u32).all(|key| filter.contains(key.to_le_bytes())));
}

#[test]
fn two_halves_of_a_capacity_merge() {
    for items in [2u64, 100, 10_000, 300_000] {
        let build = || {
            let builder = CuckooFilter::builder();
            builder.capacity(items).rate(0.01).when_full(WhenFull::Refuse).build().unwrap()
        };
        let (mut left, mut right) = (build(), build());
        let keys = Random::new(items).many(items as usize, KeyHash::from_u64);
        let (lower, upper) = keys.split_at(keys.len() / 2);
        left.insert_batch(lower).unwrap();
        right.insert_batch(upper).unwrap();
        left.merge(&right).unwrap();
        assert_eq!(left.len(), items);
        assert!(keys.iter().all(|&key| left.contains(key)));
    }
}

/// Sixty-four doublings of one key's count pass 2^64.
#[test]
fn counts_beyond_64_bits_saturate_without_a_panic() {
    let mut filter = CuckooFilter::with_capacity(100, 0.01).unwrap();
    filter.insert("a").unwrap();
    for _ in 0..66 {
        let copy = filter.clone();
        filter.merge(&copy).unwrap();
    }
    assert!(filter.count("a") > 1 << 63);
    filter.insert("a").unwrap();
    filter.insert("b").unwrap();
    assert!(filter.len() > 1 << 63);
    assert!(filter.remove("b") && !filter.contains("b"));
    assert!(filter.remove("a") && filter.contains("a"));
    filter.compact().unwrap();
    let copy = Load::new().bytes::<CuckooFilter>(&bytes_of(&filter)).unwrap();
    assert_eq!(copy.count("a"), filter.count("a"));
}

/// Merging moves counts, it does not count them one by one.
#[test]
fn merging_a_large_count_takes_no_time() {
    let build = || {
        let builder = CuckooFilter::builder().capacity(1).hash_bits(8);
        builder.when_full(WhenFull::Refuse).max_evictions(0).build().unwrap()
    };
    let merge_all = move || {
        for key in 0..=255u64 {
            let hash = KeyHash::from_u64(key << 56);
            let mut many = build();
            many.insert(hash).unwrap();
            for _ in 0..40 {
                let copy = many.clone();
                many.merge(&copy).unwrap();
            }
            let mut crowded = build();
            let others = (1..=10u64).map(|other| KeyHash::from_u64((key + other) << 56));
            let len = others.filter(|&other| crowded.insert(other).is_ok()).count() as u64;
            crowded.merge(&many).unwrap();
            assert_eq!(crowded.count(hash), 1 << 40);
            assert_eq!(crowded.len(), len + (1 << 40));
        }
    };
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        merge_all();
        done.send(()).unwrap();
    });
    wait.recv_timeout(Duration::from_secs(60)).expect("a merge takes as long as it has copies");
}

#[test]
fn absurd_descriptions_are_errors() {
    let builder = CuckooFilter::builder;
    for rate in [f64::NAN, 0.0, -0.1, 1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(matches!(builder().rate(rate).build(), Err(BuildError::Rate { .. })), "{rate}");
    }
    for rate in [f64::MIN_POSITIVE, 1e-300, 1e-20] {
        let refused = builder().capacity(10).rate(rate).build();
        assert!(matches!(refused, Err(BuildError::RateTooSmall { .. })), "{rate}");
        let refused = builder().max_items(1 << 40).rate(rate).build();
        assert!(matches!(refused, Err(BuildError::RateTooSmall { .. })), "{rate}");
    }
    for bits in [0, 7, 65, u32::MAX] {
        assert!(matches!(builder().hash_bits(bits).build(), Err(BuildError::HashBits { .. })));
    }
    assert!(builder().capacity(10).max_items(9).rate(0.1).build().is_err());
    assert!(builder().rate(0.1).hash_bits(20).build().is_err());
}

#[test]
fn a_capacity_beyond_all_memory_is_an_error() {
    for capacity in [1 << 50, u64::MAX / 2, u64::MAX] {
        for bits in [8, 20, 40, 64] {
            let refused = CuckooFilter::builder().capacity(capacity).hash_bits(bits).build();
            assert!(matches!(refused, Err(BuildError::OutOfMemory(_))), "{capacity} {bits}");
        }
        for rate in [0.5, 1e-3] {
            assert!(CuckooFilter::with_capacity(capacity, rate).is_err(), "{capacity} {rate}");
        }
        let mut filter = CuckooFilter::new();
        let full = filter.reserve(capacity).unwrap_err();
        assert_eq!(full.reason, FullReason::OutOfMemory);
        filter.insert("a").unwrap();
    }
}

/// Linux promises more memory than there is, a piece at a time; a filter that is told yes here would
/// be killed while it fills.
#[cfg(target_os = "linux")]
#[test]
fn many_times_the_memory_of_the_machine_is_an_error() {
    let overcommit = std::fs::read_to_string("/proc/sys/vm/overcommit_memory");
    if overcommit.is_ok_and(|mode| mode.trim() == "1") {
        skipped("the machine's owner wants memory promised beyond what there is");
        return;
    }
    for (capacity, bits) in [(1 << 43, 20), (1 << 43, 50), (1 << 44, 8)] {
        let built = CuckooFilter::builder().capacity(capacity).hash_bits(bits).build();
        assert!(matches!(built, Err(BuildError::OutOfMemory(_))), "{capacity} {bits}");
    }
    let planned = CuckooFilter::with_capacity(1 << 43, 0.01);
    assert!(matches!(planned, Err(BuildError::OutOfMemory(_))));
}

/// Only a small part is touched, so that only a small part of the memory becomes real.
#[test]
fn more_slots_than_32_bits_can_number() {
    let build = || CuckooFilter::builder().capacity(5_000_000_000).rate(0.3).build();
    let Ok(mut filter) = build() else {
        skipped("no address space for 4 GB");
        return;
    };
    assert!(filter.slots() > 1 << 32);
    let random = &mut Random::new(12);
    let mut ends = || {
        let low = random.next() >> 14;
        KeyHash::from_u64(if random.once_in(2) { low } else { !low })
    };
    let hashes: Vec<KeyHash> = (0..200_000).map(|_| ends()).collect();
    filter.insert_batch(&hashes).unwrap();
    let answers = filter.contains_batch(&hashes);
    assert!(answers.iter().all(|&present| present));
    assert!(hashes.iter().all(|&hash| filter.contains(hash)));
    let absent = (0..20_000).filter(|_| filter.contains(ends())).count();
    assert!(absent < 15_000, "{absent} of 20,000");
    let answers = filter.remove_batch(&hashes);
    assert!(answers.iter().all(|&removed| removed) && filter.is_empty());
}

#[test]
fn a_tiny_capacity_is_enough_for_itself() {
    for capacity in 0..=20 {
        let builder = CuckooFilter::builder();
        let mut filter = builder.capacity(capacity).rate(0.01).build().unwrap();
        for key in 0..capacity {
            filter.insert(key.to_le_bytes()).unwrap();
        }
        assert_eq!(filter.insert("more").unwrap_err().reason, FullReason::MaxItems);
        assert!((0..capacity).all(|key| filter.contains(key.to_le_bytes())));
    }
}

#[test]
fn converting_to_nonsense_is_an_error() {
    let mut filter = CuckooFilter::new();
    filter.insert("a").unwrap();
    for rate in [f64::NAN, 0.0, 1.0, -1.0, 1e-300] {
        assert!(filter.convert(rate).is_err(), "{rate}");
    }
    // The refusal speaks of rates, and the rate that it names is accepted.
    let refused = filter.convert(1e-30).unwrap_err();
    let ConvertError::Finer { rate: 1e-30, smallest } = refused else {
        panic!("{refused}");
    };
    assert!(refused.to_string().contains("1e-30"), "{refused}");
    assert!(filter.convert(smallest).is_ok());
}

/// Hashes in their own order fill one part of the filter before the next has anything.
#[test]
fn sorted_hashes_are_held_as_others_are() {
    let mut hashes: Vec<_> =
        (0..1_000_000u64).map(|n| coua::KeyHasher::default().hash(n)).collect();
    hashes.sort_unstable();
    let mut sorted = CuckooFilter::new();
    sorted.insert_batch(&hashes).unwrap();
    assert_eq!(sorted.len(), 1_000_000);
    assert!(hashes.iter().all(|&hash| sorted.contains(hash)));
    assert!(sorted.memory_bytes() < 16_000_000, "{sorted:?}");
}

/// Twice the memory at once, as filters of a power of two of slots take it, would be the usual way.
#[test]
fn a_filter_that_grows_takes_no_large_step_in_memory() {
    let builder = CuckooFilter::builder();
    let mut filter = builder.build().unwrap();
    let mut before = filter.memory_bytes();
    for number in 0..700_000 {
        filter.insert(KeyHasher::default().hash(number)).unwrap();
        let now = filter.memory_bytes();
        assert!(now <= before + before / 100 + (2 << 20), "{before} to {now}: {filter:?}");
        before = now;
    }
    assert!(before > 3 << 20, "{filter:?}");
}

#[test]
fn a_small_filter_takes_in_a_large_one() {
    let large: CuckooFilter = (0..1_000_000u64).map(u64::to_le_bytes).collect();
    for merge in [CuckooFilter::merge, CuckooFilter::merge_unique] {
        let mut small = CuckooFilter::new();
        small.insert("one more").unwrap();
        merge(&mut small, &large).unwrap();
        assert_eq!(small.len(), 1_000_001);
    }
}

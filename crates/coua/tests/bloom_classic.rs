//! The textbooks' Bloom filters: hash functions of one's own, and the counting one against an exact multiset.

use std::collections::HashMap;
use std::thread;

use coua::bloom::BloomBuildError;
use coua::bloom::classic::{
    ClassicBloomFilter, CountingBloomFilter, HashFunction, fnv1, fnv1a, murmur3,
};
use coua::sizing::bloom::BloomPlan;
use coua::{KeyHash, KeyHasher};

/// Deterministic numbers below `limit`.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 += 1;
        KeyHasher::xxh3(77).hash(self.0).to_u64() % limit
    }
}

fn key(number: u64) -> KeyHash {
    KeyHasher::default().hash(number)
}

fn built(counters: u64, probes: u32) -> CountingBloomFilter {
    let plan = BloomPlan::new(counters, probes).expect("small and not zero");
    CountingBloomFilter::from_plan(plan, KeyHasher::default()).expect("a few kilobytes")
}

fn assert_holds(filter: &CountingBloomFilter, truth: &HashMap<u64, u64>) {
    for (&number, &copies) in truth {
        assert!(filter.contains(key(number)), "{number} is lost");
        assert!(filter.count(key(number)).is_none_or(|count| count >= copies));
    }
}

/// Random inserts, and removals of what is there, over `distinct` keys.
fn run_model(counters: u64, probes: u32, distinct: u64, most_copies: u64) -> CountingBloomFilter {
    let mut filter = built(counters, probes);
    let (mut truth, mut numbers) = (HashMap::new(), Numbers(counters));
    for step in 0..20_000 {
        let number = numbers.below(distinct);
        let copies = truth.get(&number).copied().unwrap_or(0);
        if copies < most_copies && (copies == 0 || numbers.below(2) == 0) {
            filter.insert(key(number));
            truth.insert(number, copies + 1);
        } else {
            assert!(filter.remove(key(number)));
            if copies == 1 {
                truth.remove(&number);
            } else {
                truth.insert(number, copies - 1);
            }
        }
        if step % 1_000 == 0 {
            assert_holds(&filter, &truth);
        }
    }
    assert_holds(&filter, &truth);
    for (number, copies) in truth {
        (0..copies).for_each(|_| assert!(filter.remove(key(number))));
    }
    filter
}

#[test]
fn follows_a_multiset_and_ends_empty() {
    for (counters, probes, distinct) in [(1_000, 7, 50), (10_007, 4, 500), (65_536, 3, 4_000)] {
        let left = run_model(counters, probes, distinct, 2);
        let plan = BloomPlan::new(counters, probes).unwrap();
        let empty = CountingBloomFilter::from_plan(plan, KeyHasher::default()).unwrap();
        assert!(left == empty, "{counters} counters are not all back at zero");
    }
}

#[test]
fn stuck_counters_lose_nothing() {
    // So full that most counters reach 15 and stay.
    for (counters, probes, distinct, copies) in [(64, 5, 60, 3), (200, 4, 10, 40), (1, 1, 5, 9)] {
        run_model(counters, probes, distinct, copies);
    }
}

#[test]
fn an_absent_key_is_not_removed() {
    let mut filter = CountingBloomFilter::with_capacity(1_000, 0.01).unwrap();
    (0..500).for_each(|number| filter.insert(key(number)));
    let before = filter.clone();
    let mut refused = 0;
    for number in 10_000..10_100 {
        if !filter.contains(key(number)) {
            assert!(!filter.remove(key(number)));
            refused += 1;
        }
    }
    assert!(refused > 90);
    assert!(filter == before);
}

#[test]
fn rate_is_that_of_the_plain_filter() {
    let plan = BloomPlan::new(20_011, 5).unwrap();
    let mut counting = CountingBloomFilter::from_plan(plan, KeyHasher::default()).unwrap();
    let bits = coua::bloom::BloomFilter::from_plan(plan, KeyHasher::default()).unwrap();
    for number in 0..3_000 {
        counting.insert(key(number));
        bits.insert_unique(key(number));
    }
    for number in 0..50_000 {
        assert_eq!(counting.contains(key(number)), bits.contains(key(number)));
    }
    assert_eq!(counting.memory_bytes() as u64, plan.counting_bytes());
    assert_eq!(counting.count(key(1 << 40)), Some(0));
}

const THREE: [HashFunction; 3] = [fnv1, fnv1a, |key| murmur3(key, 0)];

#[test]
fn a_hundred_threads_lose_nothing_of_the_classic_three() {
    let filter = ClassicBloomFilter::new(1 << 18, &THREE).unwrap();
    thread::scope(|scope| {
        for thread in 0..100_u64 {
            let filter = &filter;
            scope.spawn(move || {
                for number in thread * 300..(thread + 1) * 300 {
                    filter.insert_unique(number.to_le_bytes());
                }
            });
        }
    });
    assert!((0..30_000_u64).all(|number| filter.contains(number.to_le_bytes())));
    assert_eq!((filter.bits(), filter.probes()), (1 << 18, 3));
}

#[test]
fn impossible_filters_are_errors() {
    assert_eq!(ClassicBloomFilter::new(0, &THREE).err(), Some(BloomBuildError::NoBits));
    for (functions, probes) in [(vec![], 0), (vec![fnv1 as HashFunction; 65], 65)] {
        let error = Some(BloomBuildError::Probes { probes });
        assert_eq!(ClassicBloomFilter::new(10, &functions).err(), error);
    }
    assert!(ClassicBloomFilter::new(10, &[fnv1 as HashFunction; 64]).is_ok());
    for rate in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::NEG_INFINITY] {
        let refused = CountingBloomFilter::with_capacity(10, rate).err();
        assert!(matches!(refused, Some(BloomBuildError::Rate { .. })));
    }
    assert!(CountingBloomFilter::with_capacity(1 << 58, 0.1).is_err());
}

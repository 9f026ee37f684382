//! Bloom filters: their rates by the formulas, and the counting one beside an exact multiset.

use std::collections::HashMap;

use coua_textbook::{
    BloomFilter, CountingBloomFilter, bloom_bits, bloom_functions, bloom_rate, murmur3,
    seeded_functions,
};

const STRANGERS: u32 = 200_000;

/// How many keys that were never inserted are found.
fn wrong(contains: impl Fn([u8; 4]) -> bool) -> f64 {
    (0..STRANGERS).filter(|stranger| contains((1 << 31 | stranger).to_le_bytes())).count() as f64
}

/// Five standard deviations.
fn tolerance(rate: f64) -> f64 {
    5.0 * (f64::from(STRANGERS) * rate * (1.0 - rate)).sqrt()
}

#[test]
fn rates_are_those_of_the_formula() {
    for (bits, functions, items) in
        [(1 << 18, 3, 10_000), (1 << 18, 3, 100_000), (100_003, 7, 10_000), (5_000, 1, 2_000)]
    {
        let mut filter =
            BloomFilter::new(bits, seeded_functions(functions)).expect("possible parameters");
        (0..items as u32).for_each(|item| filter.insert(item.to_le_bytes()));
        assert!((0..items as u32).all(|item| filter.contains(item.to_le_bytes())));
        let expected = bloom_rate(bits, functions, items);
        let found = wrong(|key| filter.contains(key));
        // A row deviates from the mean of all rows by a per cent or two.
        let most = tolerance(expected) + 0.04 * expected * f64::from(STRANGERS);
        let all = f64::from(STRANGERS);
        assert!((found - expected * all).abs() < most, "{bits} {functions} {items}: {found}");
    }
}

#[test]
fn a_planned_filter_keeps_its_rate_with_half_of_its_bits_set() {
    for rate in [0.1, 0.01, 0.001] {
        let mut filter = BloomFilter::for_items(20_000, rate).expect("possible parameters");
        (0..20_000_u32).for_each(|item| filter.insert(item.to_le_bytes()));
        let most = rate * f64::from(STRANGERS) + tolerance(rate);
        assert!(wrong(|key| filter.contains(key)) < most * 1.02);
        let set = filter.bits().iter().filter(|bit| **bit).count() as f64;
        assert!((set / filter.bits().len() as f64 - 0.5).abs() < 0.04);
    }
    assert_eq!(bloom_bits(1_000_000, 0.001), Ok(14_377_588));
    assert_eq!(bloom_functions(14_377_588, 1_000_000), 10);
    assert_eq!(bloom_functions(1, 1_000_000), 1);
}

#[test]
fn each_function_sets_the_bit_of_its_value() {
    let three: [fn(&[u8]) -> u64; 3] =
        [coua_textbook::fnv1, coua_textbook::fnv1a, |key| murmur3(key, 0)];
    let functions = three.map(|function| Box::new(function) as _).into();
    let mut filter = BloomFilter::new(1 << 18, functions).expect("possible parameters");
    filter.insert("foobar");
    let values: [u64; 3] = [0x340d_8765_a4dd_a9c2, 0x8594_4171_f739_67e8, 0xa4c4_d4bd];
    let set = filter.bits().iter().enumerate().filter(|(_, bit)| **bit);
    let mut places = values.map(|value| (value % (1 << 18)) as usize);
    places.sort_unstable();
    assert!(set.map(|(place, _)| place).eq(places));
}

/// Random inserts, and removals of what is there. Returns the filter after all was removed.
fn run_beside_a_multiset(
    counters: usize,
    functions: usize,
    distinct: u64,
    most_copies: u32,
) -> CountingBloomFilter {
    let mut filter = CountingBloomFilter::new(counters, seeded_functions(functions))
        .expect("possible parameters");
    let mut truth: HashMap<u64, u32> = HashMap::new();
    for step in 0..20_000_u32 {
        let random = murmur3(&step.to_le_bytes(), 77);
        let key = random % distinct;
        let copies = truth.entry(key).or_default();
        if *copies == 0 || (*copies < most_copies && random >> 31 == 0) {
            filter.insert(key.to_le_bytes());
            *copies += 1;
        } else {
            assert!(filter.remove(key.to_le_bytes()));
            *copies -= 1;
        }
        if step % 1_000 == 0 {
            let mut present = truth.iter().filter(|(_, copies)| **copies > 0);
            assert!(present.all(|(key, _)| filter.contains(key.to_le_bytes())));
        }
    }
    for (key, copies) in truth {
        assert!((0..copies).all(|_| filter.remove(key.to_le_bytes())));
    }
    filter
}

#[test]
fn a_counting_filter_follows_a_multiset_and_ends_empty() {
    for (counters, functions, distinct) in [(1_000, 7, 50), (10_007, 4, 500), (65_536, 3, 4_000)] {
        let left = run_beside_a_multiset(counters, functions, distinct, 2);
        assert!(left.counters().iter().all(|&counter| counter == 0), "{counters}");
    }
}

#[test]
fn counters_that_are_stuck_at_15_lose_nothing() {
    for (counters, functions, distinct, copies) in [(64, 5, 60, 3), (200, 4, 10, 40), (1, 1, 5, 9)]
    {
        let left = run_beside_a_multiset(counters, functions, distinct, copies);
        assert!(left.counters().contains(&15), "{counters}");
    }
}

#[test]
fn a_counting_filter_answers_as_a_plain_one() {
    let mut counting =
        CountingBloomFilter::new(20_011, seeded_functions(5)).expect("possible parameters");
    let mut plain = BloomFilter::new(20_011, seeded_functions(5)).expect("possible parameters");
    for item in 0..3_000_u32 {
        counting.insert(item.to_le_bytes());
        plain.insert(item.to_le_bytes());
    }
    for key in 0..50_000_u32 {
        assert_eq!(counting.contains(key.to_le_bytes()), plain.contains(key.to_le_bytes()));
    }
}

#[test]
fn removing_a_false_positive_loses_other_keys() {
    let mut filter =
        CountingBloomFilter::new(1_000, seeded_functions(3)).expect("possible parameters");
    (0..300_u32).for_each(|item| filter.insert(item.to_le_bytes()));
    let stranger = (1_000_u32..u32::MAX)
        .find(|key| filter.contains(key.to_le_bytes()))
        .expect("a false positive");
    let absent = (1_000_u32..u32::MAX)
        .find(|key| !filter.contains(key.to_le_bytes()))
        .expect("an absent key");
    assert!(!filter.remove(absent.to_le_bytes()));
    assert!((0..300_u32).all(|item| filter.contains(item.to_le_bytes())));
    assert!(filter.remove(stranger.to_le_bytes()));
    assert!(!(0..300_u32).all(|item| filter.contains(item.to_le_bytes())));
}

#[test]
fn impossible_parameters_are_errors() {
    let error = BloomFilter::new(0, seeded_functions(3)).err().expect("an error");
    assert_eq!(error.to_string(), "bits is 0; expected 1 to 2^32");
    let error = CountingBloomFilter::new(usize::MAX, seeded_functions(3)).err().expect("an error");
    assert_eq!(error.name, "counters");
    let error = CountingBloomFilter::new(10, Vec::new()).err().expect("an error");
    assert_eq!(error.to_string(), "functions is 0; expected at least 1");
    for rate in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(BloomFilter::for_items(10, rate).err().expect("an error").name, "rate");
    }
    assert_eq!(bloom_bits(0, 0.1).expect_err("an error").name, "items");
    assert_eq!(BloomFilter::for_items(1 << 32, 1e-300).err().expect("an error").name, "bits");
}

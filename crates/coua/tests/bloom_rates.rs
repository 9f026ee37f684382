//! The formulas of `sizing::bloom` against filters that were filled and asked.

use coua::bloom::classic::{ClassicBloomFilter, fnv1, fnv1a, murmur3};
use coua::bloom::{BlockedBloomFilter, BloomFilter};
use coua::sizing::bloom::{BlockedBloomPlan, BloomPlan};
use coua::{KeyHash, KeyHasher};

/// Hashes of the numbers of `range`: those of different seeds are independent.
fn hashes(seed: u64, range: std::ops::Range<u64>) -> Vec<KeyHash> {
    range.map(|number| KeyHasher::xxh3(seed).hash(number)).collect()
}

/// Numbers that no test inserts.
fn absent(seed: u64, count: u64) -> Vec<KeyHash> {
    hashes(seed, 1 << 40..(1 << 40) + count)
}

fn share(answers: &[bool]) -> f64 {
    answers.iter().filter(|&&yes| yes).count() as f64 / answers.len() as f64
}

fn mean_and_deviation(samples: &[f64]) -> (f64, f64) {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let variance =
        samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, variance.sqrt())
}

/// Asserts that the mean of the samples is within five standard errors of `expected`.
fn assert_mean(samples: &[f64], expected: f64, what: &str) {
    let (mean, deviation) = mean_and_deviation(samples);
    let allowed = 5.0 * deviation / (samples.len() as f64).sqrt() + 1e-3 * expected;
    assert!((mean - expected).abs() < allowed, "{what}: {mean:e}, {expected:e} +- {allowed:e}");
}

/// Wrong answers among `queries` absent keys, as a share.
fn measured(filter: &BloomFilter, seed: u64, queries: u64) -> f64 {
    let present = filter.contains_batch(&absent(seed, queries));
    share(&present)
}

#[test]
fn bloom_rate_is_the_formula() {
    // Bits, probes, keys: small and large, thin and overfull, powers of two and primes.
    for (bits, probes, items) in [
        (64, 3, 8),
        (101, 7, 10),
        (997, 1, 300),
        (1_000, 7, 100),
        (4_096, 20, 300),
        (10_007, 4, 4_000),
        (1 << 16, 10, 4_500),
        (1 << 18, 3, 60_000),
        (1_000_003, 2, 30_000),
    ] {
        let plan = BloomPlan::new(bits, probes).unwrap();
        let filters = (2_000_000 / items).clamp(20, 400);
        let samples: Vec<f64> = (0..filters)
            .map(|seed| {
                let filter = BloomFilter::from_plan(plan, KeyHasher::default()).unwrap();
                filter.insert_unique_batch(&hashes(seed, 0..items));
                measured(&filter, seed, 3_000_000 / filters)
            })
            .collect();
        let what = format!("m {bits} k {probes} n {items}");
        assert_mean(&samples, plan.false_positive_rate(items), &what);
    }
}

#[test]
fn planned_bloom_filters_keep_their_rate() {
    for (items, rate) in [(1, 0.01), (20, 0.01), (1_000, 0.1), (10_000, 0.01), (100_000, 0.001)] {
        let filters = (200_000 / items).clamp(5, 200);
        let samples: Vec<f64> = (0..filters)
            .map(|seed| {
                let filter = BloomFilter::with_capacity(items, rate).unwrap();
                filter.insert_unique_batch(&hashes(seed, 0..items));
                measured(&filter, seed, 3_000_000 / filters)
            })
            .collect();
        let (mean, deviation) = mean_and_deviation(&samples);
        let error = 5.0 * deviation / (filters as f64).sqrt();
        assert!(mean < rate + error, "{items} {rate}: {mean}");
        // And not by wasting memory: the smallest size is one cache line, for about 50 keys.
        assert!(items < 50 || mean > rate - error - rate / 50.0, "{items} {rate}: {mean}");
    }
}

#[test]
fn blocked_rate_is_the_formula() {
    for (blocks, items) in [(100, 500), (100, 2_400), (1_000, 24_300), (4_099, 64_000), (50, 5_000)]
    {
        let plan = BlockedBloomPlan::new(blocks).unwrap();
        let filters = (1_000_000 / items).clamp(10, 200);
        let samples: Vec<f64> = (0..filters)
            .map(|seed| {
                let mut filter = BlockedBloomFilter::with_blocks(blocks).unwrap();
                filter.insert_unique_batch(&hashes(seed, 0..items));
                let present = filter.contains_batch(&absent(seed, 2_000_000 / filters));
                share(&present)
            })
            .collect();
        let what = format!("{blocks} blocks, n {items}");
        assert_mean(&samples, plan.false_positive_rate(items), &what);
    }
}

#[test]
fn rates_told_by_a_filter_are_its_own() {
    let hashes = hashes(1, 0..30_000);
    let queries = absent(1, 1_000_000);

    let plain = BloomFilter::with_bits(200_003, 5).unwrap();
    plain.insert_unique_batch(&hashes);
    let present = plain.contains_batch(&queries);
    let (told, found) = (plain.false_positive_rate(), share(&present));
    let sigma = (told * (1.0 - told) / queries.len() as f64).sqrt();
    assert!((told - found).abs() < 5.0 * sigma, "{told} {found}");

    let mut blocked = BlockedBloomFilter::with_blocks(1_200).unwrap();
    blocked.insert_unique_batch(&hashes);
    let present = blocked.contains_batch(&queries);
    let (told, found) = (blocked.false_positive_rate(), share(&present));
    let sigma = (told * (1.0 - told) / queries.len() as f64).sqrt();
    assert!((told - found).abs() < 5.0 * sigma, "{told} {found}");
}

#[test]
fn counts_are_estimated() {
    for items in [10, 1_000, 100_000] {
        let deviation = (items as f64).sqrt();
        let plain = BloomFilter::with_capacity(items, 0.01).unwrap();
        let mut blocked = BlockedBloomFilter::with_capacity(items, 0.01).unwrap();
        for _ in 0..2 {
            plain.insert_unique_batch(&hashes(3, 0..items));
            blocked.insert_unique_batch(&hashes(3, 0..items));
        }
        for estimate in [plain.count_estimate(), blocked.count_estimate()] {
            assert!((estimate - items as f64).abs() < 3.0 * deviation, "{items}: {estimate}");
        }
    }
    let full = BloomFilter::with_bits(1, 1).unwrap();
    assert!(full.count_estimate().abs() < f64::EPSILON);
    full.insert_unique("a");
    assert!(full.count_estimate().is_infinite());
    assert!((full.false_positive_rate() - 1.0).abs() < f64::EPSILON);
}

#[test]
fn classic_three_functions_are_near_the_formula() {
    let filter = ClassicBloomFilter::new(1 << 18, &[fnv1, fnv1a, |key| murmur3(key, 0)]).unwrap();
    for number in 0..50_000 {
        filter.insert_unique(format!("https://example.org/item/{number}"));
    }
    let wrong = (0..100_000)
        .filter(|number| filter.contains(format!("https://example.org/other/{number}")))
        .count();
    let (rate, expected) = (wrong as f64 / 100_000.0, filter.false_positive_rate());
    // FNV-1 and FNV-1a are not independent, so this is no 5-sigma test.
    assert!((0.5..2.0).contains(&(rate / expected)), "{rate} {expected}");
}

#[test]
fn a_blocked_filter_tells_no_less_than_its_plan() {
    for rate in [1e-6, 1e-9, 1e-10] {
        let mut filter = BlockedBloomFilter::with_capacity(10_000, rate).unwrap();
        filter.insert_unique_batch(&hashes(1, 0..10_000));
        let plan = BlockedBloomPlan::new(filter.blocks()).unwrap().false_positive_rate(10_000);
        let told = filter.false_positive_rate();
        assert!((0.8 * plan..1.2 * plan).contains(&told), "{rate}: {told:e}, planned {plan:e}");
    }
    let mut full = BlockedBloomFilter::with_blocks(1).unwrap();
    full.insert_unique_batch(&hashes(1, 0..10_000));
    assert!(full.false_positive_rate() >= 1.0);
}

//! Keys chosen by somebody who knows the hash: they are held, in bounded memory.

use std::time::Instant;

use coua::{CuckooFilter, KeyHash};

use coua_dev::cases::{few_usual_or_all, sample};
use coua_dev::random::Random;

const BUCKET: u64 = 4;
/// What keys can buy whatever their hashes are: bytes for each, beyond those that a filter takes anyway.
const MOST_BYTES_A_KEY: usize = 400;
const FREE_BYTES: usize = 2 << 20;

/// Inserts hashes, none of which is refused.
fn fill(filter: &mut CuckooFilter, keys: usize, hash: impl FnMut() -> KeyHash) {
    let keys: Vec<_> = std::iter::repeat_with(hash).take(keys).collect();
    for &key in &keys {
        filter.insert(key).expect("a filter that grows refuses no key");
    }
    assert!(keys.iter().all(|&key| filter.contains(key)));
}

/// Whether a filter that holds `keys` keys has bought no more memory than is stated.
fn is_bounded(filter: &CuckooFilter, keys: usize) -> bool {
    filter.memory_bytes() <= FREE_BYTES + MOST_BYTES_A_KEY * keys
}

#[test]
fn keys_that_share_a_prefix_are_held_in_bounded_memory() {
    for prefix_bits in sample([8, 16, 24, 40, 56], [3, 1]) {
        let mut filter = CuckooFilter::builder().build().unwrap();
        let random = &mut Random::new(prefix_bits);
        let prefix = random.next() & !(u64::MAX >> prefix_bits);
        let start = Instant::now();
        let hash = || KeyHash::from_u64(prefix | (random.next() >> prefix_bits));
        fill(&mut filter, 300_000, hash);
        assert!(start.elapsed().as_secs() < 60, "{prefix_bits} {filter:?}");
        // Once splits end, a key takes an entry of the overflow table.
        assert!(filter.memory_bytes() < 45 * 300_000 + FREE_BYTES, "{prefix_bits} {filter:?}");
        // Keys far from them still find room.
        for _ in 0..1000 {
            let far = (prefix ^ 1 << 63) & 1 << 63 | (random.next() >> 1);
            filter.insert(KeyHash::from_u64(far)).unwrap();
        }
    }
}

#[test]
fn keys_that_share_a_suffix_are_ordinary_keys() {
    let mut filter = CuckooFilter::new();
    let random = &mut Random::new(1);
    fill(&mut filter, 200_000, || KeyHash::from_u64(random.next() << 24 | 0x00ab_cdef));
    assert!(filter.memory_bytes() < 200_000 * 16);
}

#[test]
fn keys_in_order_are_held() {
    let mut filter = CuckooFilter::new();
    let mut next = 0;
    fill(&mut filter, 300_000, || {
        next += 1;
        KeyHash::from_u64(next)
    });
    assert!(filter.memory_bytes() < 20_000_000, "{filter:?}");
}

/// The dearest that is known: as many keys of one prefix as let its segment split, and at each depth a dozen that no
/// eviction places, so that it does, down to the depth that is free. Again for other prefixes, until whole
/// regions are so full of segments that they may lie deeper.
#[test]
#[cfg_attr(miri, ignore = "takes minutes in Miri")]
fn keys_that_make_segments_split_buy_bounded_memory() {
    let mut filter = CuckooFilter::new();
    let random = &mut Random::new(3);
    let mut keys = 0;
    let mut insert = |filter: &mut CuckooFilter, hash: u64| {
        filter.insert(KeyHash::from_u64(hash)).unwrap();
        keys += 1;
        assert!(is_bounded(filter, keys), "{keys} keys: {filter:?}");
    };
    for chain in 0..few_usual_or_all([12, 12, 200]) {
        // All in one region, whose segments are counted together.
        let prefix = (chain << 50 | random.next() >> 14) & !(u64::MAX >> 40);
        for _ in 0..4200 {
            insert(&mut filter, prefix | random.next() >> 40);
        }
        for depth in 0..few_usual_or_all([18, 18, 24]) as u32 {
            let buckets = filter.slots() / filter.segments() as u64 / BUCKET;
            let target = buckets_of(prefix, buckets, depth);
            let mut found = 0;
            while found < 3 * BUCKET {
                let hash = prefix | random.next() >> 40;
                if buckets_of(hash, buckets, depth) == target {
                    insert(&mut filter, hash);
                    found += 1;
                }
            }
        }
    }
    assert!(filter.segments() > 40, "{filter:?}");
}

/// Where the format puts a hash: primary and alternate bucket (docs/format.md), for 64 hash bits.
fn buckets_of(hash: u64, buckets: u64, depth: u32) -> (u64, u64) {
    let high = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    let suffix = hash << depth;
    let (primary, rest) = (high(suffix, buckets), suffix.wrapping_mul(buckets));
    let cells = u128::from(buckets) * 63;
    let top_bits = (1u128 << (64 - depth)).div_ceil(cells).next_power_of_two().trailing_zeros();
    let fingerprint = (rest >> (64 - top_bits)) << 6 | (high(rest << top_bits, 63) + 1);
    let offset = ((fingerprint.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) * buckets) >> 32;
    (primary, (primary + offset) % buckets)
}

/// Hashes under a prefix that all lie in the same two buckets.
fn colliding(random: &mut Random, prefix: u64, depth: u32, buckets: u64) -> Vec<KeyHash> {
    let within = random.next() >> depth;
    let fixed = prefix | (within & !(u64::MAX >> (depth + 20)));
    let target = buckets_of(fixed, buckets, depth);
    let mut found = Vec::new();
    while found.len() < 3 * BUCKET as usize {
        let hash = fixed | (random.next() >> (depth + 20));
        if buckets_of(hash, buckets, depth) == target {
            found.push(KeyHash::from_u64(hash));
        }
    }
    found
}

/// A dozen keys for one pair of buckets must not buy a segment of thousands of slots each time.
#[test]
fn keys_that_share_two_buckets_do_not_make_the_filter_grow() {
    let mut filter = CuckooFilter::new();
    let random = &mut Random::new(11);
    for round in 0u64..400 {
        // Breadth first over all prefixes, so that no part of the filter becomes too deep.
        let depth = (filter.segments() as u64).ilog2().max(1);
        let buckets = filter.slots() / filter.segments() as u64 / BUCKET;
        let prefix = (round % (1 << depth)) << (64 - depth);
        for key in colliding(random, prefix, depth, buckets) {
            filter.insert(key).unwrap();
        }
    }
    assert!(filter.memory_bytes() < 2_000_000, "{filter:?}");
}

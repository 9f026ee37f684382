//! Random operations on the filter beside a plain multiset of hashes.

use std::collections::HashMap;

use coua::{CuckooFilter, Full, Insertion, KeyHash, Layout, WhenFull};

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        (u128::from(self.next()) * u128::from(bound) >> 64) as u64
    }
}

#[test]
fn smoke() {
    for (layout, b) in [
        (Layout::Buckets, 1),
        (Layout::Buckets, 2),
        (Layout::Buckets, 4),
        (Layout::Buckets, 8),
        (Layout::Windows, 2),
    ] {
        for rate in [0.2, 0.01, 1e-4, 1e-9] {
            for n in [1u64, 2, 10, 100, 1000, 65_536, 300_000] {
                let Ok(mut filter) = CuckooFilter::builder()
                    .capacity(n)
                    .rate(rate)
                    .layout(layout)
                    .slots_per_bucket(b)
                    .when_full(WhenFull::Refuse)
                    .build()
                else {
                    panic!("{n} {rate}")
                };
                let mut random = Random(n);
                let keys: Vec<_> = (0..n).map(|_| KeyHash::from_u64(random.next())).collect();
                for (i, &key) in keys.iter().enumerate() {
                    let done: Result<(), Full> = filter.insert_hash(key);
                    assert!(done.is_ok(), "{layout:?} {b} {rate} {n} at {i}: {filter:?}");
                }
                assert!(keys.iter().all(|&key| filter.contains_hash(key)), "{filter:?}");
                assert_eq!(filter.len(), n);
                for &key in &keys {
                    assert!(filter.remove_hash(key));
                }
                assert!(filter.is_empty());
            }
        }
    }
}

#[test]
fn grows() {
    for bits in [30, 40, 64] {
        for layout in [Layout::Buckets, Layout::Windows] {
            let mut filter =
                CuckooFilter::builder().capacity(10).hash_bits(bits).layout(layout).build().unwrap();
            let mut random = Random(1);
            let mut model: HashMap<KeyHash, u64> = HashMap::new();
            for _ in 0..1_000_000 {
                let key = KeyHash::from_u64(random.next());
                if filter.insert_unique_hash(key).unwrap() == Insertion::Inserted {
                    model.insert(key, 1);
                }
            }
            assert!(model.keys().all(|&key| filter.contains_hash(key)), "{filter:?}");
            let mut wrong = 0;
            for _ in 0..1_000_000 {
                wrong += u64::from(filter.contains_hash(KeyHash::from_u64(random.next())));
            }
            println!("{bits} {layout:?} {filter:?} {wrong}");
        }
    }
    let _ = Random(3).below(4);
}

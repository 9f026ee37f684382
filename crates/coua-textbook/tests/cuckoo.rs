//! Cuckoo hashing, and the cuckoo filter: what they promise, and their faults.

use std::collections::HashSet;

use coua_textbook::{
    CuckooFilter, CuckooHashSet, Shape, cuckoo_fingerprint_bits, cuckoo_rate, murmur3,
};

fn shape(buckets: usize, slots: usize, fingerprint_bits: u32) -> Shape {
    Shape { buckets, slots, fingerprint_bits, max_kicks: 500 }
}

fn filter(shape: Shape) -> CuckooFilter {
    CuckooFilter::new(shape).expect("a possible shape")
}

/// A key of each number.
fn key(number: usize) -> [u8; 8] {
    number.to_le_bytes()
}

/// Inserts keys until one is refused. Returns how many were accepted.
fn fill(filter: &mut CuckooFilter) -> usize {
    let full = (0..1 << 20).find(|&number| !filter.insert(key(number)));
    full.expect("no table of these tests is that large")
}

#[test]
fn a_set_agrees_with_that_of_std() {
    let (mut set, mut truth) = (CuckooHashSet::new(10).unwrap(), HashSet::new());
    for step in 0..20_000_u32 {
        let random = murmur3(&step.to_le_bytes(), 5);
        let key = (random % 3_000).to_le_bytes();
        if random >> 31 == 0 {
            assert_eq!(set.remove(key), truth.remove(&key));
        } else {
            assert_eq!(set.insert(key), truth.insert(key));
        }
    }
    assert!(
        (0..3_000_u64)
            .all(|key| { set.contains(key.to_le_bytes()) == truth.contains(&key.to_le_bytes()) })
    );
    let slots = 2 * set.slots();
    assert!((set.load() - truth.len() as f64 / slots as f64).abs() < 1e-9);
}

#[test]
fn tables_of_a_set_loop_at_half_load() {
    let mut sum = 0.0;
    for seed in 0..20_u64 {
        let mut set = CuckooHashSet::new(2_000).unwrap();
        let mut number = seed << 32;
        let load = loop {
            let load = set.load();
            set.insert(number.to_le_bytes());
            number += 1;
            if set.rehashes() > 0 {
                break load;
            }
        };
        assert!((0.3..0.65).contains(&load), "{load}");
        assert!((seed << 32..number).all(|number| set.contains(number.to_le_bytes())));
        sum += load;
    }
    assert!((0.45..0.58).contains(&(sum / 20.0)), "{}", sum / 20.0);
}

/// Three keys have two slots in tables of any size.
#[test]
fn three_keys_with_the_same_two_slots_loop_in_an_empty_set() {
    let slots = |key: &u32| [0, 1].map(|seed| murmur3(&key.to_le_bytes(), seed) % 50);
    let mut same = (0..).filter(|key| slots(key) == slots(&0));
    let mut set = CuckooHashSet::new(50).unwrap();
    for place in 0..3 {
        assert_eq!(set.rehashes(), 0);
        assert!(set.insert(same.next().unwrap().to_le_bytes()), "{place}");
    }
    assert!(set.rehashes() > 0 && set.slots() == 50 && set.load() < 0.031);
}

#[test]
fn a_filter_finds_what_was_inserted_until_it_refuses() {
    for slots in [1, 2, 4, 8] {
        for fingerprint_bits in [8, 12, 32] {
            let mut filter = filter(shape(256, slots, fingerprint_bits));
            let items = 256 * slots * 4 / 10;
            assert!((0..items).all(|number| filter.insert(key(number))));
            assert!((0..items).all(|number| filter.contains(key(number))));
            assert!((0..items).all(|number| filter.remove(key(number))));
            assert!(filter.load() == 0.0);
        }
    }
}

/// The paper's 50, 84, 95 and 98 % (section 5.1).
#[test]
fn a_filter_is_filled_to_the_loads_of_the_paper() {
    for (slots, paper) in [(1, 0.50), (2, 0.84), (4, 0.95), (8, 0.98)] {
        let mut filter = filter(shape(1 << 14, slots, 16));
        fill(&mut filter);
        assert!((filter.load() - paper).abs() < 0.04, "{slots}: {}", filter.load());
    }
}

#[test]
fn rates_are_those_of_the_formula() {
    for (slots, fingerprint_bits) in [(2, 8), (4, 8), (4, 12), (8, 9)] {
        let mut filter = filter(shape(1 << 12, slots, fingerprint_bits));
        let items = (filter.bits() / fingerprint_bits as usize) * 8 / 10;
        assert!((0..items).all(|number| filter.insert(key(number))));
        let strangers = 400_000;
        let wrong = (0..strangers).filter(|n| filter.contains(key(1 << 40 | n))).count() as f64;
        // The formula is for a full filter.
        let expected = cuckoo_rate(slots, fingerprint_bits) * 0.8 * strangers as f64;
        let tolerance = 5.0 * expected.sqrt() + 0.04 * expected;
        assert!((wrong - expected).abs() < tolerance, "{slots} {fingerprint_bits}: {wrong}");
    }
    assert_eq!(cuckoo_fingerprint_bits(4, 0.001), Ok(13));
}

#[test]
fn a_full_filter_loses_a_key_that_it_accepted() {
    let mut lost = 0;
    for max_kicks in 1..=100 {
        let mut filter = filter(Shape { max_kicks, ..shape(16, 4, 16) });
        let accepted = fill(&mut filter);
        let missing = (0..accepted).filter(|&number| !filter.contains(key(number))).count();
        // The new key is there instead, unless it was kicked out again itself.
        assert_eq!(missing, usize::from(filter.contains(key(accepted))));
        lost += missing;
    }
    assert!(lost > 90, "{lost}");
}

#[test]
fn equal_keys_fit_twice_into_a_bucket() {
    for slots in [1, 2, 4, 8] {
        let mut filter = filter(shape(1 << 10, slots, 8));
        assert!((0..2 * slots).all(|_| filter.insert("kestrel")));
        assert!(!filter.insert("kestrel"));
        assert!((0..2 * slots).all(|_| filter.remove("kestrel")));
        assert!(!filter.remove("kestrel") && !filter.contains("kestrel"));
    }
}

#[test]
fn removing_an_absent_key_takes_the_fingerprint_of_another() {
    let mut filter = filter(shape(64, 4, 8));
    assert!((0..200).all(|number| filter.insert(key(number))));
    let before = filter.clone();
    let absent = (1000..2000).find(|&number| !filter.contains(key(number))).unwrap();
    assert!(!filter.remove(key(absent)) && filter == before);
    let stranger = (1000..2000).find(|&number| filter.contains(key(number))).unwrap();
    assert!(filter.remove(key(stranger)));
    assert_eq!((0..200).filter(|&number| !filter.contains(key(number))).count(), 1);
}

#[test]
fn the_number_of_buckets_jumps_to_a_power_of_two() {
    let shape = Shape::for_items(62_000, 0.001).unwrap();
    assert_eq!((shape.buckets, shape.slots, shape.fingerprint_bits), (1 << 14, 4, 13));
    assert_eq!(Shape::for_items(63_000, 0.001).unwrap().buckets, 1 << 15);
}

#[test]
fn impossible_parameters_are_errors() {
    for (shape, text) in [
        (shape(0, 4, 8), "buckets is 0; expected 1 to 2^32"),
        (shape(14, 4, 8), "buckets is 14; expected a power of two"),
        (shape(16, 0, 8), "slots is 0; expected 1 to 64"),
        (shape(16, 65, 8), "slots is 65; expected 1 to 64"),
        (shape(16, 4, 0), "fingerprint_bits is 0; expected 1 to 32"),
        (shape(16, 4, 33), "fingerprint_bits is 33; expected 1 to 32"),
    ] {
        assert_eq!(CuckooFilter::new(shape).unwrap_err().to_string(), text);
    }
    assert_eq!(Shape::for_items(10, 2.0).unwrap_err().name, "rate");
    assert_eq!(Shape::for_items(0, 0.1).unwrap_err().name, "items");
    assert_eq!(CuckooHashSet::new(0).unwrap_err().name, "slots");
}

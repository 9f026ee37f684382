//! Coua beside the filters of the papers.

use coua::{CuckooFilter, WhenFull};
use coua_textbook::{
    BloomFilter, CuckooFilter as TextbookFilter, Shape, bloom_functions, seeded_functions,
};

fn textbook(shape: Shape) -> TextbookFilter {
    TextbookFilter::new(shape).expect("a possible shape")
}

/// The key of each number.
fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

#[test]
fn at_equal_bits_fewer_strangers_are_found_than_in_a_bloom_filter() {
    let items = 100_000;
    let mut coua = CuckooFilter::with_capacity(items, 0.001).unwrap();
    let bits = 8 * coua.memory_bytes();
    let functions = bloom_functions(bits, items as usize);
    let mut bloom = BloomFilter::new(bits, seeded_functions(functions)).unwrap();
    for number in 0..items {
        coua.insert(key(number)).unwrap();
        bloom.insert(key(number));
    }
    let strangers = 1 << 32..(1 << 32) + 1_000_000;
    let of_coua = strangers.clone().filter(|&number| coua.contains(key(number))).count();
    let of_bloom = strangers.filter(|&number| bloom.contains(key(number))).count();
    assert!(of_coua < 1_150 && 6 * of_coua < 5 * of_bloom, "{of_coua}, Bloom {of_bloom}");
}

#[test]
fn a_full_filter_refuses_a_key_where_the_textbook_loses_one() {
    let mut lost = 0;
    for max_kicks in 1..=20 {
        let shape = Shape { buckets: 64, slots: 4, fingerprint_bits: 16, max_kicks };
        let mut theirs = textbook(shape);
        let accepted = (0..1000).take_while(|&number| theirs.insert(key(number))).count() as u64;
        lost += (0..accepted).filter(|&number| !theirs.contains(key(number))).count();

        let builder = CuckooFilter::builder().capacity(240).hash_bits(30);
        let builder = builder.when_full(WhenFull::Refuse).max_evictions(max_kicks as u32);
        let mut ours = builder.build().unwrap();
        let accepted = (0..1000).take_while(|&number| ours.insert(key(number)).is_ok()).count();
        assert!(accepted < 1000 && !ours.contains(key(accepted as u64)));
        assert!((0..accepted as u64).all(|number| ours.contains(key(number))));
    }
    assert!(lost > 15, "{lost}");
}

#[test]
fn equal_keys_are_counted_where_the_textbook_takes_eight() {
    let mut theirs = textbook(Shape::for_items(1000, 0.001).unwrap());
    let mut ours = CuckooFilter::with_capacity(1000, 0.001).unwrap();
    for copy in 1..=9 {
        assert_eq!(theirs.insert("kestrel"), copy <= 8);
        ours.insert("kestrel").unwrap();
        assert_eq!(ours.count("kestrel"), copy);
    }
}

#[test]
fn a_capacity_above_a_power_of_two_takes_half_of_the_textbooks_bits() {
    let theirs = textbook(Shape::for_items(1_000_000, 0.001).unwrap());
    let ours = CuckooFilter::with_capacity(1_000_000, 0.001).unwrap();
    assert!(theirs.bits() > 19 * 8 * ours.memory_bytes() / 10);
}

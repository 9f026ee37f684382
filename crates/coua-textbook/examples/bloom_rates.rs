//! A Bloom filter accepts any number of keys. The more it has, the more often it is wrong.
#![expect(clippy::print_stdout, reason = "it shows what it finds")]

use coua_textbook::{BloomFilter, ParameterError, bloom_rate, fnv1, fnv1a, murmur3};

fn main() -> Result<(), ParameterError> {
    let mut seen = BloomFilter::new(
        1 << 18,
        vec![Box::new(fnv1), Box::new(fnv1a), Box::new(|key| murmur3(key, 0))],
    )?;
    let mut items = 0;
    for more in [10_000, 20_000, 70_000] {
        for _ in 0..more {
            seen.insert(format!("https://shop.example/item/{items}"));
            items += 1;
        }
        let strangers = 100_000;
        let is_wrong = |stranger: &u32| seen.contains(format!("https://other.example/{stranger}"));
        let wrong = (0..strangers).filter(is_wrong).count() as f64 / f64::from(strangers);
        let expected = bloom_rate(1 << 18, 3, items);
        println!("{items} items: {:.2} % wrong, expected {:.2} %", wrong * 1e2, expected * 1e2);
        assert!((wrong / expected - 1.0).abs() < 0.2);
    }
    Ok(())
}

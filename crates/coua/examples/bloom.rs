//! A Bloom filter, for sets to which keys are only added.

use std::error::Error;

use coua::bloom::BloomFilter;

fn main() -> Result<(), Box<dyn Error>> {
    // Threads insert through a shared reference.
    let words = BloomFilter::with_capacity(1_000, 0.01)?;
    assert!(words.insert_unique("wren").is_new());
    assert!(!words.insert_unique("wren").is_new());
    words.insert_unique_batch(&["robin", "gull"]);
    assert_eq!(words.contains_batch(&["wren", "gull", "osprey"]), [true, true, false]);

    let more = BloomFilter::with_capacity(1_000, 0.01)?;
    more.insert_unique("osprey");
    words.merge(&more)?;
    assert!(words.contains("osprey"));
    assert!((words.count_estimate() - 4.0).abs() < 0.1);
    Ok(())
}

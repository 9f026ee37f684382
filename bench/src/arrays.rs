//! Batches of the keys in the arrays of `peers.py`, without Python: wall-clock nanoseconds per key.

use std::error::Error;
use std::fs;
use std::time::Instant;

use coua::{CuckooFilter, Key};

/// `u64`: a file of 8-byte integers, little endian; `str`: a file with a key per line.
pub(crate) fn run(kind: &str, file: &str) -> Result<(), Box<dyn Error>> {
    let bytes = fs::read(file)?;
    if kind == "u64" {
        let keys = bytes.as_chunks().0.iter().map(|key| u64::from_le_bytes(*key));
        measure(&keys.collect::<Vec<_>>())
    } else {
        measure(&str::from_utf8(&bytes)?.lines().collect::<Vec<_>>())
    }
}

/// The two cuckoo filters of `peers.py`, with the same names for them and their steps.
fn measure<K: Key>(keys: &[K]) -> Result<(), Box<dyn Error>> {
    let fixed = CuckooFilter::builder().capacity(keys.len() as u64).rate(0.001).build()?;
    for (name, mut filter) in
        [("coua in Rust", fixed), ("coua in Rust, growing", CuckooFilter::new())]
    {
        let mut lap = Instant::now();
        let mut row = |step| {
            let spent = lap.elapsed().as_secs_f64() * 1e9 / keys.len() as f64;
            println!("{name}\t{step}, array\t{spent}");
            lap = Instant::now();
        };
        filter.insert_unique_batch(keys)?;
        row("add");
        filter.contains_batch(keys);
        row("in");
        filter.remove_batch(keys);
        row("discard");
    }
    Ok(())
}

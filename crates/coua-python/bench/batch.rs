//! The batches of Rust, to be compared with those of Python: nanoseconds a key, by the clock.
//!
//! `batch u64 FILE` takes integers of 8 bytes, little endian; `batch str FILE` takes a key a line.
//! `bench/peers.py` writes such files, and runs this in each of its rounds.

use std::error::Error;
use std::io::Write;
use std::time::Instant;
use std::{env, fs, io};

use coua::{CuckooFilter, Key};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [kind, file] if kind == "u64" => {
            let bytes = fs::read(file)?;
            let keys = bytes.as_chunks().0.iter().map(|key| u64::from_le_bytes(*key));
            measure(&keys.collect::<Vec<_>>())
        }
        [kind, file] if kind == "str" => {
            let text = fs::read_to_string(file)?;
            measure(&text.lines().collect::<Vec<_>>())
        }
        _ => Err("usage: batch u64|str FILE".into()),
    }
}

/// The two cuckoo filters of `peers.py`, with its names for them and for what is done.
fn measure<K: Key>(keys: &[K]) -> Result<(), Box<dyn Error>> {
    let fixed = CuckooFilter::builder().capacity(keys.len() as u64).rate(0.001).build()?;
    let growing = CuckooFilter::builder().build()?;
    for (name, mut filter) in [("coua in Rust", fixed), ("coua in Rust, growing", growing)] {
        timed(name, "add, array", keys, |keys| filter.insert_unique_batch(keys))??;
        timed(name, "in, array", keys, |keys| filter.contains_batch(keys))?;
        timed(name, "discard, array", keys, |keys| filter.remove_batch(keys))?;
    }
    Ok(())
}

fn timed<K: Key, R>(
    name: &str,
    step: &str,
    keys: &[K],
    work: impl FnOnce(&[K]) -> R,
) -> io::Result<R> {
    let begin = Instant::now();
    let answers = work(keys);
    let nanoseconds = begin.elapsed().as_secs_f64() * 1e9 / keys.len() as f64;
    writeln!(io::stdout(), "{name}\t{step}\t{nanoseconds}")?;
    Ok(answers)
}

//! A full cuckoo filter loses a key that it accepted before: the fingerprint that was kicked out last.
#![expect(clippy::print_stdout, reason = "it shows what it finds")]

use coua_textbook::{CuckooFilter, ParameterError, Shape};

fn main() -> Result<(), ParameterError> {
    let shape = Shape { buckets: 16, slots: 4, fingerprint_bits: 16, max_kicks: 500 };
    let mut seen = CuckooFilter::new(shape)?;
    let mut accepted = Vec::new();
    let refused = loop {
        let key = format!("word {}", accepted.len());
        if !seen.insert(&key) {
            break key;
        }
        accepted.push(key);
    };
    let lost: Vec<_> = accepted.iter().filter(|key| !seen.contains(key)).collect();
    println!("{} keys were accepted in 64 slots; {refused:?} was refused", accepted.len());
    println!("now {lost:?} is lost, and {refused:?} is there: {}", seen.contains(&refused));
    assert_eq!(lost.len(), 1);
    Ok(())
}

//! The first occurrence of every line of a stream, however long it is.

use std::error::Error;

use coua::CuckooFilter;

fn main() -> Result<(), Box<dyn Error>> {
    let lines = "to be or not to be that is the question".split(' ');
    // Keeps 64 bits of every key's hash, and grows.
    let mut seen = CuckooFilter::new();
    let mut first = Vec::new();
    for line in lines {
        if seen.insert_unique(line)?.is_new() {
            first.push(line);
        }
    }
    assert_eq!(first.join(" "), "to be or not that is the question");
    Ok(())
}

//! Equal keys have equal fingerprints, and two buckets of four slots. The ninth has no place, in an empty filter of any
//! size.
#![expect(clippy::print_stdout, reason = "it shows what it finds")]

use coua_textbook::{CuckooFilter, ParameterError, Shape};

fn main() -> Result<(), ParameterError> {
    let mut seen = CuckooFilter::new(Shape::for_items(1_000_000, 0.001)?)?;
    for copy in 1..=9 {
        let is_accepted = seen.insert("kestrel");
        println!("copy {copy}: {}", if is_accepted { "accepted" } else { "refused" });
        assert_eq!(is_accepted, copy <= 8);
    }
    Ok(())
}

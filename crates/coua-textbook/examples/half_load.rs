//! Two tables with one slot for each key fail at half load, although half of the slots are free: some keys kick each
//! other in a circle, and all keys need new slots by new hash functions.
#![expect(clippy::print_stdout, reason = "it shows what it finds")]

use coua_textbook::{CuckooHashSet, ParameterError};

fn main() -> Result<(), ParameterError> {
    let mut seen = CuckooHashSet::new(1000)?;
    let (mut rehashes, mut slots, mut loads) = (0, seen.slots(), Vec::new());
    for key in 0..100_000_u32 {
        let load = seen.load();
        seen.insert(key.to_le_bytes());
        if seen.slots() > slots {
            println!("{key} keys: the tables are doubled at a load of {:.1} %", load * 1e2);
            loads.push(load);
        } else if seen.rehashes() > rehashes {
            println!("{key} keys: new hash functions at a load of {:.1} %", load * 1e2);
        }
        (rehashes, slots) = (seen.rehashes(), seen.slots());
    }
    assert!(loads.iter().all(|load| (0.5..0.6).contains(load)));
    assert!(
        (0..100_000_u32).all(|key| seen.contains(key.to_le_bytes())),
        "whole keys are not lost"
    );
    Ok(())
}

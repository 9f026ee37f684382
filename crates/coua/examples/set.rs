//! A set of a known size that errs at a known rate: which of a million names are taken?

use std::error::Error;

use coua::CuckooFilter;

fn main() -> Result<(), Box<dyn Error>> {
    let mut taken = CuckooFilter::with_capacity(1_000_000, 0.001)?;
    for name in ["ada", "grace", "ada"] {
        taken.insert(name)?;
    }
    assert!(taken.contains("grace") && !taken.contains("edsger"));

    // A key may be there more than once, and goes as often.
    assert_eq!(taken.count("ada"), 2);
    assert!(taken.remove("ada") && taken.remove("ada") && !taken.remove("ada"));
    assert_eq!(taken.len(), 1);

    // Less than 14 bits for each name that there is room for.
    assert!(taken.memory_bytes() < 1_750_000);
    Ok(())
}

//! A filter in a file: written as a whole, read as a whole, or used where it lies.

use std::error::Error;
use std::fs::File;

use coua::{CuckooFilter, Load};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("seen.coua");
    let mut seen = CuckooFilter::new();
    seen.insert_batch(&["ada", "grace"])?;
    // The crate coua-store replaces files so that a crash leaves the old one or the new one.
    seen.write_to(File::create(&path)?)?;

    // Every byte is checked.
    let read: CuckooFilter = Load::new().open(&path)?;
    assert!(read == seen);
    // Opened at once, however large it is: only what is asked for comes into memory.
    let mapped: CuckooFilter = Load::new().map(&path)?;
    assert!(mapped.contains("ada") && !mapped.contains("edsger"));
    Ok(())
}

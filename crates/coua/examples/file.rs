//! A filter in a file: saved as a whole, read as a whole, or used where it lies.

use std::error::Error;

use coua::{CuckooFilter, Load};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("seen.coua");
    let mut seen = CuckooFilter::new();
    seen.insert_batch(&["ada", "grace"])?;
    // At every moment the path is the old file or the new one, whole.
    seen.save_atomically(&path)?;

    // Every byte is checked.
    let read: CuckooFilter = Load::new().open(&path)?;
    assert!(read == seen);
    // Opened at once, however large it is: only what is asked for comes into memory.
    let mapped: CuckooFilter = Load::new().map(&path)?;
    assert!(mapped.contains("ada") && !mapped.contains("edsger"));
    Ok(())
}

//! Writes the snapshots of some filters, natively: the page's tests do the same in WebAssembly and compare the bytes.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{env, fs};

use coua::{CuckooFilter, CuckooFilterBuilder, KeyHasher};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(env::args_os().nth(1).ok_or("the folder to write to is missing")?);
    let new = CuckooFilter::builder;
    write(new().capacity(20_000).rate(0.01), &folder.join("fixed.coua"))?;
    write(new().capacity(100), &folder.join("growing.coua"))?;
    write(new().capacity(300_000).hash_bits(40), &folder.join("large.coua"))?;
    let seeded = new().capacity(1000).hash_bits(40).hasher(KeyHasher::Xxh3 { seed: u64::MAX });
    write(seeded, &folder.join("seeded.coua"))
}

/// The operations: `tests/library.mjs` has them too.
fn write(builder: CuckooFilterBuilder, path: &Path) -> Result<(), Box<dyn Error>> {
    let mut filter = builder.build()?;
    for n in 0..15_000 {
        filter.insert_unique(format!("key-{n}"))?;
    }
    for n in (0..15_000).step_by(3) {
        filter.remove(format!("key-{n}"));
    }
    for _ in 0..20 {
        filter.insert("copies")?;
    }
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes)?;
    fs::write(path, bytes)?;
    Ok(())
}

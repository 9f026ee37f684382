//! Prints the circles of files in a folder of sources: `cargo run -p coua-dev --example knots crates/coua/src`.

use std::io::Write;
use std::path::Path;

use coua_dev::{Graph, Sources};

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for folder in std::env::args().skip(1) {
        for knot in Graph::new(&Sources::read(Path::new(&folder))).knots() {
            writeln!(out, "{folder}: {knot}")?;
        }
    }
    Ok(())
}

//! Files import from the layers below them, and never in a circle. `ARCHITECTURE.md` draws the layers.

mod graph;

use graph::{check, check_circles};

/// From below to above. What stands in one row may not import from each other, but within a folder.
const LAYERS: [&[&str]; 14] = [
    &["hash", "error", "summary", "simd"],
    &["table"],
    &["kernel"],
    &["sizing"],
    &["segments"],
    &["filter"],
    &["builder"],
    &["batch"],
    &["convert"],
    &["merge", "shards", "snapshot"],
    &["shared"],
    &["window", "bloom"],
    &["serde", "inspect", "collect"],
    &["lib"],
];

#[test]
fn imports_point_down_and_form_no_circles() {
    check(&LAYERS);
}

#[test]
fn no_crate_has_circles() {
    for folder in std::fs::read_dir("..").expect("the crates") {
        let source = folder.expect("a crate").path().join("src");
        check_circles(source.to_str().expect("a name"));
    }
}

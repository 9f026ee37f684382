//! `ARCHITECTURE.md` is true: its walks can be walked, in as few files as are stated here, and its tables name what is
//! there. And the files of crates that have no layer test of their own form no circles.

use std::fs;
use std::path::{Path, PathBuf};

use coua_dev::{Layers, Sources, missing_files, walks};

/// The walks, and the most files that each may lead through.
const WALKS: [(&str, usize); 6] = [
    ("an insert of one key", 5),
    ("a lookup", 5),
    ("a batch insert", 12),
    ("a commit", 9),
    ("a record through `coua dedup`", 22),
    ("`CF.ADD`", 10),
];

fn page() -> String {
    fs::read_to_string("../../ARCHITECTURE.md").expect("the map")
}

#[test]
fn the_walks_can_be_walked() {
    let walks = walks(&page());
    let names: Vec<_> = walks.iter().map(|walk| &*walk.name).collect();
    assert_eq!(names, WALKS.map(|(name, _)| name));
    let faults = walks.iter().zip(WALKS).flat_map(|(walk, (_, most))| {
        let folder = Path::new("../..").join(&walk.sources);
        walk.faults(&Sources::read(&folder), most)
    });
    let faults: Vec<_> = faults.collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn the_tables_name_what_is_there() {
    let missing = missing_files(&page(), Path::new("../.."));
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Crates whose own tests look.
const OWN: [&str; 4] = ["coua", "coua-cli", "coua-store", "coua-valkey"];

#[test]
fn files_of_the_other_crates_form_no_circles() {
    let crates =
        fs::read_dir("..").expect("the crates").map(|entry| entry.expect("a crate").path());
    for path in crates.chain([PathBuf::from("../../web")]) {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        if !OWN.contains(&&*name) {
            Layers { rows: &[], known: &[] }.check(path.join("src").to_str().expect("a name"));
        }
    }
}

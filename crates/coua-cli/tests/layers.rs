//! Files depend only on the layers below them, without cycles, and names are unique. `ARCHITECTURE.md` draws the
//! layers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use coua_dev::{check_layers, check_names};

/// The only files that know the command line.
const WITH_CLAP: [&str; 3] = ["args/mod.rs", "commands", "main.rs"];

/// Lowest layer first. Files in one row do not depend on each other, except within a folder.
const ROWS: [&[&str]; 15] = [
    &["platform"],
    &["terminal"],
    &["clock"],
    &["runs"],
    &["record"],
    &["key"],
    &["input"],
    &["output"],
    &["pipeline"],
    &["filter"],
    &["resume"],
    &["run"],
    &["args"],
    &["commands"],
    &["main"],
];

#[test]
fn files_depend_on_lower_layers_and_form_no_circles() {
    check_layers("src", &ROWS);
}

#[test]
fn a_name_stands_once() {
    check_names("src", &[]);
}

#[test]
fn only_the_command_line_knows_its_parser() {
    let (mut read, mut found) = (0, BTreeSet::new());
    let mut folders = vec![Path::new("src").to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            read += 1;
            if fs::read_to_string(&path).expect("a source file").contains("clap") {
                let place = WITH_CLAP.iter().find(|it| path.starts_with(Path::new("src").join(it)));
                found.insert(*place.unwrap_or_else(|| panic!("{} names clap", path.display())));
            }
        }
    }
    assert!(read > 60, "{read}");
    assert_eq!(found, BTreeSet::from(WITH_CLAP), "files that no longer need it");
}

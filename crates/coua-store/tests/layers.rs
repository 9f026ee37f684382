//! Files depend on each other in no circle, but those that are known, and a name stands once.

use coua_dev::{Layers, check_names};

/// Dependencies that are still to be turned round.
const KNOWN: [(&str, &str); 5] = [
    ("checkpoint/write", "checkpoint/background"),
    ("error", "notes"),
    ("memory", "store/options"),
    ("store", "store/open"),
    ("store/shards", "store/change"),
];

/// Names that still stand twice.
const TWICE: [&str; 2] = ["Missing", "write"];

#[test]
fn files_form_no_circles() {
    Layers { rows: &[], known: &KNOWN }.check("src");
}

#[test]
fn a_name_stands_once() {
    check_names("src", &TWICE);
}

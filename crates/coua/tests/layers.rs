//! Files depend on the layers below them, and never in a circle, and a name stands once. `ARCHITECTURE.md` draws the
//! layers.

use coua_dev::{check_layers, check_names};

/// From below to above. What stands in one row may not depend on each other, but within a folder.
const ROWS: [&[&str]; 15] = [
    &["hash", "error", "summary", "simd"],
    &["table"],
    &["kernel"],
    &["sizing"],
    &["segments"],
    &["filter"],
    &["builder"],
    &["batch"],
    &["verbs"],
    &["convert"],
    &["merge", "shards", "snapshot"],
    &["shared"],
    &["window"],
    &["serde", "inspect", "collect"],
    &["lib"],
];

/// Names that still stand twice.
const TWICE: [&str; 10] = [
    "Place", "batch", "describe", "error", "insert", "lookup", "merge", "remove", "split", "table",
];

#[test]
fn files_depend_on_lower_layers_and_form_no_circles() {
    check_layers("src", &ROWS);
}

#[test]
fn a_name_stands_once() {
    check_names("src", &TWICE);
}

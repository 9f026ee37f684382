//! Files depend on the layers below them, and never in a circle, and a name stands once. `ARCHITECTURE.md` draws the
//! layers.

use coua_dev::{Layers, check_names};

/// From below to above. What stands in one row does not depend on each other, but within a folder.
const ROWS: [&[&str]; 10] = [
    &["error", "requirements", "growth"],
    &["fs"],
    &["memory"],
    &["log"],
    &["notes"],
    &["recover"],
    &["inspect", "checkpoint"],
    &["verify"],
    &["store"],
    &["lib"],
];

/// Not a dependency: the library's `Load` has a method `key` as `Options` has.
const KNOWN: [(&str, &str); 2] = [("memory", "store/options"), ("recover", "store/options")];

/// Names that still stand twice.
const TWICE: [&str; 2] = ["Missing", "write"];

#[test]
fn files_depend_on_lower_layers_and_form_no_circles() {
    Layers { rows: &ROWS, known: &KNOWN }.check("src");
}

#[test]
fn a_name_stands_once() {
    check_names("src", &TWICE);
}

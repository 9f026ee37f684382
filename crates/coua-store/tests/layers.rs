//! Files depend only on the layers below them, without cycles, and names are unique. `ARCHITECTURE.md` draws the
//! layers.

use coua_dev::{Layers, check_names};

/// Lowest layer first. Files in one row do not depend on each other, except within a folder.
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

/// Not a dependency: the library's `Load` has a method `key`, as `Options` has.
const KNOWN: [(&str, &str); 2] = [("memory", "store/options"), ("recover", "store/options")];

/// Names that still occur twice.
const TWICE: [&str; 2] = ["Missing", "write"];

#[test]
fn files_depend_on_lower_layers_and_form_no_circles() {
    Layers { rows: &ROWS, known: &KNOWN }.check("src");
}

#[test]
fn a_name_stands_once() {
    check_names("src", &TWICE);
}

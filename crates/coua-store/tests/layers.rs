//! Files depend only on the layers below them, without cycles, and names are unique. `ARCHITECTURE.md` draws the
//! layers.

use coua_dev::{check_layers, check_names};

/// Lowest layer first. Files in one row do not depend on each other, except within a folder.
const ROWS: [&[&str]; 11] = [
    &["error", "requirements", "growth"],
    &["fs"],
    &["memory"],
    &["log"],
    &["notes"],
    &["reader"],
    &["recover"],
    &["checkpoint"],
    &["verify"],
    &["store"],
    &["lib"],
];

/// Names that occur twice.
const TWICE: [&str; 1] = ["write"];

#[test]
fn files_depend_on_lower_layers_and_form_no_circles() {
    check_layers("src", &ROWS);
}

#[test]
fn a_name_stands_once() {
    check_names("src", &TWICE);
}

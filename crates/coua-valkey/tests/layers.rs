//! Files depend on the layers below them, and never in a circle, and a name stands once: RedisBloom's layout; errors and
//! words; the server's interface; the module's own filters; values; commands; the module.

use coua_dev::{check_layers, check_names};

/// From below to above. What stands in one row does not depend on each other.
const ROWS: [&[&str]; 9] = [
    &["redisbloom"],
    &["error"],
    &["parse"],
    &["server"],
    &["settings"],
    &["cuckoo"],
    &["value"],
    &["commands", "harness"],
    &["lib"],
];

#[test]
fn files_depend_on_lower_layers_and_form_no_circles() {
    check_layers("src", &ROWS);
}

#[test]
fn a_name_stands_once() {
    check_names("src", &[]);
}

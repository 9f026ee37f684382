//! Files depend on the layers below them, and never in a circle, and a name stands once: RedisBloom's layouts; errors and words;
//! the server's interface; values; the two families of filters, which do not know each other; the module.

use coua_dev::{Layers, check_names};

/// From below to above. What stands in one row does not depend on each other.
const ROWS: [&[&str]; 8] = [
    &["redisbloom"],
    &["error"],
    &["parse"],
    &["server"],
    &["settings"],
    &["value"],
    &["cuckoo", "bloom"],
    &["harness", "lib"],
];

/// Dependencies that are still to be turned round.
const KNOWN: [(&str, &str); 0] = [];

#[test]
fn files_depend_on_lower_layers_and_form_no_circles() {
    Layers { rows: &ROWS, known: &KNOWN }.check("src");
}

#[test]
fn a_name_stands_once() {
    check_names("src", &[]);
}

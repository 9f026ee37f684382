//! Files import from the layers below them, and never in a circle: words and the server's interface; values; the
//! two families of filters, which do not know each other; the module.

#[path = "../../coua/tests/layers/graph.rs"]
mod graph;

use graph::check;

/// From below to above. What stands in one row does not import from each other.
const LAYERS: [&[&str]; 7] = [
    &["refusal", "pieces", "counters"],
    &["reply", "parse"],
    &["server"],
    &["settings"],
    &["value"],
    &["cuckoo", "bloom"],
    &["module", "lib"],
];

#[test]
fn imports_point_down_and_form_no_circles() {
    check(&LAYERS);
}

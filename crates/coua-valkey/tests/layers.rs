//! Files import from the layers below them, and never in a circle: words and the server's interface; values; the
//! two families of filters, which do not know each other; the module.

#[path = "../../coua/tests/layers/graph.rs"]
mod graph;

use graph::{circles, imports_in};

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

fn layer(module: &str) -> usize {
    let top = module.split("::").next().unwrap_or_default();
    let layer = LAYERS.iter().position(|names| names.contains(&top));
    layer.unwrap_or_else(|| panic!("{module} is in no layer"))
}

#[test]
fn imports_point_down_and_form_no_circles() {
    let all = imports_in("src");
    assert!(all.len() > 50, "{:?}", all.keys());
    let top = |module: &str| module.split("::").next().map(str::to_owned);
    let is_wrong = |module: &str, other: &str| {
        layer(other) > layer(module) || layer(other) == layer(module) && top(other) != top(module)
    };
    let mut wrong = Vec::new();
    for (module, used) in &all {
        let upward = used.iter().filter(|other| is_wrong(module, other));
        wrong.extend(upward.map(|other| format!("{module} imports from {other}")));
    }
    let circles = circles(all);
    assert!(wrong.is_empty() && circles.is_empty(), "{wrong:#?} circles: {circles:#?}");
}

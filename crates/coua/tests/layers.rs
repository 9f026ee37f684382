//! Files import from the layers below them, and never in a circle. `ARCHITECTURE.md` draws the layers.

#[path = "layers/graph.rs"]
mod graph;

use graph::{circles, imports_in};

/// From below to above. What stands in one row may not import from each other, but within a folder.
const LAYERS: [&[&str]; 12] = [
    &["hash", "error", "summary"],
    &["table", "bloom::error"],
    &["kernel"],
    &["sizing"],
    &["cuckoo"],
    &["builder"],
    &["batch"],
    &["convert"],
    &["merge", "build", "shared", "snapshot"],
    &["window", "bloom"],
    &["serde", "inspect"],
    &["lib"],
];

fn layer(module: &str) -> usize {
    let is_in = |name: &&str| module == *name || module.starts_with(&format!("{name}::"));
    let rows = LAYERS.iter().enumerate();
    let found = rows.filter_map(|(row, names)| {
        names.iter().filter(|name| is_in(name)).map(|name| (name.len(), row)).max()
    });
    found.max().unwrap_or_else(|| panic!("{module} is in no layer")).1
}

#[test]
fn imports_point_down_and_form_no_circles() {
    let all = imports_in("src");
    assert!(all.len() > 50, "{:?}", all.keys());
    let top = |module: &str| module.split("::").next().map(str::to_owned);
    let is_wrong = |module: &str, other: &str| {
        let (below, own) = (layer(other), layer(module));
        below > own || below == own && top(other) != top(module)
    };
    let mut wrong = Vec::new();
    for (module, used) in &all {
        let upward = used.iter().filter(|other| is_wrong(module, other));
        wrong.extend(upward.map(|other| format!("{module} imports from {other}")));
    }
    let circles = circles(all);
    assert!(wrong.is_empty() && circles.is_empty(), "{wrong:#?} circles: {circles:#?}");
}

//! Files import from the layers below them, and never in a circle. `ARCHITECTURE.md` draws the layers.

use std::fs;
use std::path::Path;

#[path = "../../coua/tests/layers/graph.rs"]
mod graph;

/// From below to above. What stands in one row does not import from each other, but within a folder.
const LAYERS: [&[&str]; 14] = [
    &["platform"],
    &["terminal"],
    &["clock"],
    &["record"],
    &["key"],
    &["input"],
    &["output"],
    &["pipeline"],
    &["target"],
    &["resume"],
    &["run"],
    &["commands"],
    &["cli"],
    &["main"],
];

#[test]
fn imports_point_down_and_form_no_circles() {
    graph::check(&LAYERS);
}

#[test]
fn only_the_command_line_knows_its_parser() {
    let mut asked = 0;
    let mut folders = vec![Path::new("src").to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the sources") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && !path.ends_with("cli") {
                folders.push(path);
            } else if path.is_file() {
                let text = fs::read_to_string(&path).expect("a source file");
                assert!(!text.contains("clap"), "{} names clap", path.display());
                asked += 1;
            }
        }
    }
    assert!(asked > 60, "{asked}");
}

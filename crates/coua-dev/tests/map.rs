//! `ARCHITECTURE.md` names files and functions that exist, and files of crates without rows form no cycles.

use std::fs;
use std::path::{Path, PathBuf};

use coua_dev::check_layers;

/// For each line of the page: the crate's sources named by the nearest heading above, and the line.
fn lines(page: &str) -> impl Iterator<Item = (PathBuf, &str)> {
    let mut sources = "";
    page.lines().map(move |line| {
        if line.starts_with("## ") || line.starts_with("### ") {
            sources = code(line).find(|it| it.starts_with("crates/")).unwrap_or("");
        }
        (Path::new("../..").join(sources), line)
    })
}

/// The texts between backticks.
fn code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn page() -> String {
    fs::read_to_string("../../ARCHITECTURE.md").expect("ARCHITECTURE.md")
}

#[test]
fn the_steps_of_the_walks_exist() {
    let page = page();
    let steps = lines(&page).flat_map(|(sources, line)| {
        let named = code(line).filter_map(|it| it.split_once(".rs::"));
        named.map(move |(file, function)| (sources.join(format!("{file}.rs")), function))
    });
    let mut count = 0;
    for (path, function) in steps {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let name = function.rsplit("::").next().unwrap_or(function);
        let is_there =
            [format!("fn {name}("), format!("fn {name}<")].iter().any(|it| text.contains(it));
        assert!(is_there, "{} has no function {name}", path.display());
        count += 1;
    }
    assert!(count > 40, "{count} steps");
}

/// In the tables of a crate, the first column names modules.
#[test]
fn the_modules_of_the_tables_exist() {
    let page = page();
    let mut count = 0;
    for (sources, line) in lines(&page).filter(|(sources, _)| sources != Path::new("../..")) {
        let Some(first) = line.strip_prefix('|').and_then(|row| row.split('|').next()) else {
            continue;
        };
        for module in code(first) {
            let path = sources.join(module);
            assert!(
                path.exists() || path.with_extension("rs").exists(),
                "{} is missing",
                path.display()
            );
            count += 1;
        }
    }
    assert!(count > 40, "{count} modules");
}

/// Crates whose own tests check their layers.
const OWN: [&str; 4] = ["coua", "coua-cli", "coua-store", "coua-valkey"];

#[test]
fn files_of_the_other_crates_form_no_cycles() {
    let crates =
        fs::read_dir("..").expect("the crates").map(|entry| entry.expect("a crate").path());
    for path in crates.chain([PathBuf::from("../../web")]) {
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        if !OWN.contains(&&*name) {
            check_layers(path.join("src").to_str().expect("a name"), &[]);
        }
    }
}

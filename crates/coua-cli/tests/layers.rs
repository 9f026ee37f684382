//! Files import from the layers below them, and never in a circle. `ARCHITECTURE.md` draws the layers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// From below to above. What stands in one row does not import from each other, but within a folder.
const LAYERS: [&[&str]; 13] = [
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
];

/// The modules with the paths that each of them names after `crate::` or `super::`, unit tests aside.
fn imports(folder: &Path, name: &str, all: &mut BTreeMap<String, BTreeSet<String>>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let child = if name.is_empty() { stem.to_owned() } else { format!("{name}::{stem}") };
        if path.is_dir() {
            imports(&path, &child, all);
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source file");
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let module = if stem == "mod" { name.to_owned() } else { child };
        let up = module.rsplit_once("::").map_or(String::new(), |(up, _)| format!("{up}::"));
        let statements = code.split("\nuse ").skip(1).filter_map(|it| it.split_once(';'));
        let paths = statements.flat_map(|(statement, _)| names(statement));
        let used = paths.filter_map(|path| {
            let of_crate = path.strip_prefix("crate::").map(str::to_owned);
            of_crate.or_else(|| path.strip_prefix("super::").map(|rest| format!("{up}{rest}")))
        });
        all.insert(module, used.collect());
    }
}

/// The paths in a `use`, of which only the last part may be a list.
fn names(statement: &str) -> Vec<String> {
    let statement: String = statement.split_whitespace().collect();
    match statement.split_once("::{") {
        Some((base, list)) => {
            list.trim_end_matches('}').split(',').map(|name| format!("{base}::{name}")).collect()
        }
        None => vec![statement],
    }
}

/// The module that a path names, or in which it names something.
fn module_of<'a>(path: &str, all: &'a BTreeMap<String, BTreeSet<String>>) -> Option<&'a str> {
    let mut path = path.trim_end_matches("::self");
    loop {
        if let Some((module, _)) = all.get_key_value(path) {
            return Some(module);
        }
        (path, _) = path.rsplit_once("::")?;
    }
}

fn layer(module: &str) -> usize {
    let top = module.split("::").next().unwrap_or_default();
    LAYERS
        .iter()
        .position(|row| row.contains(&top))
        .unwrap_or_else(|| panic!("{module} is in no layer"))
}

#[test]
fn imports_point_down_and_form_no_circles() {
    let mut all = BTreeMap::new();
    imports(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), "", &mut all);
    all.remove("main");
    assert!(all.len() > 60, "{:?}", all.keys());
    let top = |module: &str| module.split("::").next().unwrap_or_default().to_owned();
    let (mut below, mut wrong) = (BTreeMap::new(), Vec::new());
    for (module, paths) in &all {
        let used = paths.iter().filter_map(|path| module_of(path, &all)).filter(|it| it != module);
        let used: BTreeSet<&str> = used.collect();
        let is_upward = |other: &&&str| layer(other) >= layer(module) && top(other) != top(module);
        wrong
            .extend(used.iter().filter(is_upward).map(|other| format!("{module} imports {other}")));
        below.insert(module.as_str(), used);
    }
    // A folder's own module only lists its files for others: what the files import of it is no circle of files.
    // What imports only from modules that are done is done; what never is lies on a circle, or above one.
    let mut done = BTreeSet::new();
    while let Some((&module, _)) = below
        .iter()
        .find(|(module, used)| !done.contains(*module) && used.iter().all(|it| done.contains(it)))
    {
        done.insert(module);
    }
    below.retain(|module, used| {
        used.retain(|other| !done.contains(other));
        !done.contains(module)
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(below.is_empty(), "circles: {below:#?}");
}

#[test]
fn only_the_command_line_knows_its_parser() {
    let mut all = BTreeMap::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    imports(&source, "", &mut all);
    for module in all.keys().filter(|module| top_is_not_cli(module)) {
        let path = source.join(module.replace("::", "/"));
        let text = fs::read_to_string(path.with_extension("rs"))
            .or_else(|_| fs::read_to_string(path.join("mod.rs")))
            .expect("a source file");
        assert!(!text.contains("clap"), "{module} names clap");
    }
}

fn top_is_not_cli(module: &str) -> bool {
    module.split("::").next() != Some("cli")
}

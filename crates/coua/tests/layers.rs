//! Files import from the layers below them, and never in a circle. `ARCHITECTURE.md` draws the layers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// From below to above. What stands in one row may not import from each other, but within a folder.
const LAYERS: [&[&str]; 12] = [
    &["hash", "error", "bloom::error", "snapshot::version"],
    &["table"],
    &["kernel"],
    &["sizing"],
    &["cuckoo"],
    &["builder"],
    &["batch"],
    &["convert"],
    &["merge", "build", "shared", "snapshot", "inspect"],
    &["window", "bloom"],
    &["serde", "inspect_file"],
    &["lib"],
];

/// The source files by module, without their unit tests.
fn modules(folder: &Path, name: &str, all: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let child = if name.is_empty() { stem.to_owned() } else { format!("{name}::{stem}") };
        if path.is_dir() {
            modules(&path, &child, all);
        } else if !["examples", "no_avx512", "smoke"].contains(&stem) {
            let text = fs::read_to_string(&path).expect("a source file");
            let code = text.split("\n#[cfg(test)]\n").next().unwrap_or_default().to_owned();
            all.insert(if stem == "mod" { name.to_owned() } else { child }, code);
        }
    }
}

/// The paths that a module imports. What it exports again with `pub use` it does not use itself.
fn imports(module: &str, code: &str) -> Vec<String> {
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let statements = code.split("\nuse ").skip(1).filter_map(|it| it.split_once(';'));
    let paths = statements.flat_map(|(path, _)| {
        let path: String = path.split_whitespace().collect();
        match path.split_once("::{") {
            Some((base, list)) => {
                let names = list.trim_end_matches('}').split(',');
                names.map(|name| format!("{base}::{name}")).collect::<Vec<_>>()
            }
            None => vec![path],
        }
    });
    let absolute = paths.filter_map(|path| match path.split_once("::") {
        Some(("crate", path)) => Some(path.to_owned()),
        Some(("super", path)) => Some(format!("{parent}::{path}")),
        Some((child, _)) if code.contains(&format!("mod {child};")) => {
            Some(format!("{module}::{path}"))
        }
        _ => None,
    });
    absolute.collect()
}

/// The module that a path names, or in which it names something; `lib` for the crate's root.
fn module_of<'a>(path: &str, all: &'a BTreeMap<String, String>) -> &'a str {
    let mut path = path;
    loop {
        if let Some((module, _)) = all.get_key_value(path) {
            return module;
        }
        match path.rsplit_once("::") {
            Some((parent, _)) => path = parent,
            None => return "lib",
        }
    }
}

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
    let mut all = BTreeMap::new();
    modules(Path::new("src"), "", &mut all);
    assert!(all.len() > 50, "{:?}", all.keys());
    let (mut below, mut wrong) = (BTreeMap::new(), Vec::new());
    for (module, code) in &all {
        let imported = imports(module, code);
        let used: BTreeSet<_> = imported.iter().map(|path| module_of(path, &all)).collect();
        let top = |module: &str| module.split("::").next().map(str::to_owned);
        wrong.extend(
            used.iter()
                .filter(|other| {
                    layer(other) > layer(module)
                        || layer(other) == layer(module) && top(other) != top(module)
                })
                .map(|other| format!("{module} imports from {other}")),
        );
        below.insert(module.as_str(), used);
    }
    // What imports only from modules that are done is done; what never is lies on a circle, or above one.
    let mut done = BTreeSet::new();
    while let Some((&module, _)) = below.iter().find(|(module, used)| {
        !done.contains(**module)
            && used.iter().all(|other| other == *module || done.contains(other))
    }) {
        done.insert(module);
    }
    below.retain(|module, used| {
        used.retain(|other| !done.contains(other));
        !done.contains(module)
    });
    assert!(wrong.is_empty() && below.is_empty(), "{wrong:#?} circles: {below:#?}");
}

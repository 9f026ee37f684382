//! Which source file of a crate imports from which, and whether it may.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The modules from which each module imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Fails if a file in `src` imports from a row after its own, or from another folder of its row, or if files import
/// each other in a circle. The rows are from below to above; a name stands for all that is in it.
pub(crate) fn check(rows: &[&[&str]]) {
    let all = imports_in("src");
    let row = |module: &str| {
        let is_in = |name: &&str| module == *name || module.starts_with(&format!("{name}::"));
        let found = rows.iter().enumerate().filter_map(|(row, names)| {
            names.iter().filter(|name| is_in(name)).map(|name| (name.len(), row)).max()
        });
        found.max().unwrap_or_else(|| panic!("{module} is in no row")).1
    };
    let top = |module: &str| module.split("::").next().map(str::to_owned);
    let is_wrong = |module: &str, other: &str| {
        row(other) > row(module) || row(other) == row(module) && top(other) != top(module)
    };
    let mut wrong = Vec::new();
    for (module, used) in &all {
        let upward = used.iter().filter(|other| is_wrong(module, other));
        wrong.extend(upward.map(|other| format!("{module} imports from {other}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    check_circles("src");
}

/// Fails if files of a folder import each other in a circle.
pub(crate) fn check_circles(folder: &str) {
    let circles = circles(imports_in(folder));
    assert!(circles.is_empty(), "{folder}: circles: {circles:#?}");
}

/// Of the source files in a folder.
fn imports_in(folder: &str) -> Imports {
    let mut all = BTreeMap::new();
    modules(Path::new(folder), "", &mut all);
    let used = |(module, code): (&String, &String)| {
        let paths = imports(module, code);
        let used = paths.iter().map(|path| module_of(path, &all).to_owned()).collect();
        (module.clone(), used)
    };
    assert!(!all.is_empty(), "{folder} has no sources");
    all.iter().map(used).collect()
}

/// What lies on a circle, or between two. Again and again, modules are left out that import from none of the
/// others, or from which none of them imports.
fn circles(mut all: Imports) -> Imports {
    loop {
        let used: BTreeSet<_> = all
            .iter()
            .flat_map(|(module, used)| used.iter().filter(move |&other| other != module))
            .cloned()
            .collect();
        let modules = all.len();
        let left: BTreeSet<_> = all.keys().cloned().collect();
        all.retain(|module, others| {
            others.retain(|other| other != module && left.contains(other));
            !others.is_empty() && used.contains(module)
        });
        if all.len() == modules {
            return all;
        }
    }
}

/// The source files by module, without their unit tests.
fn modules(folder: &Path, name: &str, all: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("an entry").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let child = if name.is_empty() { stem.to_owned() } else { format!("{name}::{stem}") };
        if path.is_dir() {
            modules(&path, &child, all);
        } else if !["examples", "smoke", "tests"].contains(&stem) {
            let text = fs::read_to_string(&path).expect("a source file");
            let tests = text.find("mod tests {").unwrap_or(text.len());
            let code = text[..tests].to_owned();
            all.insert(if stem == "mod" { name.to_owned() } else { child }, code);
        }
    }
}

/// The paths that a module imports. What it exports again with `pub use` it does not use itself.
fn imports(module: &str, code: &str) -> Vec<String> {
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
    let absolute = paths.filter_map(|path| {
        if let Some(path) = path.strip_prefix("crate::") {
            return Some(path.to_owned());
        }
        let (mut up, mut rest) = (module, &*path);
        while let Some(path) = rest.strip_prefix("super::") {
            (up, _) = up.rsplit_once("::").unwrap_or_default();
            rest = path;
        }
        let (child, _) = rest.split_once("::").unwrap_or_default();
        let is_here = rest.len() < path.len() || code.contains(&format!("mod {child};"));
        is_here.then(|| format!("{up}::{rest}").trim_start_matches("::").to_owned())
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

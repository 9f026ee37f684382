//! Which source file of a crate imports from which.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The modules from which each module imports.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

/// Of the source files in a folder.
pub(crate) fn imports_in(folder: &str) -> Imports {
    let mut all = BTreeMap::new();
    modules(Path::new(folder), "", &mut all);
    let used = |(module, code): (&String, &String)| {
        let paths = imports(module, code);
        let used = paths.iter().map(|path| module_of(path, &all).to_owned()).collect();
        (module.clone(), used)
    };
    all.iter().map(used).collect()
}

/// What lies on a circle, or above one: what imports only from modules that are done is done, and the others
/// are left.
pub(crate) fn circles(mut below: Imports) -> Imports {
    let mut done = BTreeSet::new();
    let is_done = |done: &BTreeSet<String>, module: &String, used: &BTreeSet<String>| {
        used.iter().all(|other| other == module || done.contains(other))
    };
    while let Some((module, _)) =
        below.iter().find(|(module, used)| !done.contains(*module) && is_done(&done, module, used))
    {
        done.insert(module.clone());
    }
    below.retain(|module, used| {
        used.retain(|other| !done.contains(other));
        !done.contains(module)
    });
    below
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

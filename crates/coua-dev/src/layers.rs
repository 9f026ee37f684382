//! Which files use which, by the paths that they write: in `use`, and in code behind `crate::` or `super::`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::paths::{Modules, imports, inline_paths};
use crate::sources::{Sources, read};

/// Fails unless the files of the crate in `folder` depend only on the `rows` below theirs (lowest row first) or on
/// files of their own top folder, and never in a cycle. A row names files or folders. Without rows, only cycles fail.
///
/// # Panics
///
/// If a file breaks these rules or is in no row, or if a row names no file.
pub fn check_layers(folder: &str, rows: &[&[&str]]) {
    let faults = faults(&read(Path::new(folder)), rows);
    assert!(faults.is_empty(), "{folder}:\n{}", faults.join("\n"));
}

/// The files that each file uses.
type Uses<'a> = BTreeMap<&'a str, BTreeSet<&'a str>>;

fn faults(sources: &Sources, rows: &[&[&str]]) -> Vec<String> {
    let uses = uses(sources);
    let mut faults = Vec::new();
    for name in rows.iter().copied().flatten() {
        if !sources.keys().any(|file| is_in(file, name)) {
            faults.push(format!("{name} is in a row, but is no file"));
        }
    }
    let row = |file: &str| {
        let found = rows.iter().position(|names| names.iter().any(|name| is_in(file, name)));
        found.unwrap_or_else(|| panic!("{file} is in no row"))
    };
    let top = |file: &str| file.split('/').next().map(str::to_owned);
    for (from, used) in &uses {
        for to in used.iter().filter(|to| !rows.is_empty() && top(from) != top(to)) {
            if row(to) >= row(from) {
                faults.push(format!("{from} uses {to}, which is not below"));
            }
        }
        if reached(&uses, from).contains(from) {
            faults.push(format!("in a cycle: {from}, which uses {used:?}"));
        }
    }
    faults
}

/// Whether a file has this name or is in the folder of this name.
fn is_in(file: &str, name: &str) -> bool {
    file.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// All files that a file uses, directly or through others.
fn reached<'a>(uses: &Uses<'a>, file: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<_> = uses[file].iter().copied().collect();
    while let Some(file) = next.pop() {
        if reached.insert(file) {
            next.extend(&uses[file]);
        }
    }
    reached
}

fn uses(sources: &Sources) -> Uses<'_> {
    let modules = Modules(sources);
    let used = |file: &str, text: &str| {
        let paths = imports(text).into_iter().chain(inline_paths(text));
        paths.filter_map(|path| modules.file(file, &path)).filter(|it| *it != file).collect()
    };
    sources.iter().map(|(file, text)| (&**file, used(file, text))).collect()
}

#[cfg(test)]
mod tests {
    use super::faults;
    use crate::sources::Sources;

    fn found(files: &[(&str, &str)], rows: &[&[&str]]) -> Vec<String> {
        let sources = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        faults(&sources.collect::<Sources>(), rows)
    }

    /// `low` writes the path; `high` is above.
    fn upward(path: &str) -> Vec<String> {
        let files = [
            ("lib", "mod low;\nmod high;\npub use high::Top;"),
            ("low/mod", path),
            ("high", "mod inner;\npub(crate) use inner::Deep; pub struct Top;"),
            ("high/inner", "pub struct Deep;"),
        ];
        let files = files.map(|(name, text)| (name.trim_end_matches("/mod"), text));
        found(&files, &[&["low"], &["high"], &["lib"]])
    }

    #[test]
    fn paths_to_files_above_are_faults() {
        for path in [
            "use crate::high::Top;",
            "use crate::{high::{self, inner::Deep}};",
            "pub(crate) use super::high::Top as Other;",
            "fn run() { crate::high::run(); }",
        ] {
            let is_export = path.starts_with("pub");
            let is_fault = upward(path).contains(&"low uses high, which is not below".to_owned());
            assert_eq!(is_fault, !is_export, "{path}: {:?}", upward(path));
        }
        assert_eq!(
            upward("use crate::high::inner::{Deep as Other};"),
            ["low uses high/inner, which is not below"]
        );
        assert_eq!(upward("pub(in crate::high) fn run() { \"high::run\"; }"), [""; 0]);
    }

    #[test]
    fn files_that_use_each_other_form_a_cycle() {
        let files = [
            ("lib", "mod filter;"),
            ("filter", "mod grow;\nuse grow::Grown;\npub struct Filter;"),
            ("filter/grow", "use super::Filter;\npub struct Grown;"),
        ];
        let cycles = found(&files, &[&["filter"], &["lib"]]);
        assert_eq!(cycles[0], "in a cycle: filter, which uses {\"filter/grow\"}");
        assert_eq!(cycles.len(), 2);
        assert_eq!(
            found(&files[..1], &[&["lib"], &["gone"]]),
            ["gone is in a row, but is no file"]
        );
    }
}

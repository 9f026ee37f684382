//! Checks that a name belongs to one type or file of a crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::sources::{Sources, read};

/// Fails unless exactly the `known` names belong to several types, or to several files, of the crate in `folder`. A
/// file may define a type several times, for different systems.
///
/// # Panics
///
/// If a name that is not known occurs twice, or a known one once.
pub fn check_names(folder: &str, known: &[&str]) {
    let faults = faults(&read(Path::new(folder)), known);
    assert!(faults.is_empty(), "{folder}:\n{}", faults.join("\n"));
}

fn faults(sources: &Sources, known: &[&str]) -> Vec<String> {
    let mut places: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in sources {
        let stem = file.rsplit('/').next().unwrap_or(file);
        places.entry(stem).or_default().insert(format!("the file {file}"));
        for name in text.lines().filter_map(defined_type) {
            places.entry(name).or_default().insert(format!("a type in {file}"));
        }
    }
    let mut faults = Vec::new();
    for (name, places) in places.iter().filter(|(name, it)| it.len() > 1 && !known.contains(name)) {
        faults.push(format!("{name}: {places:?}"));
    }
    let is_once = |name: &&&str| places.get(**name).is_none_or(|it| it.len() < 2);
    faults.extend(
        known.iter().filter(is_once).map(|name| format!("{name} is known, and occurs once")),
    );
    faults
}

/// The name of the type that a line at the left margin defines.
fn defined_type(line: &str) -> Option<&str> {
    let after = |keyword: &str| {
        let (before, rest) = line.split_once(keyword)?;
        (before.is_empty() || before.starts_with("pub") && before.ends_with(' ')).then_some(rest)
    };
    let rest = ["struct ", "enum ", "trait ", "type ", "union "].into_iter().find_map(after)?;
    rest.split(|it: char| !it.is_alphanumeric() && it != '_').next()
}

#[cfg(test)]
mod tests {
    use super::faults;
    use crate::sources::Sources;

    #[test]
    fn names_that_occur_twice_are_found() {
        let files = [
            (
                "lib",
                "#[cfg(x)]\nstruct Here;\n#[cfg(not(x))]\nstruct Here;\nimpl Here {\n    type Row = u8;\n}",
            ),
            ("a", "pub(crate) struct Row<T>(T);"),
            ("a/error", "enum Kind {}"),
            ("b", "type Row = u8;"),
            ("b/error", "pub trait Kind {}"),
        ];
        let sources = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let sources = Sources::from(sources);
        assert_eq!(
            faults(&sources, &["error", "Kind"]),
            ["Row: {\"a type in a\", \"a type in b\"}"]
        );
        let all = ["error", "Kind", "Row", "Here"];
        assert_eq!(faults(&sources, &all), ["Here is known, and occurs once"]);
    }
}

//! Checks for duplicate names: names that a crate gives to several types or files.

use std::collections::BTreeMap;
use std::path::Path;

use crate::index::Index;
use crate::source::Sources;

/// Fails unless exactly the `known` names belong to several types, or to several files, of the sources in `folder`. A
/// type may have the same name in the files of several systems.
///
/// # Panics
///
/// If a name that is not known occurs twice, or a known one once.
pub fn check_names(folder: &str, known: &[&str]) {
    let faults = name_faults(&Sources::read(Path::new(folder)), known);
    assert!(faults.is_empty(), "{folder}:\n{}", faults.join("\n"));
}

/// The duplicate names, as messages.
pub fn name_faults(sources: &Sources, known: &[&str]) -> Vec<String> {
    let index = Index::new(sources);
    let mut all: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for it in &index.types {
        let place = format!("a type in {}", sources.files[it.file]);
        let places = all.entry(&it.name).or_default();
        // Definitions in one file are for different features.
        if !places.contains(&place) {
            places.push(place);
        }
    }
    for file in &sources.files {
        let stem = file.rsplit('/').next().unwrap_or(file);
        all.entry(stem).or_default().push(format!("the file {file}"));
    }
    let is_known = |name: &str| known.contains(&name);
    let twice = all.iter().filter(|(name, places)| places.len() > 1 && !is_known(name));
    let mut faults: Vec<_> =
        twice.map(|(name, places)| format!("{name}: {}", places.join(", "))).collect();
    let once = known.iter().filter(|name| all.get(**name).is_none_or(|places| places.len() < 2));
    faults.extend(once.map(|name| format!("{name} is known, and stands once")));
    faults
}

//! `coua merge`.

use super::check_files;
use crate::filter::{FilterFile, NoRoom, Secret, WriteOptions, filter_file};
use crate::key::KeySpec;
use crate::resume;
use crate::runs::{Runs, others};
use crate::terminal::{Failure, Progress, Result, Verbosity};
use coua::MergeError;
use coua_store::{Notes as FilterNotes, View};
use std::path::{Path, PathBuf};

/// Writes the union of several filter files.
pub(crate) fn run(
    files: &[PathBuf],
    to: &Path,
    secret: &Secret,
    options: WriteOptions,
    progress: &Progress,
) -> Result<()> {
    check_files(secret, files.iter().map(PathBuf::as_path), Some(to))?;
    let output = FilterFile::lock(to, options)?;
    output.check_replaceable()?;
    let read = |path: &Path| {
        progress.next(format_args!("reading {}", path.display()));
        filter_file::read(path, secret)
    };
    let (first, others) = files.split_first().expect("a command line without files is refused");
    let View { mut filter, notes, .. } = read(first)?;
    let mut all_notes = vec![notes];
    for path in others {
        let View { filter: other, notes, .. } = read(path)?;
        progress.next(format_args!("merging {}", path.display()));
        filter.merge(&other).map_err(|error| not_merged(error, first, path))?;
        all_notes.push(notes);
    }
    let notes = remembered(files, &output, all_notes, options.verbosity)?;
    progress.next(format_args!("writing {}", to.display()));
    output.save(filter, notes)
}

/// Says which of the filters is at fault.
fn not_merged(error: MergeError, first: &Path, other: &Path) -> Failure {
    match error {
        MergeError::Full(full) => {
            let (why, other) = (NoRoom::of(&full).why, other.display());
            let reason = format!(
                "{why}; nothing was written: make room in it (`coua remove`), or add the records of {other} to a \
                 filter with a higher --max-items"
            );
            Failure::at(first.display(), reason)
        }
        error => Failure::at(other.display(), error),
    }
}

/// The notes that the result has: those of the filter that it replaces, if that is one of the sources, or
/// of the only source. Says which runs are left out.
fn remembered(
    files: &[PathBuf],
    output: &FilterFile,
    all: Vec<FilterNotes>,
    verbosity: Verbosity,
) -> Result<FilterNotes> {
    let is_one = files.len() == 1;
    let kept = files.iter().position(|path| is_one || output.is_at(path));
    let mut remembered = FilterNotes::default();
    let keys = common_keys(files, &all)?;
    for ((number, path), found) in files.iter().enumerate().zip(all) {
        if kept == Some(number) {
            remembered = found;
            continue;
        }
        let runs = Runs::of(&found, path.display())?;
        if let Some(words) = resume::list(&runs).filter(|_| !output.is_at(path)) {
            let path = path.display();
            verbosity.say(format_args!("{path}: the result does not remember its runs: {words}"));
        }
        let others: Vec<_> = others(&found).filter(|_| !output.is_at(path)).collect();
        if !others.is_empty() {
            let (path, names) = (path.display(), others.join(", "));
            verbosity.say(format_args!("{path}: the result does not have its notes: {names}"));
        }
    }
    if let Some(keys) = keys {
        let set = remembered.set(KeySpec::NOTE, &keys.to_note());
        set.map_err(|reason| Failure::at(output.name(), reason))?;
    }
    Ok(remembered)
}

/// How the keys of all filters are made that tell it. Returns an error if they are not made alike.
fn common_keys(files: &[PathBuf], all: &[FilterNotes]) -> Result<Option<KeySpec>> {
    let mut common: Option<KeySpec> = None;
    for (path, notes) in files.iter().zip(all) {
        let Some(keys) = KeySpec::of(notes, path.display())? else { continue };
        common = Some(match common {
            None => keys,
            Some(common) => common.common(&keys, path.display())?,
        });
    }
    Ok(common)
}

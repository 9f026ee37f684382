//! `coua merge`.

use crate::args::{Quiet, SecretArgs};
use crate::filter::{LockedFile, NoRoom, check_files, filter_file};
use crate::key::KeySpec;
use crate::terminal::{Failure, Result, Verbosity};
use coua::MergeError;
use coua_store::{Notes as FilterNotes, View};
use std::path::{Path, PathBuf};

/// Write the union of several filter files
///
/// Copies add up: a record that is in two filters is in the result twice. All must remember the same
/// number of hash bits and use the same hash and seed, and their keys must have as many parts, and be normalized in the
/// same way. Filters with a window must have the same one, and it must be a duration; each record keeps its age, and the
/// latest clock counts.
///
/// The result remembers the runs (see --resume of `add`) of the filter that it replaces, if that is one of the
/// inputs, or those of the only input, and no others.
#[derive(clap::Args, Debug)]
pub(crate) struct MergeArgs {
    /// The file to write; it may be one of the inputs
    ///
    /// An existing file must be a filter or empty; it is replaced in one step.
    #[arg(short = 'o', long, value_name = "FILTER")]
    output: PathBuf,

    /// Filter files to merge
    #[arg(value_name = "FILTER", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    quiet: Quiet,
}

impl MergeArgs {
    /// Writes the union of the filters.
    pub(crate) fn run(&self) -> Result<()> {
        let (secret, verbosity) = (self.secret.secret(), self.quiet.verbosity());
        check_files(&secret, self.files.iter().map(PathBuf::as_path), Some(&self.output))?;
        let output = LockedFile::lock(&self.output, verbosity)?;
        output.prepare(self.files.iter().map(PathBuf::as_path))?;
        let read = |path: &Path| filter_file::read(path, &secret);
        let (first, others) = self.files.split_first().expect("clap demands one");
        let View { mut filter, notes, .. } = read(first)?;
        let mut all_notes = vec![notes];
        for path in others {
            let View { filter: other, notes, .. } = read(path)?;
            let [found, expected] = [&other, &filter].map(|it| it.template().hash_bits());
            if (found - expected).abs() > 1e-6 {
                let first = first.display();
                let reason = format!(
                    "remembers {found:.2} bits of each hash, and {first} {expected:.2}; merge filters that were made \
                     with the same --rate and --capacity"
                );
                return Err(Failure::at(path.display(), reason));
            }
            filter.merge(&other).map_err(|error| not_merged(error, first, path))?;
            all_notes.push(notes);
        }
        let notes = remembered(&self.files, &output, all_notes, verbosity)?;
        output.save(filter, notes)
    }
}

/// The failure, under the name of the filter at fault.
fn not_merged(error: MergeError, first: &Path, other: &Path) -> Failure {
    match error {
        MergeError::Full(full) => {
            let (why, other) = (NoRoom::of(&full).why, other.display());
            let reason = format!(
                "{why}; nothing was written: make room in it with `coua remove`, or add the records of {other} to a \
                 filter with a higher --capacity"
            );
            Failure::at(first.display(), reason)
        }
        error => Failure::at(other.display(), error),
    }
}

/// The notes of the result: those of the filter that it replaces, if that is one of the sources, or those of the only
/// source.
fn remembered(
    files: &[PathBuf],
    output: &LockedFile,
    mut all: Vec<FilterNotes>,
    verbosity: Verbosity,
) -> Result<FilterNotes> {
    let is_one = files.len() == 1;
    let kept = files.iter().position(|path| is_one || output.is_at(path));
    let keys = common_keys(files, &all, verbosity)?;
    let mut remembered = kept.map(|number| all.swap_remove(number)).unwrap_or_default();
    if let Some(keys) = keys {
        let set = remembered.set(KeySpec::NOTE, &keys.to_note());
        set.map_err(|reason| Failure::at(output.name(), reason))?;
    }
    Ok(remembered)
}

/// The key options of the first filter that stores them, with those that select keys of the first that has some. Returns
/// an error if the keys of another one differ.
fn common_keys(
    files: &[PathBuf],
    all: &[FilterNotes],
    verbosity: Verbosity,
) -> Result<Option<KeySpec>> {
    let mut common: Option<(&Path, KeySpec)> = None;
    for (path, notes) in files.iter().zip(all) {
        let Some(keys) = KeySpec::of(notes, path.display())? else { continue };
        let (first, common) = common.get_or_insert_with(|| (path, keys.clone()));
        common.check_same(first.display(), &keys, path.display())?;
        if common.find != keys.find {
            let (path, first) = (path.display(), first.display());
            verbosity.say(format_args!(
                "{path}: its keys were selected otherwise ({keys}) than those of {first} ({common})"
            ));
        }
        if common.find.is_empty() {
            common.find = keys.find;
        }
    }
    Ok(common.map(|(_, keys)| keys))
}

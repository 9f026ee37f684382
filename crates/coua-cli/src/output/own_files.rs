//! The files that a run has for itself: its filter, and that of the secret key. Records are neither written
//! to them nor, while the filter changes, read from them.

use crate::input::Survey;
use crate::platform::{self, Identity};
use crate::terminal::{Failure, Result};
use coua::LoadError;
use coua::window::Generations;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Files that are there, and names where one would be made.
#[derive(Debug, Default)]
pub(crate) struct OwnFiles {
    /// As the user calls it, and with symbolic links resolved.
    filter: Vec<PathBuf>,
    key: Option<PathBuf>,
}

impl OwnFiles {
    /// Of a filter, if there is one in a file, and the file of its secret key.
    pub(crate) fn of(filter: Option<&Path>, key: Option<&Path>) -> Result<Self> {
        let key = key.map(Path::to_owned);
        let Some(path) = filter else { return Ok(Self { key, ..Self::default() }) };
        let resolved = coua_store::resolved(path)
            .map_err(|error| Failure::at(path.display(), error.reason))?;
        Ok(Self { filter: vec![path.to_owned(), resolved], key })
    }

    /// Whether there is a filter in a file.
    pub(crate) fn has_filter(&self) -> bool {
        !self.filter.is_empty()
    }

    /// Complains if one of them is to be the output of this name, with this path if it has one, which is this
    /// regular file if it is one.
    pub(crate) fn refuse_output(
        &self,
        name: &str,
        path: Option<&Path>,
        file: Option<Identity>,
    ) -> Result<()> {
        let is_one = |own: &PathBuf| {
            file.is_some() && file == Identity::at(own)
                || path.is_some_and(|path| platform::is_same_place(path, own))
        };
        let what = if self.filter.iter().any(is_one) {
            "is the filter file as well"
        } else if self.key.iter().any(is_one) {
            "is the file of the secret key as well"
        } else {
            return Ok(());
        };
        Err(Failure::at(name, format_args!("{what}: name another output")))
    }

    /// Complains if a filter that is going to change is an input.
    pub(crate) fn refuse_inputs(&self, inputs: &Survey) -> Result<()> {
        let is_input =
            |path: &&PathBuf| Identity::at(path).is_some_and(|file| inputs.contains(file));
        self.filter.iter().find(is_input).map_or(Ok(()), |path| {
            let reason = "is the filter file, which this run changes: name another input";
            Err(Failure::at(path.display(), reason))
        })
    }

    /// Complains if a filter is to be written to the file of the secret key.
    pub(crate) fn check_made(output: &Path, key: Option<&Path>) -> Result<()> {
        let own = Self { key: key.map(Path::to_owned), ..Self::default() };
        own.refuse_output(&output.display().to_string(), Some(output), Identity::at(output))
    }
}

/// Complains if there is a filter, whichever it is, where something else is to be written.
pub(crate) fn refuse_filter(path: &Path) -> Result<()> {
    // Opening anything but a regular file may wait. One that cannot be read is told where it is written.
    let file = Identity::at(path).and_then(|_| File::open(path).ok());
    match file.map(|file| Generations::snapshot_bytes(&file)) {
        None | Some(Err(LoadError::NotAFilter | LoadError::Io(_))) => Ok(()),
        Some(_) => {
            let reason = "holds a filter, which would be lost: name another output, or remove the file first";
            Err(Failure::at(path.display(), reason))
        }
    }
}

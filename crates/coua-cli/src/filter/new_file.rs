//! A filter file that appears when it is complete: a run that fails or is killed leaves no file of its name.

use super::filter_file::refuse_others;
use crate::terminal::message::store_reason;
use crate::terminal::{Failure, Result};
use coua::window::Generations;
use coua_store::{Lock, Notes as FilterNotes, Options, StoreError, Wait, folder_of, resolved};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use tempfile::TempPath;

/// The name of a filter file that does not exist yet.
#[derive(Debug)]
pub(crate) struct NewFile {
    target: PathBuf,
    /// Where the filter is written first, in the same folder.
    temporary: PathBuf,
    /// The name that the user gave.
    name: String,
}

impl NewFile {
    /// Returns an error if the file exists, or cannot be created.
    pub(crate) fn at(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        if refuse_others(path)?.is_none() {
            return Err(exists(&name));
        }
        let target = resolved(path)?;
        let temporary = target.with_file_name(format!(".coua-pull-{}.tmp", process::id()));
        let file = Self { target, temporary, name };
        // Creates a file, and removes it.
        file.lock().map(drop)?;
        Ok(file)
    }

    /// Creates the file, unless it exists.
    pub(crate) fn save(self, filter: Generations, notes: FilterNotes) -> Result<()> {
        let lock = self.lock()?;
        let temporary = TempPath::try_from_path(&self.temporary);
        let temporary = temporary.map_err(|error| self.not_saved(&error))?;
        let written = Options::new().replace(lock, filter, notes);
        written.map_err(|error| self.not_saved(store_reason(&error)))?;
        temporary.persist_noclobber(&self.target).map_err(|refused| {
            if refused.error.kind() == io::ErrorKind::AlreadyExists {
                exists(&self.name)
            } else {
                self.not_saved(&refused.error)
            }
        })?;
        let synced = folder_of(&self.target)?.sync();
        synced.map_err(|error| Failure::io(&self.name, &error))
    }

    fn lock(&self) -> Result<Lock> {
        let lock = Lock::take(&self.temporary, Wait::No);
        lock.map_err(|error: StoreError| Failure::at(&self.name, store_reason(&error)))
    }

    fn not_saved(&self, reason: impl std::fmt::Display) -> Failure {
        Failure::at(&self.name, format_args!("not saved: {reason}"))
    }
}

fn exists(name: &str) -> Failure {
    Failure::at(name, "already exists; choose another file, or delete it")
}

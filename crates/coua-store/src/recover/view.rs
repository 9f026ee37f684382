//! The last committed state, for reading.

use std::path::PathBuf;

use coua::window::Generations;

use crate::error::{Reason, StoreError};
use crate::log::Base;
use crate::memory::Residence;
use crate::notes::Notes;

/// The last committed state of a filter file, for reading.
#[derive(Debug)]
pub struct View {
    /// The filter. Changes to it stay in memory.
    pub filter: Generations,
    /// The notes of the program.
    pub notes: Notes,
    /// Bytes of the snapshot.
    pub snapshot_bytes: u64,
    /// Bytes of commits after the snapshot.
    pub log_bytes: u64,
    /// Commits in the log.
    pub transactions: u64,
    /// Bytes at the end of the file that do not count, from a commit that was interrupted, or is being written
    /// now.
    pub uncommitted: u64,
    pub(crate) residence: Residence,
    /// The file from which the state was read.
    pub(crate) origin: Option<Origin>,
}

/// The file of a state.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) path: PathBuf,
    pub(crate) base: Base,
}

impl View {
    /// Checks that the file is unchanged since it was mapped. Call this after the last answer:
    /// overwriting a filter file in place, as `cp` does, changes what a mapped filter reads.
    ///
    /// # Errors
    ///
    /// [`Reason::Overwritten`] if answers may have been wrong.
    pub fn check_origin(&self) -> Result<(), StoreError> {
        match (self.residence.mapped(), &self.origin) {
            (Some(file), Some(Origin { path, base })) if !base.is_in(file) => {
                Err(Reason::Overwritten.at(path))
            }
            _ => Ok(()),
        }
    }
}

//! The last committed state, for reading.

use std::fs::File;
use std::path::PathBuf;

use coua::KeyHash;
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
    /// The file itself, if its snapshot is mapped.
    pub(crate) mapped: Option<File>,
}

impl View {
    pub(crate) fn new(filter: Generations, residence: Residence) -> Self {
        let (snapshot_bytes, log_bytes, transactions, uncommitted) = (0, 0, 0, 0);
        let notes = Notes::default();
        let origin = None;
        Self {
            filter,
            notes,
            snapshot_bytes,
            log_bytes,
            transactions,
            uncommitted,
            residence,
            origin,
        }
    }

    /// The committed note with this name.
    pub fn note(&self, name: &str) -> Option<&[u8]> {
        self.notes.get(name)
    }

    /// Checks that the file is unchanged since it was mapped. Call this after the last answer:
    /// overwriting a filter file in place, as `cp` does, changes what a mapped filter reads.
    ///
    /// # Errors
    ///
    /// [`Reason::Overwritten`] if answers may have been wrong.
    pub fn check_origin(&self) -> Result<(), StoreError> {
        match &self.origin {
            Some(Origin { mapped: Some(file), path, base }) if !base.is_in(file) => {
                Err(Reason::Overwritten.at(path))
            }
            _ => Ok(()),
        }
    }

    /// The filter, for lookups of these keys. Fetches the pages that they need together, and after very many
    /// keys reads the file into memory, where lookups are faster.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// # store.insert("a")?;
    /// # store.finish()?;
    /// let mut view = Store::read(&path)?;
    /// let hash = view.filter.hasher().hash(b"a");
    /// assert!(view.asked(&[hash]).contains(hash));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn asked(&mut self, hashes: &[KeyHash]) -> &Generations {
        self.residence.touch(&mut self.filter, hashes);
        &self.filter
    }

    /// The filter, for `keys` lookups by one of several threads. `None` if one thread must call
    /// [`asked`](Self::asked) instead, because pages come from a disk or the file should be read into memory first.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// # store.insert("a")?;
    /// # store.finish()?;
    /// let view = Store::read(&path)?;
    /// let filter = view.asked_beside(1).expect("a small filter is read into memory");
    /// assert!(filter.contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn asked_beside(&self, keys: u64) -> Option<&Generations> {
        if self.residence.is_fetched() || self.residence.better_plan().is_some() {
            return None;
        }
        self.residence.count(&self.filter, keys);
        Some(&self.filter)
    }
}

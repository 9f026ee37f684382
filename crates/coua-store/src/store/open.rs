//! Opening a filter file.

use std::path::Path;

use coua::window::Generations;

use super::{Options, Store};
use crate::error::StoreError;
use crate::fs::{Lock, clear_temporary, resolved};
use crate::memory::KEY_BYTES;
use crate::notes::Notes;
use crate::recover::{State, View};
use crate::verify::{Verified, verify};

impl Options {
    /// Reads the last committed state of the filter at `path`. Needs no lock and no write permission, and
    /// never blocks a writer.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if there is no filter, or it cannot be read.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<View, StoreError> {
        let path = resolved(path.as_ref())?;
        State::while_written(self.loading, &path).map(|state| state.view)
    }

    /// Checks every byte of the filter at `path`, with one segment or log frame in memory at a time.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Options;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let mut store = Options::new().create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// store.commit()?;
    /// assert_eq!(Options::new().verify(&path)?.items, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError`] if there is no filter, it is damaged, or its [key](Self::key) is missing or wrong.
    pub fn verify(&self, path: impl AsRef<Path>) -> Result<Verified, StoreError> {
        verify(&resolved(path.as_ref())?, self.loading.key)
    }

    /// Opens the filter at `path` for writing.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if there is no filter, or it cannot be read or written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let lock = Lock::take_existing(path.as_ref(), self.wait)?;
        self.write_locked(lock, None)
    }

    /// Opens the filter at `path` for writing, or creates it with `build`. The first commit writes it.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), except for a missing filter.
    pub fn create<F: Into<Generations>>(
        &self,
        path: impl AsRef<Path>,
        build: impl FnOnce() -> F,
    ) -> Result<Store, StoreError> {
        let lock = Lock::take(path.as_ref(), self.wait)?;
        let new = lock.is_new().then(|| build().into());
        self.write_locked(lock, new)
    }

    /// Opens the filter of a lock that was taken before for writing. If there is none, the first commit writes `new`.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write); [`StoreError`] for a missing filter only without `new`.
    pub fn write_locked(&self, lock: Lock, new: Option<Generations>) -> Result<Store, StoreError> {
        clear_temporary(lock.target());
        match new {
            Some(filter) if lock.is_new() => Store::begin(self, lock, filter, Notes::default()),
            _ => {
                let state = State::of(self.loading, KEY_BYTES, lock.file(), lock.target())?;
                Store::resume(self, lock, state)
            }
        }
    }

    /// Writes `filter` with these notes, with a lock that was taken before. An old filter is replaced without reading
    /// it; the file must be [replaceable](Lock::check_replaceable).
    ///
    /// # Errors
    ///
    /// [`StoreError`] if it is not, or writing failed. The old file is then unchanged, except after
    /// [`Reason::Unsynced`](crate::Reason::Unsynced).
    pub fn replace<F: Into<Generations>>(
        &self,
        lock: Lock,
        filter: F,
        notes: Notes,
    ) -> Result<(), StoreError> {
        lock.check_replaceable()?;
        clear_temporary(lock.target());
        Store::begin(self, lock, filter.into(), notes)?.commit()
    }
}

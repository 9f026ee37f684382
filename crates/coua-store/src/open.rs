//! Opening a filter file.

use std::path::Path;

use coua::window::Generations;

use crate::access::Touch;
use crate::error::StoreError;
use crate::folder::resolved;
use crate::legacy::Journal;
use crate::lock::Lock;
use crate::options::Options;
use crate::runs::Runs;
use crate::state::State;
use crate::store::Store;
use crate::temporary;
use crate::view::View;

impl Options {
    /// The last committed state of the filter at `path`, to be asked. Needs no lock and no right to
    /// write, and is never in the way of a writer.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if there is no filter, or one that cannot be read.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Options;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # CuckooFilter::new().save_atomically(&path)?;
    /// let view = Options::new().read(&path)?;
    /// assert!(!view.filter.contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(&self, path: impl AsRef<Path>) -> Result<View, StoreError> {
        let path = resolved(path.as_ref())?;
        State::while_written(self, &path).map(|state| state.view)
    }

    /// Opens the filter at `path` for writing.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if there is no filter, or one that cannot be read, or it cannot be written.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Options;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # CuckooFilter::new().save_atomically(&path)?;
    /// let mut store = Options::new().write(&path)?;
    /// store.insert("a")?;
    /// store.finish()?;
    /// assert!(coua::Load::new().open::<CuckooFilter>(&path)?.contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let lock = Lock::take_existing(path.as_ref(), self.wait)?;
        self.write_locked(lock, None::<fn() -> Generations>)
    }

    /// Opens the filter at `path` for writing; if there is none, `build` makes it. It is written with
    /// the first commit.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), but a missing filter is none.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Options;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let mut store = Options::new().create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// assert_eq!(path.metadata()?.len(), 0, "its place is taken");
    /// store.finish()?;
    /// assert!(path.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create<F: Into<Generations>>(
        &self,
        path: impl AsRef<Path>,
        build: impl FnOnce() -> F,
    ) -> Result<Store, StoreError> {
        self.write_locked(Lock::take(path.as_ref(), self.wait)?, Some(build))
    }

    /// [`write`](Self::write), or [`create`](Self::create) if there is a `build`, under a lock that
    /// was taken before.
    ///
    /// # Errors
    ///
    /// As those.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::{Lock, Options, Wait};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let lock = Lock::take(&path, Wait::UntilFree)?;
    /// let store = Options::new().write_locked(lock, Some(CuckooFilter::new))?;
    /// assert!(store.filter().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_locked<F: Into<Generations>, B: FnOnce() -> F>(
        &self,
        lock: Lock,
        build: Option<B>,
    ) -> Result<Store, StoreError> {
        temporary::clear(lock.target());
        match build {
            Some(build) if lock.is_new() => {
                Journal::check_absent(lock.target())?;
                Store::begin(self, lock, build().into())
            }
            _ => {
                let state = State::of(self, lock.file(), lock.path(), Touch::Change)?;
                self.remove_taken_over(&lock, &state)?;
                Store::resume(self, lock, state)
            }
        }
    }

    /// Puts `filter`, with these runs, in the place of whatever filter is in the file, under a lock that was
    /// taken before; of what was there no more is looked at than whether it
    /// [may be replaced](Lock::check_replaceable).
    ///
    /// # Errors
    ///
    /// [`StoreError`] if it may not, or the disk refused: then what was there is as it was. Except after
    /// [`StoreError::Unsynced`], when the filter is there.
    ///
    /// ```
    /// use coua::CuckooFilter;
    /// use coua_store::{Lock, Options, Runs, Wait};
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("seen.coua");
    /// let lock = Lock::take(&path, Wait::UntilFree)?;
    /// Options::new().replace(lock, CuckooFilter::new(), Runs::default())?;
    /// assert!(coua::Load::new().open::<CuckooFilter>(&path)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace<F: Into<Generations>>(
        &self,
        lock: Lock,
        filter: F,
        runs: Runs,
    ) -> Result<(), StoreError> {
        lock.check_replaceable()?;
        temporary::clear(lock.target());
        let (path, folder) = (lock.path().clone(), lock.folder().clone());
        // Readers that find both know by this that the journal is not of the new filter.
        let superseded = Journal::name_beside(&path)?;
        let mut store = Store::begin(self, lock, filter.into())?;
        (store.runs, store.superseded) = (runs, superseded);
        store.commit()?;
        if superseded.is_some() {
            let journal = Journal::path_beside(&path);
            let removed = self.disk.remove(&journal).and_then(|()| self.disk.sync_folder(&folder));
            // The next writer tries again.
            removed.ok();
        }
        Ok(())
    }

    /// Removes a journal that the log has taken over, which a crash has left.
    fn remove_taken_over(&self, lock: &Lock, state: &State) -> Result<(), StoreError> {
        if state.taken_over.is_none() || state.taken_over != Journal::name_beside(lock.target())? {
            return Ok(());
        }
        let journal = Journal::path_beside(lock.target());
        let removed = self.disk.remove(&journal);
        let removed = removed.and_then(|()| self.disk.sync_folder(lock.folder()));
        removed.map_err(|source| StoreError::io(&journal, "remove", source))
    }
}

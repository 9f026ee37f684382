//! Opening a filter file.

use std::path::Path;

use coua::window::Generations;

use crate::error::StoreError;
use crate::files::{Files, JournalUse, resolved};
use crate::journal::{self, Identity};
use crate::left::{self, Left};
use crate::lock::Lock;
use crate::options::Options;
use crate::progress::Progress;
use crate::state::{Rest, State};
use crate::store::Store;
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
    pub fn read(&self, path: &Path) -> Result<View, StoreError> {
        let files = Files::of(&resolved(path)?);
        match State::of(self, &files, JournalUse::Read)? {
            Some(state) => Ok(state.view),
            None => Err(missing(&files)),
        }
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
    /// assert!(CuckooFilter::read(&path)?.contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, path: &Path) -> Result<Store, StoreError> {
        self.write_locked(Lock::take(path, self.wait)?, None::<fn() -> Generations>)
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
    /// assert!(!path.exists());
    /// store.finish()?;
    /// assert!(path.exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create<F: Into<Generations>>(
        &self,
        path: &Path,
        build: impl FnOnce() -> F,
    ) -> Result<Store, StoreError> {
        self.write_locked(Lock::take(path, self.wait)?, Some(build))
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
        let files = lock.files();
        self.clear(files)?;
        match (State::of(self, files, JournalUse::Append)?, build) {
            (Some(state), _) => Store::go_on(self, lock, state),
            (None, Some(build)) => {
                State::check_nothing_lost(files)?;
                Store::begin(self, lock, build().into())
            }
            (None, None) => Err(missing(files)),
        }
    }

    /// Puts `filter` in the place of whatever filter is in the file, with how far a program is that goes on
    /// with it, under a lock that was taken before; of what was there no more is looked at than whether it
    /// [may be replaced](Lock::check_replaceable).
    ///
    /// # Errors
    ///
    /// [`StoreError`] if it may not, or the disk refused: then what was there is as it was. Except after
    /// [`StoreError::Unsynced`], when the filter is there; and after [`StoreError::JournalLeft`].
    ///
    /// ```
    /// use coua::CuckooFilter;
    /// use coua_store::{Lock, Options, Progress, Wait};
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("seen.coua");
    /// let lock = Lock::take(&path, Wait::UntilFree)?;
    /// Options::new().replace(lock, CuckooFilter::new(), &Progress::default())?;
    /// assert!(CuckooFilter::read(&path)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace<F: Into<Generations>>(
        &self,
        lock: Lock,
        filter: F,
        progress: &Progress,
    ) -> Result<(), StoreError> {
        let filter = filter.into();
        let files = lock.files();
        lock.check_replaceable()?;
        self.clear(files)?;
        if !files.snapshot.exists() {
            State::check_nothing_lost(files)?;
        }
        let old = match left::at(&files.journal, &journal::MAGIC)? {
            Left::Nothing => Some((Identity::default(), Rest::Nothing)),
            Left::Blank | Left::Begun => match State::journal_of(files) {
                Ok(old) => Some(old),
                // It may be whole: that cannot be told.
                Err(error @ (StoreError::Io { .. } | StoreError::NotRegular { .. })) => {
                    return Err(error);
                }
                Err(_) => None,
            },
        };
        if let Some((_, Rest::Nothing)) = old {
            // It holds nothing that a crash must leave.
            self.remove(&files.journal, &journal::MAGIC)?;
        }
        let mut store = Store::begin(self, lock, filter)?;
        let Some((snapshot, rest)) = old else { return store.finish_over_ruins(progress) };
        store.follow(snapshot, rest)?;
        store.finish_at(progress).map(drop)
    }

    /// Removes files that a crash may have left.
    fn clear(&self, files: &Files) -> Result<(), StoreError> {
        self.remove(&files.next_snapshot, &left::SNAPSHOT)?;
        self.remove(&files.next_journal, &journal::MAGIC)
    }

    /// Removes a file that a writer has left, if there is one.
    fn remove(&self, path: &Path, magic: &[u8]) -> Result<(), StoreError> {
        if left::at(path, magic)? == Left::Nothing {
            return Ok(());
        }
        self.disk.remove(path).map_err(|source| StoreError::io(path, "remove", source))
    }
}

fn missing(files: &Files) -> StoreError {
    StoreError::io(&files.snapshot, "open", std::io::ErrorKind::NotFound.into())
}

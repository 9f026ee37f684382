//! A filter in a file, open for writing.

use std::fs::File;
use std::path::Path;

use coua::window::Generations;

use crate::beside::Beside;
use crate::error::StoreError;
use crate::files::Files;
use crate::folder::Folder;
use crate::journal::{self, Identity, Journal, Tail};
use crate::left::{self, Left};
use crate::lock::{Lock, Wait, inode_at, inode_of};
use crate::log::Log;
use crate::next::Reserved;
use crate::options::Options;
use crate::progress::Progress;
use crate::state::{Rest, State};
use crate::view::{Memory, View};

/// A filter that lives in a file, open for writing by this process alone.
///
/// Changes are made in memory, and kept from the next [`commit`](Self::commit) on: after a crash at
/// any moment the file holds the state of the last commit.
///
/// ```
/// use coua::CuckooFilter;
/// use coua_store::{Progress, Store};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("seen.coua");
/// let mut store = Store::create(&path, CuckooFilter::new)?;
/// store.insert("a")?;
/// store.commit(&Progress::default())?;
/// store.insert("b")?;
/// drop(store);
/// let store = Store::open(&path)?;
/// assert!(store.filter().contains("a") && !store.filter().contains("b"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Store {
    pub(crate) options: Options,
    pub(crate) filter: Generations,
    pub(crate) progress: Option<Progress>,
    pub(crate) snapshot: Snapshot,
    pub(crate) journal: Option<Journal>,
    /// What the next journal begins with.
    pub(crate) tail: Option<Tail>,
    pub(crate) log: Log,
    pub(crate) need: Need,
    /// Records were committed on the way.
    pub(crate) is_piecemeal: bool,
    pub(crate) reserved: Option<Reserved>,
    /// The next snapshot, while it is made.
    pub(crate) beside: Option<Beside>,
    pub(crate) memory: Memory,
    /// Let go of last.
    pub(crate) lock: Lock,
}

/// The snapshot that this store began with, or wrote last.
#[derive(Debug)]
pub(crate) struct Snapshot {
    /// None before the first commit.
    pub(crate) file: Option<File>,
    /// What has its name; none if nothing has.
    pub(crate) inode: Option<(u64, u64)>,
    pub(crate) identity: Identity,
    /// Segments of the file have not been checked since it was opened.
    pub(crate) is_unchecked: bool,
}

/// What the next commit must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The log has all changes.
    Journal,
    /// There are changes that only a new snapshot can hold.
    Snapshot,
    /// Nothing: the disk is in a state that this store does not know.
    Reopening,
}

impl Store {
    /// Opens the filter at `path`, after any other writer has finished. [`Options`] has more to
    /// choose.
    ///
    /// # Errors
    ///
    /// As [`Options::write`].
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// # store.insert("a")?;
    /// # store.finish()?;
    /// let mut store = Store::open(&path)?;
    /// assert!(store.filter().contains("a"));
    /// store.insert("b")?;
    /// store.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Options::new().write(path)
    }

    /// Opens the filter at `path`, or makes a new one, after any other writer has finished.
    ///
    /// # Errors
    ///
    /// As [`Options::create`].
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let mut store = Store::create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// store.finish()?;
    /// let store = Store::create(&path, CuckooFilter::new)?;
    /// assert!(store.filter().contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create<F: Into<Generations>>(
        path: &Path,
        build: impl FnOnce() -> F,
    ) -> Result<Self, StoreError> {
        Options::new().wait(Wait::UntilFree).create(path, build)
    }

    /// The last committed state of the filter at `path`, to be asked.
    ///
    /// # Errors
    ///
    /// As [`Options::read`].
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// # store.insert("a")?;
    /// # store.finish()?;
    /// assert!(Store::read(&path)?.filter.contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(path: &Path) -> Result<View, StoreError> {
        Options::new().read(path)
    }

    /// With a filter that is in no file yet.
    pub(crate) fn begin(
        options: &Options,
        lock: Lock,
        filter: Generations,
    ) -> Result<Self, StoreError> {
        let identity = Identity::default();
        // There may be something else, to be replaced.
        let inode = inode_at(lock.target());
        let snapshot = Snapshot { file: None, inode, identity, is_unchecked: false };
        let memory = Memory::without_a_file(options.access);
        let view = View { filter, progress: None, uncommitted: 0, memory };
        let mut store = Self::new(options, lock, view, snapshot);
        store.need = Need::Snapshot;
        store.reserve()?;
        Ok(store)
    }

    /// With what was committed last.
    pub(crate) fn go_on(options: &Options, lock: Lock, state: State) -> Result<Self, StoreError> {
        let State { view, file, snapshot: identity, rest } = state;
        let is_unchecked = view.memory.is_mapped;
        let inode = file.metadata().ok().map(|metadata| inode_of(&metadata));
        let snapshot = Snapshot { file: Some(file), inode, identity, is_unchecked };
        let mut store = Self::new(options, lock, view, snapshot);
        store.follow(identity, rest)?;
        store.reserve()?;
        Ok(store)
    }

    /// Goes on with what is there: a snapshot, and what is left of its journal.
    pub(crate) fn follow(&mut self, snapshot: Identity, rest: Rest) -> Result<(), StoreError> {
        self.snapshot.identity = snapshot;
        match rest {
            Rest::Nothing => {}
            Rest::Journal(file, header, committed) => {
                let (disk, path) = (&*self.options.disk, self.files().journal.clone());
                self.journal = Some(Journal::resume(disk, file, path, header, committed)?);
            }
            Rest::Tail(tail) => self.tail = Some(tail),
        }
        Ok(())
    }

    fn new(options: &Options, lock: Lock, view: View, snapshot: Snapshot) -> Self {
        Self {
            options: options.clone(),
            filter: view.filter,
            progress: view.progress,
            snapshot,
            journal: None,
            tail: None,
            log: Log::default(),
            need: Need::Journal,
            is_piecemeal: false,
            reserved: None,
            beside: None,
            memory: view.memory,
            lock,
        }
    }

    /// Complains if something that does not heed the lock has removed or replaced one of the files: what
    /// would be written then would be nowhere, or in somebody else's place.
    pub(crate) fn check_names(&self) -> Result<(), StoreError> {
        self.lock.check_name()?;
        let path = &self.files().snapshot;
        if self.snapshot.inode != inode_at(path) {
            return Err(StoreError::Replaced { path: path.clone() });
        }
        self.journal.as_ref().map_or(Ok(()), Journal::check_name)
    }

    /// The names of its files.
    pub(crate) fn files(&self) -> &Files {
        self.lock.files()
    }

    /// The folder that they are in.
    pub(crate) fn folder(&self) -> &Folder {
        self.lock.folder()
    }

    /// Removes what was made for a filter that has not come.
    fn clear_unborn(&self) {
        let is_unborn = self.snapshot.inode.is_none() && !self.files().snapshot.exists();
        if !is_unborn || self.lock.check_name().is_err() {
            return;
        }
        self.remove_next();
        // A journal has nothing of its own while there is no snapshot.
        if let Ok(Left::Begun | Left::Blank) = left::at(&self.files().journal, &journal::MAGIC) {
            self.options.disk.remove(&self.files().journal).ok();
        }
    }

    /// The filter with all changes, also those not committed.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// assert!(store.filter().contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn filter(&self) -> &Generations {
        &self.filter
    }

    /// What was committed last, if anything was since the file was made.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::{Progress, Store};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// assert_eq!(store.progress(), None);
    /// store.commit(&Progress { records: 7, ..Progress::default() })?;
    /// assert_eq!(store.progress().map(|progress| progress.records), Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    /// The filter file, with symbolic links resolved.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Store;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let store = Store::create(&path, CuckooFilter::new)?;
    /// assert!(store.path().ends_with("seen.coua"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.files().snapshot
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(beside) = self.beside.take() {
            beside.stop();
            self.remove_next();
            if self.files().next_snapshot.exists() || self.files().next_journal.exists() {
                // The next writer must not meet it; without names it ends by itself.
                beside.wait();
            }
        }
        if self.reserved.is_some() {
            // What was kept free is free again; a crash leaves it to the next writer.
            self.options.disk.remove(&self.files().next_snapshot).ok();
        }
        self.clear_unborn();
    }
}

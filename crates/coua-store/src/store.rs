//! A filter in a file, open for writing.

use std::path::Path;
use std::sync::Arc;

use coua::window::Generations;

use crate::background::Background;
use crate::changes::Changes;
use crate::divided::Divided;
use crate::error::StoreError;
use crate::lock::Lock;
use crate::log::{Base, Log, Target};
use crate::options::Options;
use crate::runs::Runs;
use crate::state::State;
use crate::view::{Memory, View};
use crate::write::Next;

/// A filter that lives in a file, open for writing by this process alone.
///
/// Changes are made in memory, and are durable from the next [`commit`](Self::commit) on: after a crash at any
/// moment the file holds the state of the last commit.
///
/// ```
/// use coua::CuckooFilter;
/// use coua_store::Store;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("seen.coua");
/// let mut store = Store::create(&path, CuckooFilter::new)?;
/// store.insert("a")?;
/// store.commit()?;
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
    pub(crate) runs: Runs,
    /// As they are in the file.
    pub(crate) committed_runs: Runs,
    pub(crate) log: Log,
    /// Changes that are not in the log yet.
    pub(crate) changes: Changes,
    pub(crate) need: Need,
    /// A run that has not ended was committed.
    pub(crate) is_piecemeal: bool,
    /// Segments of the snapshot have not been checked since it was opened.
    pub(crate) is_unchecked: bool,
    pub(crate) next: Option<Next>,
    /// The filter, while it is divided.
    pub(crate) divided: Arc<Divided>,
    /// The next snapshot, while it is made.
    pub(crate) background: Option<Background>,
    pub(crate) memory: Memory,
    /// Dropped last.
    pub(crate) lock: Lock,
}

/// What the next commit must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The log has all changes.
    Log,
    /// There are changes that only a new snapshot can hold.
    Snapshot,
    /// Nothing: the state of the disk is unknown.
    Reopening,
}

impl Store {
    /// Opens the filter at `path`, after any other writer has finished. [`Options`] has more choices.
    ///
    /// # Errors
    ///
    /// As [`Options::write`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Options::new().write(path)
    }

    /// Opens the filter at `path`, or makes a new one, after any other writer has finished.
    ///
    /// # Errors
    ///
    /// As [`Options::create`].
    pub fn create<F: Into<Generations>>(
        path: impl AsRef<Path>,
        build: impl FnOnce() -> F,
    ) -> Result<Self, StoreError> {
        Options::new().create(path, build)
    }

    /// The last committed state of the filter at `path`, to be asked.
    ///
    /// # Errors
    ///
    /// As [`Options::read`].
    pub fn read(path: impl AsRef<Path>) -> Result<View, StoreError> {
        Options::new().read(path)
    }

    /// With a filter that is in no file yet.
    pub(crate) fn begin(
        options: &Options,
        lock: Lock,
        filter: Generations,
    ) -> Result<Self, StoreError> {
        let memory = Memory::without_a_file(options.access);
        let view = View::new(filter, memory);
        let log = Log::empty(Base { bytes: 0, checksum: 0 });
        let mut store = Self::new(options, lock, view, log);
        store.need = Need::Snapshot;
        store.reserve()?;
        Ok(store)
    }

    /// With what was committed last.
    pub(crate) fn resume(options: &Options, lock: Lock, state: State) -> Result<Self, StoreError> {
        let State { view, log } = state;
        let mut store = Self::new(options, lock, view, log);
        store.is_unchecked = store.memory.is_mapped;
        let (log, to) = store.log_target();
        log.take_back(to)?;
        store.reserve()?;
        Ok(store)
    }

    fn new(options: &Options, lock: Lock, view: View, log: Log) -> Self {
        Self {
            options: options.clone(),
            filter: view.filter,
            runs: view.runs.clone(),
            committed_runs: view.runs,
            log,
            changes: Changes::default(),
            need: Need::Log,
            is_piecemeal: false,
            is_unchecked: false,
            next: None,
            divided: Arc::default(),
            background: None,
            memory: view.memory,
            lock,
        }
    }

    /// The log of the file, and where its steps go.
    pub(crate) fn log_target(&mut self) -> (&mut Log, Target<'_>) {
        let to =
            Target { disk: &*self.options.disk, file: self.lock.file(), path: self.lock.target() };
        (&mut self.log, to)
    }

    /// The filter with all changes, also those not committed; without items while it is
    /// [divided](Self::divide).
    pub fn filter(&self) -> &Generations {
        &self.filter
    }

    /// The runs that the filter remembers, with all changes, also those not committed.
    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    /// The runs, to be changed. Changes are durable from the next [`commit`](Self::commit) on.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::{Run, Store};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let mut store = Store::create(&path, CuckooFilter::new)?;
    /// let number = store.runs_mut().add(Run { records: 7, ..Run::default() });
    /// store.finish()?;
    /// assert_eq!(Store::open(&path)?.runs().get(number).map(|run| run.records), Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn runs_mut(&mut self) -> &mut Runs {
        &mut self.runs
    }

    /// The filter file, with symbolic links resolved.
    pub fn path(&self) -> &Path {
        self.lock.target()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        drop(self.stop_background());
        if let Some(next) = self.next.take() {
            // Frees the reserved space; after a crash the next writer does.
            next.remove(&*self.options.disk);
        }
    }
}

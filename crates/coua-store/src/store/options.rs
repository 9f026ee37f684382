//! Options for opening a filter file.

use std::sync::Arc;

use crate::checkpoint::{Cancel, Checkpointer, Spawn, Threads};
use crate::fs::{Disk, FileSystem, Lock, Wait};
use crate::growth::Limits;
use crate::log::Target;
use crate::memory::{self, Access, Residence};
use crate::recover::Loading;

/// Bytes of changes in memory.
const PIECE: usize = 1 << 20;

/// How to open a filter file.
///
/// ```
/// use coua::CuckooFilter;
/// use coua_store::Options;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("seen.coua");
/// let mut store = Options::new().create(&path, CuckooFilter::new)?;
/// store.insert("a")?;
/// store.commit()?;
/// assert!(Options::new().read(&path)?.filter.contains("a"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "options do nothing until a filter is opened with them"]
pub struct Options {
    pub(crate) loading: Loading,
    pub(crate) wait: Wait,
    pub(crate) limits: Limits,
    pub(crate) cancel: Cancel,
    /// Changes are appended to the log in pieces of about this many bytes, to limit the memory
    /// for uncommitted ones.
    pub(crate) piece: usize,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) spawn: Arc<dyn Spawn>,
    /// Available memory; none if unknown.
    pub(crate) available_memory: fn() -> Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            loading: Loading::default(),
            wait: Wait::default(),
            limits: Limits::default(),
            cancel: Cancel::default(),
            piece: PIECE,
            disk: Arc::new(FileSystem),
            spawn: Arc::new(Threads),
            available_memory: memory::available,
        }
    }
}

impl Options {
    /// The default options.
    ///
    /// See the example of [`Options`].
    pub fn new() -> Self {
        Self::default()
    }

    /// The secret SipHash key of the filter, if it has one.
    pub fn key(mut self, key: impl Into<Option<[u8; 16]>>) -> Self {
        self.loading.key = key.into();
        self
    }

    /// Whether to wait for another writer. Default: until it has finished.
    pub fn wait(self, wait: Wait) -> Self {
        Self { wait, ..self }
    }

    /// Whether to map the snapshot or to read it. Default: depends on the amount of work.
    pub fn access(mut self, access: Access) -> Self {
        self.loading.access = access;
        self
    }

    /// The expected number of changes or lookups, if known. Then the choice between mapping and reading is
    /// made at once, and no space is reserved for a snapshot that will not be written.
    pub fn expecting(mut self, changes: u64) -> Self {
        self.loading.expected = Some(changes);
        self
    }

    /// Bytes of log beyond which a commit starts a new snapshot. Default: a quarter of the snapshot, and at least
    /// 1 MiB. While the snapshot is made, the log may grow to the size of the filter and at least 256 MiB; then
    /// commits wait.
    pub fn max_log(mut self, bytes: u64) -> Self {
        self.limits.max_log = Some(bytes);
        self
    }

    /// For filters of this size or more, a background thread writes new snapshots, if
    /// there is memory for a second filter. Default: 16 MiB.
    pub fn background_from(mut self, bytes: u64) -> Self {
        self.limits.background_from = bytes;
        self
    }

    /// Calls `is_canceled` before each piece of a snapshot for which a commit waits, of 2 MiB or less. If it returns
    /// true, the commit returns [`Reason::Io`](crate::Reason::Io): the file is as at the last commit. Default: never.
    pub fn cancel_when(self, is_canceled: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { cancel: Cancel(Arc::new(is_canceled)), ..self }
    }

    /// The target of the log's steps.
    pub(super) fn target<'a>(&'a self, lock: &'a Lock) -> Target<'a> {
        Target { disk: &*self.disk, file: lock.file(), path: lock.target() }
    }

    pub(super) fn checkpointer(&self, residence: &Residence) -> Checkpointer {
        let (disk, spawn, cancel) = (self.disk.clone(), self.spawn.clone(), self.cancel.clone());
        Checkpointer::new(disk, spawn, self.loading.key, cancel, residence)
    }
}

//! Options for opening a filter file.

use std::sync::Arc;

use crate::access::Access;
use crate::available_memory;
use crate::disk::{Disk, FileSystem};
use crate::lock::Wait;
use crate::runs::Runs;
use crate::spawn::{Spawn, Threads};

/// Bytes of changes kept in memory.
const PIECE: usize = 1 << 20;
/// Logs of up to this many bytes may follow any snapshot, however small.
const LEAST_LOG: u64 = 1 << 20;

/// Bytes from which on a snapshot is written in the background. Writing a smaller one takes no longer than a
/// usual commit of the program, which has the records of some seconds, eight bytes each.
const LEAST_BACKGROUND: u64 = 16 << 20;

/// Below this many bytes of log no commit waits, however small the filter: opening repeats them in seconds.
const LEAST_WAIT: u64 = 256 << 20;

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
    pub(crate) key: Option<[u8; 16]>,
    pub(crate) wait: Wait,
    pub(crate) access: Access,
    pub(crate) expected: Option<u64>,
    pub(crate) max_log: Option<u64>,
    pub(crate) background_from: u64,
    /// While a snapshot is made, the log may become as large as this, or as the filter.
    pub(crate) most_waiting: u64,
    /// Changes are appended to the log in pieces of about this many bytes, which bounds the memory
    /// for those that are not committed yet.
    pub(crate) piece: usize,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) spawn: Arc<dyn Spawn>,
    /// Available memory; none if unknown.
    pub(crate) available_memory: fn() -> Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            key: None,
            wait: Wait::default(),
            access: Access::default(),
            expected: None,
            max_log: None,
            background_from: LEAST_BACKGROUND,
            most_waiting: LEAST_WAIT,
            piece: PIECE,
            disk: Arc::new(FileSystem),
            spawn: Arc::new(Threads),
            available_memory: available_memory::available,
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

    /// The filter's secret SipHash key.
    pub fn key(self, key: [u8; 16]) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Whether to wait for another writer. Default: until it has finished.
    pub fn wait(self, wait: Wait) -> Self {
        Self { wait, ..self }
    }

    /// Whether to map the snapshot or to read it. Default: by the size of the work.
    pub fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// The number of changes or lookups to come, if it is known. Then the choice between mapping and reading is
    /// made at once, and no space is reserved for a snapshot that will not be written.
    pub fn expecting(self, changes: u64) -> Self {
        Self { expected: Some(changes), ..self }
    }

    /// Bytes of log beyond which a commit starts a new snapshot. Default: a quarter of the snapshot, and at least
    /// 1 MiB. While the snapshot is made, the log may grow to the size of the filter and at least 256 MiB; then
    /// commits wait.
    pub fn max_log(self, bytes: u64) -> Self {
        Self { max_log: Some(bytes), ..self }
    }

    /// Bytes of a filter from which on a new snapshot is made by a thread in the background, if
    /// there is memory for a second filter. Default: 16 MiB.
    pub fn background_from(self, bytes: u64) -> Self {
        Self { background_from: bytes, ..self }
    }

    /// The same, but for work of which nothing is known.
    pub(crate) fn for_all(&self) -> Self {
        Self { expected: None, ..self.clone() }
    }

    /// Bytes of log that may follow a snapshot. The log begins with the runs, which a new snapshot would not
    /// make smaller.
    pub(crate) fn log_limit(&self, snapshot_bytes: u64, runs: &Runs) -> u64 {
        let runs = runs.bytes();
        self.max_log.unwrap_or_else(|| runs + ((snapshot_bytes + runs) / 4).max(LEAST_LOG))
    }
}

//! Writes a snapshot to a file that will replace the filter.

use std::fmt::{self, Debug, Formatter};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use coua::window::Generations;

use crate::error::StoreError;
use crate::fs::Disk;
use crate::log::{Base, Log, Target, Transaction};
use crate::notes::Notes;

/// A file that will replace the filter, with space for a snapshot.
#[derive(Debug)]
pub(crate) struct ReservedFile {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

impl ReservedFile {
    pub(crate) fn target<'a>(&'a self, disk: &'a dyn Disk) -> Target<'a> {
        Target { disk, file: &self.file, path: &self.path }
    }

    /// Abandons and removes it.
    pub(crate) fn remove(self, disk: &dyn Disk) {
        disk.remove(&self.path).ok();
    }
}

/// Writes and syncs a whole file: a snapshot, and the notes if there are any. `sync_every` is in bytes.
pub(crate) fn write_file(
    to: Target<'_>,
    filter: &Generations,
    notes: &Notes,
    sync_every: u64,
    is_canceled: &dyn Fn() -> bool,
) -> Result<Log, StoreError> {
    let mut log = Log::empty(write_snapshot(to, filter, sync_every, is_canceled)?);
    if !notes.is_empty() {
        log.put(to, Transaction { changes: &[], notes: &notes.encode_all() })?;
        to.sync()?;
        log.mark_committed();
    }
    Ok(log)
}

/// Whether an operation is to stop.
#[derive(Clone)]
pub(crate) struct Cancel(pub(crate) Arc<dyn Fn() -> bool + Send + Sync>);

impl Default for Cancel {
    fn default() -> Self {
        Self(Arc::new(|| false))
    }
}

impl Debug for Cancel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancel").finish_non_exhaustive()
    }
}

/// Signals from the store to a background writer.
#[derive(Debug)]
pub(crate) struct Signals {
    pub(crate) stop: AtomicBool,
    /// The end of the last commit.
    pub(crate) committed: AtomicU64,
}

impl Signals {
    /// The snapshot is no longer wanted.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Bytes between syncs of a background writer, so that commits do not wait for much unsynced data.
pub(crate) const STEADY: u64 = 32 << 20;
/// Bytes of a write, at multiples of this size: so Linux can cache and map each as one huge page, if the file
/// system supports that. Tests use small pieces.
pub(crate) const PIECE: usize = if cfg!(test) { 4 << 10 } else { 2 << 20 };

/// Writes a filter to an empty file, and syncs it, also after every `sync_every` bytes.
pub(crate) fn write_snapshot(
    to: Target<'_>,
    filter: &Generations,
    sync_every: u64,
    is_canceled: &dyn Fn() -> bool,
) -> Result<Base, StoreError> {
    let failed = |doing| move |source| StoreError::io(to.path, doing, source);
    let writer = filter.writer().map_err(failed("write"))?;
    let length = writer.length();
    let mut steps = Steps { to, sync_every, is_canceled, at: 0, synced: 0, piece: Vec::new() };
    writer.write_from(0, &mut steps).map_err(failed("write"))?;
    // Frees the reserved space beyond the end.
    to.disk.truncate(to.file, length).map_err(failed("truncate"))?;
    to.sync()?;
    Base::of(to.file, length).map_err(failed("read"))
}

/// Writes a part of a file piece by piece.
struct Steps<'a> {
    to: Target<'a>,
    sync_every: u64,
    is_canceled: &'a dyn Fn() -> bool,
    at: u64,
    /// The position of the last sync.
    synced: u64,
    /// Bytes not written yet.
    piece: Vec<u8>,
}

impl Write for Steps<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = &bytes[..bytes.len().min(PIECE - self.piece.len())];
        self.piece.try_reserve(taken.len())?;
        self.piece.extend_from_slice(taken);
        if self.piece.len() == PIECE {
            self.flush()?;
        }
        Ok(taken.len())
    }

    /// Writes the buffered bytes.
    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        if (self.is_canceled)() {
            return Err(io::Error::other("canceled"));
        }
        if self.at - self.synced >= self.sync_every {
            self.to.disk.sync(self.to.file)?;
            self.synced = self.at;
        }
        self.to.disk.write(self.to.file, &self.piece, self.at)?;
        self.at += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }
}

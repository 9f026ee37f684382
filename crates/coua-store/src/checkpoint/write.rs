//! Writing a snapshot into a file that is to replace the filter.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use coua::window::Generations;

use crate::error::StoreError;
use crate::fs::Disk;
use crate::log::{Base, Log, Target, Transaction};
use crate::notes::Notes;

/// A file that is to replace the filter, with space for a snapshot.
#[derive(Debug)]
pub(crate) struct Next {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

impl Next {
    pub(crate) fn target<'a>(&'a self, disk: &'a dyn Disk) -> Target<'a> {
        Target { disk, file: &self.file, path: &self.path }
    }

    /// Abandons it.
    pub(crate) fn remove(self, disk: &dyn Disk) {
        disk.remove(&self.path).ok();
    }
}

/// Writes a whole file: a snapshot, and the notes if there are any; and waits until it is on the disk.
pub(crate) fn write_file(
    to: Target<'_>,
    filter: &Generations,
    notes: &Notes,
    pace: Pace<'_>,
) -> Result<Log, StoreError> {
    let mut log = Log::empty(write_snapshot(to, filter, pace)?);
    if !notes.is_empty() {
        log.put(to, Transaction { changes: &[], notes: &notes.encode_all() })?;
        to.sync()?;
        log.mark_committed();
    }
    Ok(log)
}

/// How a snapshot is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace<'a> {
    /// A commit waits for it.
    AtOnce,
    /// In the background: stops on a signal, and syncs often, because commits would have to wait for unsynced
    /// data.
    Steady(&'a Signals),
}

/// What the store tells a background writer.
#[derive(Debug)]
pub(crate) struct Signals {
    pub(crate) stop: AtomicBool,
    /// Where the last commit ends.
    pub(crate) committed: AtomicU64,
}

impl Signals {
    /// Nobody wants the snapshot any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Bytes that a background writer writes before it syncs.
const STEADY: u64 = 32 << 20;
/// Bytes that are written at once, at multiples of as many: so Linux keeps them in one huge page where the file
/// system can, and maps it as one. Tests use small pieces.
pub(crate) const PIECE: usize = if cfg!(test) { 4 << 10 } else { 2 << 20 };

/// Writes a filter to an empty file, and waits until it is on the disk.
pub(crate) fn write_snapshot(
    to: Target<'_>,
    filter: &Generations,
    pace: Pace<'_>,
) -> Result<Base, StoreError> {
    let failed = |doing| move |source| StoreError::io(to.path, doing, source);
    let mut out = Steps { to, pace, at: 0, synced: 0, piece: Vec::new() };
    filter.write_to(&mut out).and_then(|()| out.write_piece()).map_err(failed("write"))?;
    // What was reserved beyond the end is given back.
    to.disk.truncate(to.file, out.at).map_err(failed("truncate"))?;
    to.sync()?;
    Base::of(to.file, out.at).map_err(failed("read"))
}

/// Writes a file piece by piece.
struct Steps<'a> {
    to: Target<'a>,
    pace: Pace<'a>,
    at: u64,
    /// The position of the last sync.
    synced: u64,
    /// Bytes not written yet.
    piece: Vec<u8>,
}

impl Steps<'_> {
    /// Writes what there is of a piece.
    fn write_piece(&mut self) -> io::Result<()> {
        if let Pace::Steady(signals) = self.pace {
            if signals.is_stopped() {
                return Err(io::Error::other("given up"));
            }
            if self.at - self.synced >= STEADY {
                self.to.disk.sync(self.to.file)?;
                self.synced = self.at;
            }
        }
        self.to.disk.write(self.to.file, &self.piece, self.at)?;
        self.at += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }
}

impl Write for Steps<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = &bytes[..bytes.len().min(PIECE - self.piece.len())];
        self.piece.try_reserve(taken.len())?;
        self.piece.extend_from_slice(taken);
        if self.piece.len() == PIECE {
            self.write_piece()?;
        }
        Ok(taken.len())
    }

    /// Does nothing, because only the last piece of the file may be incomplete.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

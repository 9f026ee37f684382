//! A new snapshot: space for it, its bytes, and the name of the filter.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;

use coua::window::Generations;

use crate::background::Signals;
use crate::disk::Disk;
use crate::error::{Reason, StoreError};
use crate::lock::is_at;
use crate::log::{Base, Kind, Log, Target, Transaction};
use crate::runs::Runs;
use crate::store::{Need, Store};

/// A file that is to replace the filter, with space for a snapshot.
#[derive(Debug)]
pub(crate) struct Next {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    bytes: u64,
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

impl Store {
    /// Reserves space for the next snapshot, if one may be written.
    pub(crate) fn reserve(&mut self) -> Result<(), StoreError> {
        let base = self.log.base();
        let fits = |changes: u64| {
            // 8 bytes a change, and as much again for the frames of small commits.
            let log = self.log.bytes().saturating_add(changes.saturating_mul(16));
            log <= self.options.log_limit(base.bytes, &self.runs)
        };
        let stays = self.need == Need::Log && self.options.expected.is_some_and(fits);
        if stays { Ok(()) } else { self.take_space() }
    }

    /// Reserves space for the next snapshot, or more of it for a filter that has grown since.
    pub(crate) fn take_space(&mut self) -> Result<(), StoreError> {
        let needed = self.largest();
        let disk = &*self.options.disk;
        if let Some(next) = &mut self.next {
            if next.bytes < needed {
                disk.reserve(&next.file, needed).map_err(no_space(self.lock.target()))?;
                next.bytes = needed;
            }
            return Ok(());
        }
        let target = self.lock.target();
        let created = disk.create(target);
        let (file, path) =
            created.map_err(|source| StoreError::io(target, "make a new snapshot of", source))?;
        if let Err(source) = disk.reserve(&file, needed) {
            disk.remove(&path).ok();
            return Err(no_space(target)(source));
        }
        self.next = Some(Next { file, path, bytes: needed });
        Ok(())
    }

    /// Commits by a snapshot that is written now.
    pub(crate) fn commit_now(&mut self) -> Result<(), StoreError> {
        self.abandon();
        self.check_old_snapshot()?;
        self.take_space()?;
        let Some(next) = self.next.take() else { return Ok(()) };
        let disk = self.options.disk.clone();
        let written = write_file(next.target(&*disk), &self.filter, &self.runs, self.superseded);
        match written.and_then(|log| self.give_name(&next).map(|()| log)) {
            Ok(log) => self.has_replaced(next.file, log),
            Err(error) => {
                next.remove(&*disk);
                return Err(error);
            }
        }
        self.sync_name()
    }

    /// Checks segments that were mapped: they must not get a new checksum unchecked.
    fn check_old_snapshot(&mut self) -> Result<(), StoreError> {
        if self.is_unchecked {
            let checked = Generations::verify(self.lock.file(), self.log.base().bytes);
            checked.map_err(|source| Reason::Load(source).at(self.lock.target()))?;
            self.is_unchecked = false;
        }
        Ok(())
    }

    /// Gives the name of the filter to a file that is on the disk.
    pub(crate) fn give_name(&self, next: &Next) -> Result<(), StoreError> {
        self.lock.check_held()?;
        let to = self.lock.target();
        match self.options.disk.rename(&next.path, to) {
            // On a network file system the rename may succeed although its answer was lost.
            Err(source) if !(cfg!(unix) && is_at(&next.file, to)) => {
                Err(StoreError::io(to, "replace", source))
            }
            _ => Ok(()),
        }
    }

    /// This file has the name now.
    pub(crate) fn has_replaced(&mut self, file: File, log: Log) {
        let old = self.lock.go_over_to(file);
        // Freeing gigabytes takes a while, so another thread drops the file.
        thread::Builder::new().spawn(move || drop(old)).ok();
        (self.log, self.need, self.is_unchecked) = (log, Need::Log, false);
        self.changes.clear();
        self.committed_runs = self.runs.clone();
    }

    /// Syncs the folder. If that fails, a power cut may leave either file, so nothing more may be committed.
    pub(crate) fn sync_name(&mut self) -> Result<(), StoreError> {
        let synced = self.options.disk.sync_folder(self.lock.folder());
        synced.map_err(|source| {
            self.need = Need::Reopening;
            Reason::Unsynced(source).at(self.lock.target())
        })
    }
}

fn no_space(path: &Path) -> impl FnOnce(io::Error) -> StoreError + use<> {
    let path = path.to_owned();
    move |source| StoreError::io(&path, "take space for a new snapshot of", source)
}

/// Writes a whole file: a snapshot, and the runs if there are any; and waits until it is on the disk.
pub(crate) fn write_file(
    to: Target<'_>,
    filter: &Generations,
    runs: &Runs,
    superseded: Option<u64>,
) -> Result<Log, StoreError> {
    let mut log = Log::empty(write_snapshot(to, filter, Pace::AtOnce)?);
    if put_state(&mut log, to, runs, superseded)? {
        to.sync()?;
        log.settle();
    }
    Ok(log)
}

/// Commits what a snapshot cannot hold. Returns whether there was anything.
pub(crate) fn put_state(
    log: &mut Log,
    to: Target<'_>,
    runs: &Runs,
    superseded: Option<u64>,
) -> Result<bool, StoreError> {
    if let Some(name) = superseded {
        log.append(to, Kind::TakeOver, &name.to_le_bytes())?;
    }
    let runs = runs.changes_since(&Runs::default());
    let has_state = superseded.is_some() || !runs.is_empty();
    if has_state {
        log.put(to, Transaction { changes: &[], runs: &runs })?;
    }
    Ok(has_state)
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
    filter.write_to(&mut out).and_then(|()| out.put_piece()).map_err(failed("write"))?;
    // What was reserved beyond the end is given back.
    to.disk.cut(to.file, out.at).map_err(failed("cut"))?;
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
    fn put_piece(&mut self) -> io::Result<()> {
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
            self.put_piece()?;
        }
        Ok(taken.len())
    }

    /// Does nothing, because only the last piece of the file may be incomplete.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! A new snapshot, written by a commit or by a thread, and renamed into place.

mod background;
mod write;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use coua::window::Generations;

use crate::error::{Reason, StoreError};
use crate::fs::{Disk, Lock, is_at};
use crate::log::{Log, Mark, Scan, Transaction};
use crate::memory::Residence;
use crate::notes::Notes;
use crate::recover::checked;
use background::{Background, Present, Task};
pub(crate) use write::Cancel;
use write::{ReservedFile, write_file};

pub(crate) use background::{FinishedSnapshot, Spawn, Threads};
#[cfg(test)]
pub(crate) use {
    background::Work,
    write::{PIECE, Signals, write_snapshot},
};

/// Writes the snapshots of a store.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    disk: Arc<dyn Disk>,
    spawn: Arc<dyn Spawn>,
    /// The secret key of the filter's hash, if it has one.
    key: Option<[u8; 16]>,
    /// Whether to stop writing a snapshot for which a commit waits.
    cancel: Cancel,
    /// Segments of the present snapshot have not been checked since it was opened.
    is_unchecked: bool,
    /// Space for the next snapshot.
    next: Option<ReservedFile>,
    /// The thread that is writing the next snapshot, if any.
    background: Option<Background>,
}

impl Checkpointer {
    /// Space for a snapshot is not reserved yet. `present` is where the present one is.
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        spawn: Arc<dyn Spawn>,
        key: Option<[u8; 16]>,
        cancel: Cancel,
        present: &Residence,
    ) -> Self {
        let is_unchecked = present.mapped().is_some();
        Self { disk, spawn, key, cancel, is_unchecked, next: None, background: None }
    }

    /// Whether a thread is writing a snapshot.
    pub(crate) fn is_at_work(&self) -> bool {
        self.background.is_some()
    }

    /// Reserves space for the next snapshot, if there is less.
    pub(crate) fn reserve(&mut self, target: &Path, bytes: u64) -> Result<(), StoreError> {
        self.next = Some(self.take_next(target, bytes)?);
        Ok(())
    }

    /// The file of the next snapshot, with space for `bytes` bytes.
    fn take_next(&mut self, target: &Path, bytes: u64) -> Result<ReservedFile, StoreError> {
        let failed = |doing| move |source| StoreError::io(target, doing, source);
        let mut next = match self.next.take() {
            Some(next) if next.bytes >= bytes => return Ok(next),
            Some(next) => next,
            None => {
                let created = self.disk.create(target);
                let (file, path) = created.map_err(failed("create a new snapshot of"))?;
                ReservedFile { file, path, bytes }
            }
        };
        if let Err(source) = self.disk.reserve(&next.file, bytes) {
            next.remove(&*self.disk);
            return Err(failed("reserve space for a new snapshot of")(source));
        }
        next.bytes = bytes;
        Ok(next)
    }

    /// Writes a snapshot of about `bytes` bytes, and renames it into place. Returns the log that follows it. Does not
    /// sync the folder.
    ///
    /// Checks segments that were mapped: they must not get a new checksum unchecked.
    pub(crate) fn write(
        &mut self,
        lock: &mut Lock,
        filter: &Generations,
        notes: &Notes,
        bytes: u64,
    ) -> Result<Log, StoreError> {
        self.abandon();
        if self.is_unchecked {
            checked(lock.file()).map_err(|source| Reason::Load(source).at(lock.target()))?;
            self.is_unchecked = false;
        }
        let next = self.take_next(lock.target(), bytes)?;
        let to = next.target(&*self.disk);
        let written = write_file(to, filter, notes, u64::MAX, &*self.cancel.0);
        self.rename_into_place(next, lock, written)
    }

    /// Lets a thread write the next snapshot, of about `bytes` bytes.
    pub(crate) fn start(
        &mut self,
        lock: &Lock,
        log: &Log,
        notes: &Notes,
        bytes: u64,
    ) -> Result<(), StoreError> {
        let next = self.take_next(lock.target(), bytes)?;
        let path = next.path.clone();
        let started = Present::of(lock, log, notes).and_then(|present| {
            let task = Task { disk: self.disk.clone(), key: self.key, present, next };
            Background::start(&*self.spawn, task)
        });
        match started {
            Ok(background) => self.background = Some(background),
            Err(error) => {
                self.disk.remove(&path).ok();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Tells the thread where the last commit ends.
    pub(crate) fn announce(&self, committed: Mark) {
        if let Some(background) = &self.background {
            background.signals.committed.store(committed.at, Ordering::Release);
        }
    }

    /// The next file, if a thread has finished it. A failure is returned once.
    pub(crate) fn poll_finished(
        &mut self,
        target: &Path,
    ) -> Result<Option<FinishedSnapshot>, StoreError> {
        let Some(finished) =
            self.background.as_mut().and_then(|background| background.poll(target))
        else {
            return Ok(None);
        };
        let background = self.background.take();
        if let (Err(_), Some(background)) = (&finished, background) {
            drop(background.stop(&*self.disk));
        }
        finished.map(Some)
    }

    /// Appends the later commits and `what` to a file that a thread has written, and renames it into place. Returns
    /// its log. Does not sync the folder.
    pub(crate) fn switch_to(
        &mut self,
        finished: FinishedSnapshot,
        lock: &mut Lock,
        present: &Log,
        what: Transaction<'_>,
    ) -> Result<Log, StoreError> {
        let FinishedSnapshot { next, mut log, copied } = finished;
        let to = next.target(&*self.disk);
        let (until, base) = (present.written().at, present.base());
        let scan = Scan::up_to(until, lock.file(), lock.target(), base);
        let written = log
            .copy(to, &scan, copied)
            .and_then(|_| log.put(to, what))
            .and_then(|()| to.sync())
            .map(|()| {
                log.mark_committed();
                log
            });
        self.rename_into_place(next, lock, written)
    }

    /// Abandons the snapshot that a thread is writing, and waits until its memory and disk space are free.
    pub(crate) fn abandon(&mut self) {
        if let Some(background) = self.background.take() {
            background.stop(&*self.disk).recv().ok();
        }
    }

    /// Renames a synced file to the name of the filter, if it was written.
    fn rename_into_place(
        &mut self,
        next: ReservedFile,
        lock: &mut Lock,
        written: Result<Log, StoreError>,
    ) -> Result<Log, StoreError> {
        let to = lock.target();
        let renamed = written.and_then(|log| {
            lock.check_held()?;
            match self.disk.rename(&next.path, to) {
                // On a network file system the rename may succeed although its answer was lost.
                Err(source) if !(cfg!(unix) && is_at(&next.file, to)) => {
                    Err(StoreError::io(to, "replace", source))
                }
                _ => Ok(log),
            }
        });
        match renamed {
            Ok(_) => {
                let old = lock.switch_to(next.file);
                // Freeing gigabytes takes a while, so another thread drops the file.
                thread::Builder::new().spawn(move || drop(old)).ok();
                self.is_unchecked = false;
            }
            Err(_) => next.remove(&*self.disk),
        }
        renamed
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        if let Some(background) = self.background.take() {
            drop(background.stop(&*self.disk));
        }
        if let Some(next) = self.next.take() {
            // Frees the reserved space; after a crash the next writer does.
            next.remove(&*self.disk);
        }
    }
}

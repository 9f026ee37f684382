//! A new snapshot: space for it, its bytes, and the name of the filter.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread;

use coua::window::Generations;

use crate::error::{Reason, StoreError};
use crate::lock::is_at;
use crate::log::Log;
use crate::store::{Need, Store};
use crate::write::{Next, write_file};

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
        let written = write_file(next.target(&*disk), &self.filter, &self.runs);
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

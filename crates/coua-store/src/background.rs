//! The next snapshot, made by a thread while the work goes on.
//!
//! Everything it needs is on the disk: the present snapshot, and the log up to a commit. So the thread
//! shares nothing with the filter in memory
//! (`docs/decisions/0012-background-snapshots.md`).
//!
//! The thread gets open files and no names. Whoever abandons it removes the name, and what the thread may
//! still write belongs to no file.

#[cfg(test)]
pub(crate) mod held;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use coua::window::Generations;

use crate::access::Touch;
use crate::error::{Reason, StoreError};
use crate::log::{Base, Log, Mark, Scan};
use crate::options::Options;
use crate::runs::Runs;
use crate::spawn::Signals;
use crate::state::{apply, view_of};
use crate::write::{Next, Pace, put_state, write_snapshot};

/// Bytes of log that a commit copies itself, which takes less time than its sync.
const CLOSE: u64 = 1 << 20;

/// The store's handle of the thread.
#[derive(Debug)]
pub(crate) struct Background {
    pub(crate) signals: Arc<Signals>,
    pub(crate) path: PathBuf,
    pub(crate) made: Receiver<Result<Made, StoreError>>,
}

/// The next file, on the disk and without its name.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) next: Next,
    pub(crate) log: Log,
    /// It has the frames of the present log up to here.
    pub(crate) copied: Mark,
}

/// The task of the thread.
pub(crate) struct Task {
    pub(crate) options: Options,
    pub(crate) file: File,
    /// For messages alone.
    pub(crate) path: PathBuf,
    pub(crate) base: Base,
    pub(crate) until: Mark,
    /// As they were committed.
    pub(crate) runs: Runs,
    pub(crate) next: Next,
    pub(crate) signals: Arc<Signals>,
}

impl Task {
    pub(crate) fn run(self) -> Result<Made, StoreError> {
        let disk = &*self.options.disk;
        let filter = self.filter()?;
        let to = self.next.target(disk);
        let mut log = Log::empty(write_snapshot(to, &filter, Pace::Steady(&self.signals))?);
        drop(filter);
        put_state(&mut log, to, &self.runs)?;
        let (mut copied, committed) = (self.until, &self.signals.committed);
        loop {
            let present = Scan::new(&self.file, &self.path, self.base)?;
            copied = log.copy(to, &present, copied, committed.load(Ordering::Relaxed))?;
            to.sync()?;
            let is_close = committed.load(Ordering::Relaxed) < copied.at + CLOSE;
            if is_close || self.signals.is_stopped() {
                return Ok(Made { next: self.next, log, copied });
            }
        }
    }

    /// The filter as it was committed.
    fn filter(&self) -> Result<Generations, StoreError> {
        let unreadable = |source| Reason::Load(source).at(&self.path);
        self.go_on()?;
        let logged = self.until.at - self.base.bytes;
        let view = view_of(&self.options, &self.file, self.base.bytes, Touch::Change, logged);
        let mut view = view.map_err(unreadable)?;
        if view.memory.is_mapped {
            // Checked, or damage would get a new checksum. Read in order, which is faster than page by page.
            Generations::verify(&self.file, self.base.bytes).map_err(unreadable)?;
        }
        let scan = Scan::new(&self.file, &self.path, self.base)?;
        scan.frames(self.base.first(), self.until.at, |frame| {
            self.go_on()?;
            apply(&mut view, &self.path, frame)
        })?;
        Ok(view.filter)
    }

    fn go_on(&self) -> Result<(), StoreError> {
        let given_up = || StoreError::io(&self.path, "write", io::Error::other("given up"));
        if self.signals.is_stopped() { Err(given_up()) } else { Ok(()) }
    }
}

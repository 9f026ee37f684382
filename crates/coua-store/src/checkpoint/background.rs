//! Writes the next snapshot in a thread while the work continues.
//!
//! Everything it needs is on disk: the present snapshot, and the log up to a commit. So the thread
//! shares nothing with the filter in memory
//! (`docs/decisions/0012-background-snapshots.md`).
//!
//! The thread gets open files without names. A caller that abandons it removes the name, so further writes of the
//! thread reach no named file.

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use coua::Load;
use coua::window::Generations;

use super::write::{ReservedFile, STEADY, Signals, write_file};
use crate::error::{Reason, StoreError};
use crate::fs::{Disk, Lock, is_at};
use crate::log::{Base, Log, Mark, Scan, replay};
use crate::notes::Notes;

/// Bytes of log that a commit copies itself, which takes less time than its sync.
const CLOSE: u64 = 1 << 20;

/// The store's handle of the thread.
#[derive(Debug)]
pub(super) struct Background {
    pub(super) signals: Arc<Signals>,
    path: PathBuf,
    /// In a mutex that is never locked, so that threads can share the store for reading.
    pub(super) finished: Mutex<Receiver<Result<FinishedSnapshot, StoreError>>>,
}

impl Background {
    /// Begins to write the next file, with the present committed state.
    pub(super) fn start(spawn: &dyn Spawn, task: Task) -> Result<Self, StoreError> {
        let (path, target) = (task.next.path.clone(), task.present.path.clone());
        let committed = AtomicU64::new(task.present.until.at);
        let signals = Arc::new(Signals { stop: AtomicBool::new(false), committed });
        let (sender, finished) = channel();
        let of_thread = signals.clone();
        // If the store is gone, the new file is dropped here.
        let work = Box::new(move || drop(sender.send(task.run(&of_thread))));
        spawn.start(work, &signals).map_err(|source| {
            StoreError::io(&target, "start the background snapshot of", source)
        })?;
        Ok(Self { signals, path, finished: Mutex::new(finished) })
    }

    /// The result of the thread; none while it is working.
    pub(super) fn poll(&mut self, target: &Path) -> Option<Result<FinishedSnapshot, StoreError>> {
        let finished = self.finished.get_mut().unwrap_or_else(PoisonError::into_inner);
        match finished.try_recv() {
            Ok(finished) => Some(finished),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                let source = io::Error::other("its thread ended early");
                Some(Err(StoreError::io(target, "write a new snapshot of", source)))
            }
        }
    }

    /// Stops the thread, whose further writes reach no named file. The receiver returns when its memory and disk space
    /// are free.
    pub(super) fn stop(self, disk: &dyn Disk) -> Receiver<Result<FinishedSnapshot, StoreError>> {
        self.signals.stop.store(true, Ordering::Relaxed);
        disk.remove(&self.path).ok();
        self.finished.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The next file, synced and without its final name.
#[derive(Debug)]
pub(crate) struct FinishedSnapshot {
    pub(super) next: ReservedFile,
    pub(super) log: Log,
    /// The frames of the present log up to this mark are in the file.
    pub(super) copied: Mark,
}

/// The present file, and its committed state.
pub(super) struct Present {
    file: File,
    /// For messages only.
    path: PathBuf,
    base: Base,
    until: Mark,
    notes: Notes,
}

impl Present {
    pub(super) fn of(lock: &Lock, log: &Log, notes: &Notes) -> Result<Self, StoreError> {
        let path = lock.target().to_owned();
        // Opens the file again, for a separate position.
        let file = File::open(&path).map_err(|source| StoreError::io(&path, "open", source))?;
        if !lock.is_held() || !is_at(&file, &path) {
            return Err(Reason::Replaced.at(&path));
        }
        Ok(Self { file, path, base: log.base(), until: log.committed(), notes: notes.clone() })
    }
}

/// The task of the thread.
pub(super) struct Task {
    pub(super) disk: Arc<dyn Disk>,
    /// The secret key of the filter's hash, if it has one.
    pub(super) key: Option<[u8; 16]>,
    pub(super) present: Present,
    pub(super) next: ReservedFile,
}

impl Task {
    fn run(self, signals: &Signals) -> Result<FinishedSnapshot, StoreError> {
        let present = &self.present;
        let filter = self.filter(signals)?;
        let to = self.next.target(&*self.disk);
        let is_stopped = || signals.is_stopped();
        let mut log = write_file(to, &filter, &present.notes, STEADY, &is_stopped)?;
        drop(filter);
        let (mut copied, committed) = (present.until, &signals.committed);
        loop {
            let until = committed.load(Ordering::Acquire);
            let scan = Scan::up_to(until, &present.file, &present.path, present.base);
            copied = log.copy(to, &scan, copied)?;
            to.sync()?;
            let is_close = committed.load(Ordering::Acquire) < copied.at + CLOSE;
            if is_close || signals.is_stopped() {
                return Ok(FinishedSnapshot { next: self.next, log, copied });
            }
        }
    }

    /// The filter as it was committed.
    fn filter(&self, signals: &Signals) -> Result<Generations, StoreError> {
        let Present { file, path, base, until, .. } = &self.present;
        let check_stopped = || {
            let canceled = || StoreError::io(path, "write", io::Error::other("canceled"));
            if signals.is_stopped() { Err(canceled()) } else { Ok(()) }
        };
        check_stopped()?;
        // Checks every byte, because damage must not get a new checksum.
        let loaded = Load::new().part(..base.bytes).key(self.key).file(file);
        let mut filter = loaded.map_err(|source| Reason::Load(source).at(path))?;
        Scan::up_to(until.at, file, path, *base).frames(base.first(), |frame| {
            check_stopped()?;
            replay(&mut filter, path, frame)
        })?;
        Ok(filter)
    }
}

/// Runs background work. Tests decide when.
pub(crate) trait Spawn: Debug + Send + Sync {
    /// Runs the work in another thread.
    fn start(&self, work: Work, signals: &Arc<Signals>) -> io::Result<()>;
}

pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// Runs each task in a new thread.
#[derive(Debug)]
pub(crate) struct Threads;

impl Spawn for Threads {
    fn start(&self, work: Work, _signals: &Arc<Signals>) -> io::Result<()> {
        thread::Builder::new().name("coua-snapshot".to_owned()).spawn(work).map(drop)
    }
}

//! The next snapshot, made by a thread while the work goes on.
//!
//! All that it is to hold is on the disk already: the present snapshot, and the journal up to a commit. So
//! the thread makes it from these, and shares nothing with the filter in memory
//! (`docs/decisions/0012-snapshots-beside-the-work.md`).
//!
//! The thread is given open files, and touches no name: who gives up on it removes the names, and
//! what it may still write then is nowhere.

#[cfg(test)]
pub(crate) mod held;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use coua::window::Generations;

use crate::access::Touch;
use crate::error::StoreError;
use crate::files::{Files, JournalUse, Named};
use crate::journal::{Identity, Journal, Mark, Scan};
use crate::next::{Pace, write_snapshot};
use crate::options::Options;
use crate::state::{apply, view_of};
use crate::store::{Need, Store};

/// Bytes of journal that a commit carries over itself, in less time than it waits for the disk.
const CLOSE: u64 = 1 << 20;

/// Who works beside: the seam at which tests hold the work.
pub(crate) trait Crew: Debug + Send + Sync {
    /// Has the work done by somebody else.
    fn start(&self, work: Work, signals: &Arc<Signals>) -> io::Result<()>;
}

pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// A thread for each work.
#[derive(Debug)]
pub(crate) struct Threads;

impl Crew for Threads {
    fn start(&self, work: Work, _signals: &Arc<Signals>) -> io::Result<()> {
        thread::Builder::new().name("coua-snapshot".to_owned()).spawn(work).map(drop)
    }
}

/// What the store tells the thread.
#[derive(Debug)]
pub(crate) struct Signals {
    stop: AtomicBool,
    /// Where the journal's last commit ends.
    committed: AtomicU64,
}

impl Signals {
    /// Nobody wants the snapshot any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The thread at work, as the store sees it.
#[derive(Debug)]
pub(crate) struct Beside {
    signals: Arc<Signals>,
    made: Receiver<Result<Made, StoreError>>,
}

/// The next snapshot, on the disk and without its name; and the beginning of the next journal.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) file: File,
    pub(crate) identity: Identity,
    /// It has the changes up to here in the present journal.
    pub(crate) from: Mark,
    pub(crate) journal: Journal,
    /// And the journal has them up to here.
    pub(crate) carried: Mark,
}

impl Beside {
    /// Tells of a commit.
    pub(crate) fn tell(&self, committed: Mark) {
        self.signals.committed.store(committed.at, Ordering::Relaxed);
    }

    pub(crate) fn stop(&self) {
        self.signals.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until the thread has let go of everything.
    pub(crate) fn wait(self) {
        self.made.recv().ok();
    }
}

impl Store {
    /// Whether a new snapshot is written beside the work: not one that takes less time than a commit,
    /// nor in a journal whose version does not know how.
    pub(crate) fn works_beside(&self) -> bool {
        let exists = self.snapshot.identity != Identity::default();
        let is_large = self.largest() >= self.options.beside_from;
        exists && is_large && self.journal.as_ref().is_none_or(Journal::has_from)
    }

    /// Bytes of the present snapshot, or of the next one if that will be larger.
    pub(crate) fn largest(&self) -> u64 {
        self.snapshot.identity.bytes.max(self.filter.memory_bytes() as u64)
    }

    /// Whether a new snapshot is to be begun beside the work.
    pub(crate) fn is_due(&self) -> bool {
        self.beside.is_none() && self.is_at_limit(self.log.bytes()) && self.works_beside()
    }

    /// Whether there is memory for it: the thread has a filter of its own.
    pub(crate) fn has_room_beside(&self) -> bool {
        let Some(available) = (self.options.room)() else { return true };
        let journal = self.journal.as_ref().map_or(0, Journal::bytes);
        let present = self.snapshot.identity.bytes;
        let growth = self.largest() - present;
        let needed = self.options.access.own_bytes(present, journal / 8).saturating_add(growth);
        // A quarter is left to others.
        needed <= available / 4 * 3
    }

    /// Begins to make the next snapshot, which will have what is committed now.
    pub(crate) fn begin_beside(&mut self) -> Result<(), StoreError> {
        self.take_space()?;
        let begun = self.start_task();
        if begun.is_err() {
            self.remove_next();
        }
        begun
    }

    fn start_task(&mut self) -> Result<(), StoreError> {
        let (Some(reserved), Some(journal)) = (self.reserved.take(), &self.journal) else {
            return Ok(());
        };
        let (files, until) = (self.files(), journal.committed());
        let lost = || StoreError::Replaced { path: files.snapshot.clone() };
        let committed = AtomicU64::new(until.at);
        let signals = Arc::new(Signals { stop: AtomicBool::new(false), committed });
        let task = Task {
            snapshot: files.open_snapshot()?.ok_or_else(lost)?,
            journal: files.open_journal(JournalUse::Read)?.ok_or_else(lost)?,
            identity: self.snapshot.identity,
            until,
            next: reserved.file,
            next_journal: Journal::next_file(&*self.options.disk, files)?,
            options: self.options.for_all(),
            files: files.clone(),
            signals: signals.clone(),
        };
        let (sender, made) = channel();
        // If nobody listens any more, what was made goes away here.
        let work = Box::new(move || drop(sender.send(task.run())));
        let started = self.options.crew.start(work, &signals);
        started.map_err(|source| StoreError::io(&files.snapshot, "work beside", source))?;
        self.beside = Some(Beside { signals, made });
        Ok(())
    }

    /// The next snapshot, if it has been made. What went wrong is said once; without memory for it, it is
    /// written at once.
    pub(crate) fn made(&mut self) -> Result<Option<Made>, StoreError> {
        let Some(beside) = &self.beside else { return Ok(None) };
        let made = match beside.made.try_recv() {
            Err(TryRecvError::Empty) => return Ok(None),
            Ok(made) => made,
            Err(TryRecvError::Disconnected) => {
                let source = io::Error::other("its thread has ended early");
                Err(StoreError::io(&self.files().next_snapshot, "write", source))
            }
        };
        self.beside = None;
        if made.is_err() {
            self.remove_next();
        }
        match made {
            Err(error) if error.lacks_memory() => {
                self.outgrow();
                Ok(None)
            }
            made => made.map(Some),
        }
    }

    /// Gives up on the snapshot that is being made, and waits until its memory and its space are free.
    pub(crate) fn abandon(&mut self) {
        if let Some(beside) = self.beside.take() {
            beside.stop();
            self.remove_next();
            beside.wait();
        }
    }

    /// Removes the files of a snapshot that will not come; what stays is removed by the next writer.
    pub(crate) fn remove_next(&self) {
        for path in [&self.files().next_snapshot, &self.files().next_journal] {
            if path.exists() {
                self.options.disk.remove(path).ok();
            }
        }
    }

    /// Whether the journal with these changes is as large as it should become.
    pub(crate) fn is_at_limit(&self, changes: &[u8]) -> bool {
        let limit = self.options.journal_limit(self.snapshot.identity.bytes);
        self.need == Need::Journal && self.journal_with(changes) >= limit
    }
}

/// What the thread has to do.
struct Task {
    options: Options,
    /// For messages alone.
    files: Files,
    snapshot: File,
    identity: Identity,
    journal: File,
    until: Mark,
    next: File,
    next_journal: File,
    signals: Arc<Signals>,
}

impl Task {
    fn run(self) -> Result<Made, StoreError> {
        let (disk, files) = (&*self.options.disk, &self.files);
        let filter = self.filter()?;
        let next = Named { file: &self.next, path: &files.next_snapshot };
        let identity = write_snapshot(disk, next, &filter, Pace::Steady(&self.signals))?;
        drop(filter);
        let mut journal = Journal::begin(disk, self.next_journal, &files.next_journal, identity)?;
        let (mut carried, committed) = (self.until, &self.signals.committed);
        loop {
            let old = Named { file: &self.journal, path: &files.journal };
            carried = journal.carry(disk, old, carried, committed.load(Ordering::Relaxed))?;
            journal.sync(disk)?;
            let is_close = committed.load(Ordering::Relaxed) < carried.at + CLOSE;
            if is_close || self.signals.is_stopped() {
                return Ok(Made { file: self.next, identity, from: self.until, journal, carried });
            }
        }
    }

    /// The filter as it was committed.
    fn filter(&self) -> Result<Generations, StoreError> {
        let files = &self.files;
        let unreadable = |source| StoreError::Load { path: files.snapshot.clone(), source };
        self.go_on()?;
        let (bytes, logged) = (self.identity.bytes, self.until.at);
        let view = view_of(&self.options, &self.snapshot, bytes, Touch::Change, logged);
        let mut view = view.map_err(unreadable)?;
        if view.memory.is_mapped {
            // Damage must not get a new checksum; and what is read in order need not come page by page.
            io::Seek::rewind(&mut &self.snapshot).map_err(|error| unreadable(error.into()))?;
            Generations::verify(&self.snapshot).map_err(unreadable)?;
        }
        let scan = Scan::begin(&self.journal, &files.journal)?;
        scan.frames(Mark::FIRST, self.until.at, |at, kind, payload| {
            self.go_on()?;
            apply(&mut view, files, at, kind, payload)
        })?;
        Ok(view.filter)
    }

    fn go_on(&self) -> Result<(), StoreError> {
        let given_up = || io::Error::other("given up");
        let failed = || StoreError::io(&self.files.next_snapshot, "write", given_up());
        if self.signals.is_stopped() { Err(failed()) } else { Ok(()) }
    }
}

//! Replacing the filter's file by one that was made in the background.

use std::fs::File;
use std::io;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use coua::SharedCuckooFilter;

use crate::background::{Background, Made, Task};
use crate::error::{Reason, StoreError};
use crate::lock::is_at;
use crate::log::{Scan, Transaction};
use crate::spawn::Signals;
use crate::store::{Need, Store};
use crate::write::Next;

impl Store {
    /// Whether a new snapshot is written in the background: not one that takes less time than a commit.
    pub(crate) fn works_in_background(&self) -> bool {
        self.log.base().bytes > 0 && self.largest() >= self.options.background_from
    }

    /// Bytes of the present snapshot, or of the next one if that will be larger.
    pub(crate) fn largest(&self) -> u64 {
        let divided = self.divided.filter().as_ref().map(SharedCuckooFilter::memory_bytes);
        let memory = divided.unwrap_or_else(|| self.filter.memory_bytes());
        self.log.base().bytes.max(memory as u64)
    }

    /// Whether a new snapshot is to be begun in the background.
    pub(crate) fn is_due(&self) -> bool {
        self.background.is_none()
            && self.is_at_limit(self.changes.bytes())
            && self.works_in_background()
    }

    /// Whether there is memory for it: the thread has a filter of its own.
    pub(crate) fn has_memory_for_background(&self) -> bool {
        let Some(available) = (self.options.available_memory)() else { return true };
        let present = self.log.base().bytes;
        let growth = self.largest() - present;
        let own = self.options.access.own_bytes(present, self.log.bytes() / 8);
        // A quarter is left to others.
        own.saturating_add(growth) <= available / 4 * 3
    }

    /// Begins to make the next snapshot, which will have what is committed now.
    pub(crate) fn start_background(&mut self) -> Result<(), StoreError> {
        self.take_space()?;
        let Some(next) = self.next.take() else { return Ok(()) };
        let path = next.path.clone();
        let started = self.start_task(next);
        if started.is_err() {
            self.options.disk.remove(&path).ok();
        }
        started
    }

    fn start_task(&mut self, next: Next) -> Result<(), StoreError> {
        let (path, until) = (self.lock.target(), self.log.committed());
        // With a position of its own.
        let file = File::open(path).map_err(|source| StoreError::io(path, "open", source))?;
        if !self.lock.is_held() || !is_at(&file, path) {
            return Err(Reason::Replaced.at(path));
        }
        let committed = AtomicU64::new(until.at);
        let signals = Arc::new(Signals { stop: AtomicBool::new(false), committed });
        let next_path = next.path.clone();
        let task = Task {
            options: self.options.for_all(),
            file,
            path: path.to_owned(),
            base: self.log.base(),
            until,
            runs: self.committed_runs.clone(),
            next,
            signals: signals.clone(),
        };
        let (sender, made) = channel();
        // If the store is gone, the new file is dropped here.
        let work = Box::new(move || drop(sender.send(task.run())));
        let started = self.options.spawn.start(work, &signals);
        started
            .map_err(|source| StoreError::io(path, "start the background snapshot of", source))?;
        self.background = Some(Background { signals, path: next_path, made });
        Ok(())
    }

    /// The next file, if it has been made. A failure is reported once; without memory for a second filter, the
    /// snapshot is written by the commit.
    pub(crate) fn made(&mut self) -> Result<Option<Made>, StoreError> {
        let Some(background) = &self.background else { return Ok(None) };
        let made = match background.made.try_recv() {
            Err(TryRecvError::Empty) => return Ok(None),
            Ok(made) => made,
            Err(TryRecvError::Disconnected) => {
                let source = io::Error::other("its thread has ended early");
                Err(StoreError::io(self.lock.target(), "write a new snapshot of", source))
            }
        };
        if let (Err(_), Some(background)) = (&made, self.background.take()) {
            self.options.disk.remove(&background.path).ok();
        }
        match made {
            Err(error) if error.lacks_memory() => {
                self.outgrow();
                Ok(None)
            }
            made => made.map(Some),
        }
    }

    /// Commits, and switches to a file that was made in the background.
    pub(crate) fn go_over_to(&mut self, made: Made) -> Result<(), StoreError> {
        let Made { next, mut log, copied } = made;
        let disk = self.options.disk.clone();
        let to = next.target(&*disk);
        let (changes, runs) = (mem::take(&mut self.changes), self.run_changes());
        let ready = Scan::new(self.lock.file(), self.lock.target(), self.log.base())
            .and_then(|present| log.copy(to, &present, copied, self.log.written().at))
            .and_then(|_| log.put(to, Transaction { changes: changes.bytes(), runs: &runs }))
            .and_then(|()| to.sync())
            .and_then(|()| self.give_name(&next));
        if let Err(error) = ready {
            next.remove(&*disk);
            // The present file is as it was, and the next commit appends to it.
            self.changes = changes;
            return Err(error);
        }
        log.settle();
        self.has_replaced(next.file, log);
        self.sync_name()?;
        // The commit is done. If there is no space, the next one reports it.
        self.reserve().ok();
        Ok(())
    }

    /// Abandons the snapshot that is being made, and waits until its memory and its space are free.
    pub(crate) fn abandon(&mut self) {
        if let Some(made) = self.stop_background() {
            made.recv().ok();
        }
    }

    /// Abandons the snapshot that is being made. Its thread ends by itself; what it may still write has no name.
    pub(crate) fn stop_background(&mut self) -> Option<Receiver<Result<Made, StoreError>>> {
        let background = self.background.take()?;
        background.signals.stop.store(true, Ordering::Relaxed);
        self.options.disk.remove(&background.path).ok();
        Some(background.made)
    }

    /// Whether the log with these changes is as large as it should become.
    pub(crate) fn is_at_limit(&self, changes: &[u8]) -> bool {
        let limit = self.options.log_limit(self.log.base().bytes, &self.runs);
        self.need == Need::Log && self.log_with(changes) >= limit
    }
}

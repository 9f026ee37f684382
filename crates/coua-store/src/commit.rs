//! Committing: a transaction in the log, or a new snapshot.

use std::mem;
use std::sync::atomic::Ordering;

use coua::window::Generations;

use crate::error::{Reason, StoreError};
use crate::log::Transaction;
use crate::runs::{Run, Runs};
use crate::store::{Need, Store};

/// A snapshot of up to this many bytes is rewritten at the end, not followed by a log.
const SMALL: u64 = 1 << 20;

impl Store {
    /// Makes all changes so far durable, those of the filter and of its runs. When this returns, they are on the
    /// disk. A crash before that leaves the state of the previous commit or of this one.
    ///
    /// Usually appends to the log, in time proportional to the changes. When the log has become large, a new
    /// snapshot takes its place: a small one is written here; a large one by a thread in the background, and
    /// a later commit switches to it.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the disk refused, or a run takes too much space. Except after
    /// [`Reason::Unsynced`], the state on disk is that of the previous commit; the changes are kept, and the
    /// next commit tries again. A failure of a background snapshot is an error of the next commit.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        self.join();
        self.check_runs()?;
        self.is_piecemeal |= self.changes_an_unfinished_run();
        if !self.has_changes() {
            return Ok(());
        }
        if self.need != Need::Reopening {
            self.lock.check_held()?;
            if !self.log.is_in(self.lock.file()) {
                return Err(self.lock.replaced());
            }
        }
        let made = if self.need == Need::Log { self.made()? } else { None };
        let is_due = self.is_due() && !self.has_memory_for_background();
        if made.is_none() && (is_due || self.is_outgrown_by(self.changes.bytes())) {
            self.outgrow();
        }
        match (self.need, made) {
            (Need::Log, Some(made)) => self.go_over_to(made),
            (Need::Log, None) => self.keep(),
            (Need::Snapshot, _) => {
                self.commit_now()?;
                // The commit is done. If there is no space, the next one reports it.
                self.reserve().ok();
                Ok(())
            }
            (Need::Reopening, _) => Err(Reason::Broken.at(self.lock.target())),
        }
    }

    /// Commits in the log, and starts a new snapshot if the log has become large.
    fn keep(&mut self) -> Result<(), StoreError> {
        if self.is_due() {
            self.take_space()?;
        }
        self.append()?;
        if self.is_due() {
            // The commit is done. The next one tries again, or reports the error.
            self.start_background().ok();
        } else if self.next.is_some() {
            // A snapshot without space will report it.
            self.take_space().ok();
        }
        Ok(())
    }

    /// Commits as a new snapshot, whatever the size of the log.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    pub fn commit_snapshot(&mut self) -> Result<(), StoreError> {
        self.outgrow();
        self.commit()
    }

    /// Commits, and returns the filter. A small filter becomes a snapshot with nothing after it but its runs, and
    /// so does one with checkpoints of runs: the bytes do not depend on when the commits were.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    ///
    /// ```
    /// use coua::CuckooFilter;
    /// use coua_store::Store;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("seen.coua");
    /// let mut store = Store::create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// store.finish()?;
    /// assert!(coua::Load::new().open::<CuckooFilter>(&path)?.contains("a"));
    /// assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(mut self) -> Result<Generations, StoreError> {
        self.join();
        self.check_runs()?;
        if self.has_changes() {
            self.is_piecemeal |= self.changes_an_unfinished_run();
            let is_renewed = self.log.base().bytes <= SMALL || self.is_piecemeal;
            if is_renewed {
                self.abandon();
            }
            // Without space for another snapshot the log is kept, unless it has become too large.
            if is_renewed && self.take_space().is_ok() || self.is_at_limit(self.changes.bytes()) {
                self.outgrow();
            }
            // Nothing follows: no space is needed for a snapshot after this one.
            self.options.expected = Some(0);
            self.commit()?;
        }
        Ok(mem::take(&mut self.filter))
    }

    /// Whether a run with records is committed before its end, or resumed from there. Other unfinished runs of
    /// the file do not matter.
    fn changes_an_unfinished_run(&self) -> bool {
        let has_unfinished = |these: &Runs, others: &Runs| {
            let mut unfinished = these.iter().filter(|(_, run)| !run.has_ended && run.records > 0);
            unfinished.any(|(number, run)| others.get(number) != Some(run))
        };
        has_unfinished(&self.runs, &self.committed_runs)
            || has_unfinished(&self.committed_runs, &self.runs)
    }

    /// Refuses a run that is larger than readers accept.
    fn check_runs(&self) -> Result<(), StoreError> {
        match self.runs.iter().map(|(_, run)| run.bytes()).find(|&bytes| bytes > Run::MOST_BYTES) {
            Some(found) => Err(Reason::RunTooLarge { found }.at(self.lock.target())),
            None => Ok(()),
        }
    }

    /// Whether there is anything that is not committed.
    fn has_changes(&self) -> bool {
        self.need != Need::Log
            || !self.changes.bytes().is_empty()
            || self.log.is_ahead()
            || self.runs != self.committed_runs
    }

    /// Appends the changes to the log, and waits until they are on the disk.
    fn append(&mut self) -> Result<(), StoreError> {
        let (changes, runs) = (mem::take(&mut self.changes), self.run_changes());
        let (log, to) = self.log_target();
        let put = log.put(to, Transaction { changes: changes.bytes(), runs: &runs });
        if let Err(error) = put.and_then(|()| to.sync()) {
            // Pieces that were appended before are cut off too, so the changes are not all in memory any more.
            self.outgrow();
            return Err(self.unless_found(error));
        }
        log.settle();
        let committed = self.log.committed();
        self.committed_runs = self.runs.clone();
        if let Some(background) = &self.background {
            background.signals.committed.store(committed.at, Ordering::Relaxed);
        }
        // What was written to a file without a name is lost.
        self.lock.check_held().inspect_err(|_| self.need = Need::Reopening)
    }

    /// The changes from the runs of the file to those of this store.
    pub(crate) fn run_changes(&self) -> Vec<Vec<u8>> {
        self.runs.changes_since(&self.committed_runs)
    }

    /// The error of a failed commit in the log that could not be cut off: readers may find it.
    fn unless_found(&mut self, error: StoreError) -> StoreError {
        let is_broken = self.need == Need::Reopening;
        let (log, to) = self.log_target();
        match error.reason {
            Reason::Io { source, .. } if is_broken && log.has_another_commit(to) => {
                Reason::Unsynced(source).at(to.path)
            }
            reason => reason.at(&error.path),
        }
    }
}

//! Committing: a transaction in the log, or a new snapshot.

use coua::window::Generations;

use super::{CommitMode, Store};
use crate::checkpoint::FinishedSnapshot;
use crate::error::{Reason, StoreError};
use crate::growth::Growth;
use crate::log::{Log, Transaction};

impl Store {
    /// Makes all changes of the filter and its notes durable. When this returns, they are on
    /// disk. A crash before that leaves the state of the previous commit or of this one.
    ///
    /// Usually appends to the log, in time proportional to the changes. When the log has become large, a new
    /// snapshot replaces it: a small one is written here; a large one by a thread in the background, and
    /// a later commit switches to it.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if writing failed. Except after
    /// [`Reason::Unsynced`], the state on disk is that of the previous commit; the changes are kept, and the
    /// next commit tries again. A failure of a background snapshot is an error of the next commit.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        if !self.has_changes() {
            return Ok(());
        }
        if self.mode == CommitMode::Poisoned {
            return Err(Reason::Broken.at(self.lock.target()));
        }
        self.lock.check_held()?;
        if !self.log.is_in(self.lock.file()) {
            return Err(Reason::Replaced.at(self.lock.target()));
        }
        if self.mode == CommitMode::Log
            && let Some(finished) = self.poll_finished()?
        {
            return self.switch_to(finished);
        }
        if self.mode == CommitMode::Log && self.growth() == Growth::Rewrite {
            self.require_snapshot();
        }
        match self.mode {
            CommitMode::Log => self.commit_to_log(),
            CommitMode::Snapshot => self.write_snapshot(),
            CommitMode::Poisoned => Err(Reason::Broken.at(self.lock.target())),
        }
    }

    /// The snapshot that a thread has written. If there was no memory for a second filter, this commit writes it.
    fn poll_finished(&mut self) -> Result<Option<FinishedSnapshot>, StoreError> {
        match self.checkpointer.poll_finished(self.lock.target()) {
            Err(error) if error.lacks_memory() => {
                self.require_snapshot();
                Ok(None)
            }
            finished => finished,
        }
    }

    /// Commits to the log, and starts a new snapshot if the log has become large.
    fn commit_to_log(&mut self) -> Result<(), StoreError> {
        if self.growth() == Growth::Background {
            self.reserve_next()?;
        }
        self.append()?;
        // The commit is done. If a snapshot cannot be started, the next one tries again, or reports the error.
        if self.growth() == Growth::Background {
            let bytes = self.commit_inputs().largest();
            self.checkpointer.start(&self.lock, &self.log, &self.notes, bytes).ok();
        }
        Ok(())
    }

    /// Commits, and switches to a file that was written in the background.
    fn switch_to(&mut self, finished: FinishedSnapshot) -> Result<(), StoreError> {
        let notes = self.notes.encode(&self.changed_notes);
        let what = Transaction { changes: self.changes.bytes(), notes: &notes };
        // After an error the present file is as it was, and the next commit appends to it.
        let log = self.checkpointer.switch_to(finished, &mut self.lock, &self.log, what)?;
        self.mark_replaced(log)
    }

    /// Commits by writing a snapshot now.
    fn write_snapshot(&mut self) -> Result<(), StoreError> {
        let bytes = self.commit_inputs().largest();
        let log = self.checkpointer.write(&mut self.lock, &self.filter, &self.notes, bytes)?;
        self.mark_replaced(log)
    }

    /// Syncs the folder after a new file with all changes was renamed into place. If that fails, a power cut may
    /// leave either file, so nothing more may be committed.
    fn mark_replaced(&mut self, log: Log) -> Result<(), StoreError> {
        (self.log, self.mode) = (log, CommitMode::Log);
        self.changes.clear();
        self.changed_notes.clear();
        if let Err(source) = self.options.disk.sync_folder(self.lock.folder()) {
            self.mode = CommitMode::Poisoned;
            return Err(Reason::Unsynced(source).at(self.lock.target()));
        }
        // The commit is done. If there is no space, the next one reports it.
        self.reserve().ok();
        Ok(())
    }

    /// Commits as a new snapshot, whatever the size of the log.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    pub fn commit_snapshot(&mut self) -> Result<(), StoreError> {
        self.require_snapshot();
        self.commit()
    }

    /// Commits, and returns the filter. A small filter becomes a snapshot with only its notes after it.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    ///
    /// ```
    /// use coua::CuckooFilter;
    /// use coua_store::Options;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("seen.coua");
    /// let mut store = Options::new().create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// store.finish()?;
    /// assert!(coua::Load::new().open::<CuckooFilter>(&path)?.contains("a"));
    /// assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(mut self) -> Result<Generations, StoreError> {
        self.commit_at_end()?;
        Ok(self.filter)
    }

    /// The commit of [`finish`](Self::finish), after which the store should be dropped. If it fails, this or another
    /// commit can be tried again, as after a failed [`commit`](Self::commit).
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Options;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let mut store = Options::new().create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// store.commit_at_end()?;
    /// assert!(Options::new().read(&path)?.filter.contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit_at_end(&mut self) -> Result<(), StoreError> {
        if self.has_changes() {
            if self.commit_inputs().is_rewritten_at_end() {
                self.checkpointer.abandon();
                if self.reserve_next().is_ok() {
                    self.require_snapshot();
                }
            }
            // No space is needed for a snapshot after this one.
            self.options.loading.expected = Some(0);
            self.commit()?;
        }
        Ok(())
    }

    /// Whether there are uncommitted changes.
    fn has_changes(&self) -> bool {
        self.mode != CommitMode::Log
            || !self.changes.bytes().is_empty()
            || self.log.is_ahead()
            || !self.changed_notes.is_empty()
    }

    /// Appends the changes to the log, and syncs it.
    fn append(&mut self) -> Result<(), StoreError> {
        let notes = self.notes.encode(&self.changed_notes);
        let to = self.options.target(&self.lock);
        let put = self.log.put(to, Transaction { changes: self.changes.bytes(), notes: &notes });
        if let Err(error) = put.and_then(|()| to.sync()) {
            // Earlier pieces are truncated too, so some changes are only in the filter.
            self.require_snapshot();
            return Err(self.unless_found(error));
        }
        self.log.mark_committed();
        self.changes.clear();
        self.changed_notes.clear();
        self.checkpointer.announce(self.log.committed());
        // Writes to a file without a name are lost.
        self.lock.check_held().inspect_err(|_| self.mode = CommitMode::Poisoned)
    }

    /// The error of a failed commit to the log that could not be truncated: readers may find it.
    fn unless_found(&self, error: StoreError) -> StoreError {
        let to = self.options.target(&self.lock);
        match error.reason {
            Reason::Io { source, .. }
                if self.mode == CommitMode::Poisoned && self.log.has_another_commit(to) =>
            {
                Reason::Unsynced(source).at(to.path)
            }
            reason => reason.at(&error.path),
        }
    }
}

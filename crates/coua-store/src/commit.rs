//! Committing: a frame in the journal, or a new snapshot.

use std::mem;

use coua::window::Generations;

use crate::error::StoreError;
use crate::journal::{Journal, Transaction};
use crate::progress::Progress;
use crate::store::{Need, Store};

/// Bytes of a snapshot that is written anew at the end rather than kept with a journal.
const SMALL: u64 = 1 << 20;

impl Store {
    /// Makes all changes so far durable, together with `progress`. When this returns, they are on the
    /// disk; a crash before leaves the state of the commit before, or this one, whole.
    ///
    /// Usually appends to the journal, in time proportional to the changes. When that has become large, a
    /// new snapshot takes its place: a small one is written here; a large one by a thread, while the work
    /// goes on, and one of the next commits goes over to it.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the disk refused, or if there is too much of `progress`. Unless it is
    /// [`StoreError::Unsynced`], when all was committed, the state on disk is that of the commit before; the changes
    /// are still here, and the next commit tries again.
    /// What goes wrong with a snapshot beside the work is an error of the commit after it.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::{Progress, Store};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// store.commit(&Progress { records: 1, ..Progress::default() })?;
    /// let view = Store::read(&path)?;
    /// assert!(view.filter.contains("a"));
    /// assert_eq!(view.progress.map(|progress| progress.records), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(&mut self, progress: &Progress) -> Result<(), StoreError> {
        self.check_bytes_of(progress)?;
        self.is_piecemeal |= progress.records > 0;
        if !self.has_changes() && self.progress.as_ref() == Some(progress) {
            return Ok(());
        }
        if self.need != Need::Reopening {
            self.check_names()?;
        }
        let made = if self.need == Need::Journal { self.made()? } else { None };
        let is_outgrown = || self.is_outgrown_by(self.log.bytes());
        if made.is_none() && (is_outgrown() || self.is_due() && !self.has_room_beside()) {
            self.outgrow();
        }
        match (self.need, made) {
            (Need::Journal, Some(made)) => self.turn_to(made, progress)?,
            (Need::Journal, None) => self.keep(progress)?,
            (Need::Snapshot, _) => self.checkpoint(progress)?,
            (Need::Reopening, _) => {
                return Err(StoreError::Broken { path: self.files().snapshot.clone() });
            }
        }
        self.progress = Some(progress.clone());
        Ok(())
    }

    /// Commits in the journal, and sees to it that a new snapshot will come if it has become large.
    fn keep(&mut self, progress: &Progress) -> Result<(), StoreError> {
        if self.is_due() {
            self.take_space()?;
        }
        self.append(progress)?;
        if self.is_due() {
            // The commit is done. The next one tries again, or says why not.
            self.begin_beside().ok();
        } else if self.reserved.is_some() {
            // A snapshot that then finds no space will say so.
            self.take_space().ok();
        }
        Ok(())
    }

    /// Commits as a new snapshot, whatever the size of the journal.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::{Progress, Store};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// store.commit_snapshot(&Progress::default())?;
    /// assert!(CuckooFilter::read(&path)?.contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit_snapshot(&mut self, progress: &Progress) -> Result<(), StoreError> {
        self.outgrow();
        self.commit(progress)
    }

    /// Commits the end of the work: there is nothing to go on with, and the next store has no
    /// progress. A small filter, which costs no more to write than a journal, becomes one file again, and
    /// so does one with commits of records on the way: what is left does not depend on when they were.
    /// Gives the filter back.
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
    /// assert!(CuckooFilter::read(&path)?.contains("a"));
    /// assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(self) -> Result<Generations, StoreError> {
        self.finish_at(&Progress::default())
    }

    /// As [`finish`](Self::finish), but `progress` is what the next store has; the journal that keeps it
    /// stays, with nothing else in it where `finish` would have left none.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::{Progress, Store};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// # let mut store = Store::create(&path, CuckooFilter::new)?;
    /// let progress = Progress { records: 9, ..Progress::default() };
    /// store.finish_at(&progress)?;
    /// assert_eq!(Store::open(&path)?.progress(), Some(&progress));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish_at(mut self, progress: &Progress) -> Result<Generations, StoreError> {
        self.end(progress)?;
        Ok(mem::take(&mut self.filter))
    }

    fn end(&mut self, progress: &Progress) -> Result<(), StoreError> {
        self.check_bytes_of(progress)?;
        let (is_alone, nothing) = (self.is_alone(), Progress::default());
        if !self.has_changes() && *self.progress.as_ref().unwrap_or(&nothing) == *progress {
            return Ok(());
        }
        // A run with commits on its way ends the same however often it was interrupted.
        let is_renewed = self.snapshot.identity.bytes <= SMALL || self.is_piecemeal;
        if is_renewed {
            self.abandon();
        }
        // Without space for another snapshot the journal will do, unless it has become too large: there is
        // no work to go on with beside.
        if is_renewed && self.take_space().is_ok() || self.is_at_limit(self.log.bytes()) {
            self.outgrow();
        }
        if is_alone && self.need == Need::Snapshot && *progress == nothing {
            self.check_old_snapshot()?;
            let (file, _) = self.write_next()?;
            return self.rename_next(&file).and_then(|()| self.sync_name());
        }
        self.commit(progress)?;
        if *progress == nothing && self.journal.as_ref().is_some_and(Journal::is_settled) {
            // All is on the disk. A journal that stays says what the snapshot says, and the next writer goes
            // on with it.
            self.options.disk.remove(&self.files().journal).ok();
            self.options.disk.sync_folder(self.folder()).ok();
        }
        Ok(())
    }

    /// Writes the filter in the place of another one whose journal cannot be read: that goes last, so that
    /// nobody ever finds a snapshot without the changes it had.
    pub(crate) fn finish_over_ruins(mut self, progress: &Progress) -> Result<(), StoreError> {
        self.check_bytes_of(progress)?;
        let (file, identity) = self.write_next()?;
        self.rename_next(&file)?;
        let (disk, path) = (&*self.options.disk, &self.files().journal);
        let removed = disk.sync_folder(self.folder()).and_then(|()| disk.remove(path));
        removed.map_err(|source| StoreError::JournalLeft { path: path.clone(), source })?;
        self.sync_name()?;
        self.has_turned(file, identity);
        self.finish_at(progress).map(drop)
    }

    /// Complains about a progress that no reader would take.
    fn check_bytes_of(&self, progress: &Progress) -> Result<(), StoreError> {
        let found = progress.bytes();
        if found > Progress::MOST_BYTES {
            return Err(StoreError::TooMuchProgress { path: self.files().snapshot.clone(), found });
        }
        Ok(())
    }

    /// Whether there is, and was, no journal.
    fn is_alone(&self) -> bool {
        self.journal.is_none() && !self.files().journal.exists()
    }

    /// Whether there is anything that is not committed.
    fn has_changes(&self) -> bool {
        self.need != Need::Journal
            || !self.log.bytes().is_empty()
            || self.journal.as_ref().is_some_and(Journal::is_ahead)
    }

    /// What a failed commit in the journal is if it could not be cut off again: readers may find it.
    fn unless_found(&self, error: StoreError) -> StoreError {
        let is_there = self.need == Need::Reopening
            && self.journal.as_ref().is_some_and(Journal::has_another_commit);
        match error {
            StoreError::Io { source, .. } if is_there => {
                StoreError::Unsynced { path: self.files().snapshot.clone(), source }
            }
            error => error,
        }
    }

    pub(crate) fn append(&mut self, progress: &Progress) -> Result<(), StoreError> {
        self.journal()?;
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let disk = &*self.options.disk;
        let transaction = Transaction { changes: self.log.bytes(), progress };
        let committed = journal.commit(disk, transaction);
        if committed.is_err() {
            // Also what was handed on before is cut off, so the log has not all of it any more.
            self.outgrow();
        }
        self.log.clear();
        committed.map_err(|error| self.unless_found(error))?;
        if let (Some(beside), Some(journal)) = (&self.beside, &self.journal) {
            beside.tell(journal.committed());
        }
        // What went into a file without a name is nowhere.
        self.check_names().inspect_err(|_| self.need = Need::Reopening)
    }
}

//! Committing: a frame in the journal, or a new snapshot.

use std::fs::File;
use std::mem;

use coua::Generations;

use crate::error::StoreError;
use crate::journal::{Identity, Journal};
use crate::lock::inode_at;
use crate::progress::Progress;
use crate::store::{Need, Snapshot, Store};

/// Bytes of a snapshot that is written anew at the end rather than kept with a journal.
const SMALL: u64 = 1 << 20;

impl Store {
    /// Makes all changes so far durable, together with `progress`. When this returns, they are on the
    /// disk; a crash before leaves the state of the commit before, or this one, whole.
    ///
    /// Usually appends to the journal, in time proportional to the changes. Writes a new snapshot
    /// instead when the journal would become too large.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the disk refused. Unless it was the very last step that failed, the state on
    /// disk is that of the commit before; the changes are still here, and the next commit tries again.
    pub fn commit(&mut self, progress: &Progress) -> Result<(), StoreError> {
        self.is_piecemeal |= progress.records > 0;
        if !self.has_changes() && self.progress.as_ref() == Some(progress) {
            return Ok(());
        }
        if self.need == Need::Journal && self.is_outgrown_by(self.log.bytes()) {
            self.outgrow();
        }
        if self.need == Need::Reopening {
            return Err(StoreError::Broken { path: self.files.snapshot.clone() });
        }
        self.check_names()?;
        match self.need {
            Need::Journal => {
                self.append(progress)?;
                if self.reserved.is_some() {
                    // A snapshot that then finds no space will say so.
                    self.take_space().ok();
                }
            }
            Need::Snapshot | Need::Reopening => self.checkpoint(progress)?,
        }
        self.progress = Some(progress.clone());
        Ok(())
    }

    /// Commits as a new snapshot, whatever the size of the journal.
    ///
    /// # Errors
    ///
    /// As [`commit`](Self::commit).
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
    pub fn finish_at(mut self, progress: &Progress) -> Result<Generations, StoreError> {
        self.end(progress)?;
        Ok(mem::take(&mut self.filter))
    }

    fn end(&mut self, progress: &Progress) -> Result<(), StoreError> {
        let (is_alone, nothing) = (self.is_alone(), Progress::default());
        if !self.has_changes() && *self.progress.as_ref().unwrap_or(&nothing) == *progress {
            return Ok(());
        }
        // A run with commits on its way ends the same however often it was interrupted.
        let is_renewed = self.snapshot.identity.bytes <= SMALL || self.is_piecemeal;
        // Without space for another snapshot the journal will do.
        if is_renewed && self.take_space().is_ok() {
            self.outgrow();
        }
        if is_alone && self.need == Need::Snapshot && *progress == nothing {
            self.check_old_snapshot()?;
            let (file, _) = self.write_next()?;
            return self.rename_next(&file).and_then(|()| self.sync_folder());
        }
        self.commit(progress)?;
        if *progress == nothing && self.journal.as_ref().is_some_and(Journal::is_settled) {
            let (disk, path) = (&*self.options.disk, &self.files.journal);
            disk.remove(path).map_err(|source| StoreError::io(path, "remove", source))?;
            self.sync_folder()?;
        }
        Ok(())
    }

    /// Whether there is, and was, no journal.
    fn is_alone(&self) -> bool {
        self.journal.is_none() && !self.files.journal.exists()
    }

    /// Whether there is anything that is not committed.
    fn has_changes(&self) -> bool {
        self.need != Need::Journal
            || !self.log.bytes().is_empty()
            || self.journal.as_ref().is_some_and(Journal::is_ahead)
    }

    fn append(&mut self, progress: &Progress) -> Result<(), StoreError> {
        self.journal()?;
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let disk = &*self.options.disk;
        let committed = journal.commit(disk, self.log.bytes(), progress);
        if committed.is_err() {
            // Also what was handed on before is cut off, so the log has not all of it any more.
            self.outgrow();
        }
        self.log.clear();
        committed?;
        // What went into a file without a name is nowhere.
        self.check_names().inspect_err(|_| self.need = Need::Reopening)
    }

    /// Makes a journal for the present snapshot, if there is none yet.
    pub(crate) fn journal(&mut self) -> Result<(), StoreError> {
        if self.journal.is_none() {
            let (disk, identity) = (&*self.options.disk, self.snapshot.identity);
            let progress = self.progress.as_ref();
            self.journal = Some(Journal::create(disk, &self.files, identity, progress)?);
        }
        Ok(())
    }

    fn checkpoint(&mut self, progress: &Progress) -> Result<(), StoreError> {
        self.check_old_snapshot()?;
        self.journal()?;
        let (file, identity) = self.write_next()?;
        if identity == self.snapshot.identity {
            // The same bytes: only the progress is new.
            drop(file);
            self.options.disk.remove(&self.files.next_snapshot).ok();
            let (disk, files) = (&*self.options.disk, &self.files);
            let journal = Journal::create(disk, files, identity, Some(progress));
            if journal.is_err() && self.check_names().is_err() {
                // The new one has the name already, and perhaps will not keep it.
                self.need = Need::Reopening;
            }
            self.journal = Some(journal?);
            self.need = Need::Journal;
            return Ok(());
        }
        self.replace((&file, identity), progress)?;
        let inode = inode_at(&self.files.snapshot);
        self.snapshot = Snapshot { file: Some(file), inode, identity, is_unchecked: false };
        self.progress = Some(progress.clone());
        self.need = Need::Journal;
        // The commit is done. Without a new journal, or space, the next one will say why.
        self.journal = None;
        self.journal().ok();
        self.reserve().ok();
        Ok(())
    }

    /// Replaces the snapshot by the next one, which the journal knows from then on.
    fn replace(
        &mut self,
        (file, next): (&File, Identity),
        progress: &Progress,
    ) -> Result<(), StoreError> {
        let options = self.options.clone();
        let disk = &*options.disk;
        let Some(mut journal) = self.journal.take() else { return Ok(()) };
        let announced = journal.announce(disk, next, progress);
        let renamed = match announced {
            Ok(()) => self.rename_next(file),
            Err(error) => {
                disk.remove(&self.files.next_snapshot).ok();
                Err(error)
            }
        };
        if renamed.is_err() && journal.take_back(disk).is_err() {
            self.need = Need::Reopening;
        }
        self.journal = Some(journal);
        renamed?;
        // Which of the two a power cut would leave is not known if this fails.
        self.sync_folder().inspect_err(|_| self.need = Need::Reopening)
    }

    fn sync_folder(&self) -> Result<(), StoreError> {
        let folder = self.files.folder();
        let synced = self.options.disk.sync_folder(folder);
        synced.map_err(|source| StoreError::io(folder, "sync", source))
    }
}

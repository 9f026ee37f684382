//! From one snapshot to the next, and from one journal to the next.

use std::fs::File;
use std::{mem, thread};

use crate::beside::Made;
use crate::error::StoreError;
use crate::journal::{Identity, Journal, Mark, Transaction};
use crate::lock::inode_at;
use crate::progress::Progress;
use crate::store::{Need, Snapshot, Store};

impl Store {
    /// Makes a journal for the present snapshot, if there is none yet.
    pub(crate) fn journal(&mut self) -> Result<(), StoreError> {
        if self.journal.is_none() {
            let (disk, identity) = (&*self.options.disk, self.snapshot.identity);
            let tail = self.tail.as_ref();
            let progress = tail.map(|tail| &tail.progress).or(self.progress.as_ref());
            let journal = Journal::create(disk, &self.lock, identity, progress, tail);
            let journal = journal.map_err(|error| match error {
                // It has nothing in it that was not there before.
                StoreError::Unsynced { source, .. } => {
                    StoreError::io(&self.files().journal, "sync the name of", source)
                }
                error => error,
            });
            (self.journal, self.tail) = (Some(journal?), None);
        }
        Ok(())
    }

    /// Commits by a snapshot that is written now.
    pub(crate) fn checkpoint(&mut self, progress: &Progress) -> Result<(), StoreError> {
        self.abandon();
        self.check_old_snapshot()?;
        self.journal()?;
        let (file, identity) = self.write_next()?;
        if identity == self.snapshot.identity {
            drop(file);
            return self.renew_journal(progress);
        }
        let transaction = Transaction { changes: &[], progress };
        self.replace(&file, identity, None, transaction)?;
        self.has_turned(file, identity);
        self.progress = Some(progress.clone());
        // The commit is done. Without a new journal, or space, the next one will say why.
        self.journal = None;
        self.journal().ok();
        self.reserve().ok();
        Ok(())
    }

    /// The snapshot would have the same bytes: only the progress is new.
    fn renew_journal(&mut self, progress: &Progress) -> Result<(), StoreError> {
        self.options.disk.remove(&self.files().next_snapshot).ok();
        let (disk, identity) = (&*self.options.disk, self.snapshot.identity);
        let journal = Journal::create(disk, &self.lock, identity, Some(progress), None);
        if journal.is_err() && self.check_names().is_err() {
            // The new one has the name already, and perhaps will not keep it.
            self.need = Need::Reopening;
        }
        self.journal = Some(journal?);
        self.need = Need::Journal;
        Ok(())
    }

    /// Commits, and goes over to a snapshot that was made beside the work.
    pub(crate) fn turn_to(&mut self, made: Made, progress: &Progress) -> Result<(), StoreError> {
        if made.identity == self.snapshot.identity {
            return self.shorten_journal(made, progress);
        }
        let log = mem::take(&mut self.log);
        let transaction = Transaction { changes: log.bytes(), progress };
        let replaced = self.replace(&made.file, made.identity, Some(made.from), transaction);
        if replaced.is_err() {
            self.options.disk.remove(&self.files().next_journal).ok();
            // What was not committed was cut off, so the log has not all of it any more.
            self.outgrow();
        }
        let to = replaced?;
        self.has_turned(made.file, made.identity);
        self.tail = self.journal.take().map(|old| old.into_tail(made.from, to, progress));
        // The commit is done. Without a new journal, or space, the next one will say why.
        if self.go_over_to(made.journal, made.carried).is_err() {
            Journal::remove_next(&*self.options.disk, self.files());
        }
        self.reserve().ok();
        Ok(())
    }

    /// The next journal, with the rest of the one before, takes its place.
    fn go_over_to(&mut self, mut next: Journal, carried: Mark) -> Result<(), StoreError> {
        let disk = &*self.options.disk;
        if let Some(tail) = &self.tail {
            next.carry(disk, tail.named(), carried, tail.to)?;
            next.take_name(disk, &self.lock, Some(&tail.progress))?;
            (self.journal, self.tail) = (Some(next), None);
        }
        Ok(())
    }

    /// Commits. The snapshot that was made has the bytes of the present one, which therefore does
    /// without the changes up to there.
    fn shorten_journal(&mut self, made: Made, progress: &Progress) -> Result<(), StoreError> {
        let appended = self.append(progress);
        let disk = &*self.options.disk;
        if let (Ok(()), Some(old)) = (&appended, &self.journal) {
            let mut next = made.journal;
            let to = old.committed().at;
            let carried = next.carry(disk, old.named(), made.carried, to);
            match carried.and_then(|_| next.take_name(disk, &self.lock, None)) {
                Ok(()) => self.journal = Some(next),
                // The new one has the name already, and perhaps will not keep it.
                Err(_) if self.check_names().is_err() => self.need = Need::Reopening,
                Err(_) => {}
            }
        }
        self.remove_next();
        appended
    }

    /// Replaces the snapshot by the next one, which the journal knows from then on. It has what stands
    /// in the journal before `from`, or all. Returns where the checkpoint begins.
    fn replace(
        &mut self,
        file: &File,
        next: Identity,
        from: Option<Mark>,
        transaction: Transaction<'_>,
    ) -> Result<u64, StoreError> {
        self.journal()?;
        let options = self.options.clone();
        let disk = &*options.disk;
        let Some(mut journal) = self.journal.take() else { return Ok(0) };
        let announced = journal.announce(disk, next, from, transaction);
        let renamed = match announced {
            Ok(begin) => self.rename_next(file).map(|()| begin),
            Err(error) => {
                disk.remove(&self.files().next_snapshot).ok();
                Err(error)
            }
        };
        if renamed.is_err() && journal.take_back(disk).is_err() {
            self.need = Need::Reopening;
        }
        self.journal = Some(journal);
        let begin = renamed?;
        // Which of the two a power cut would leave is not known if this fails.
        self.sync_name().inspect_err(|_| self.need = Need::Reopening)?;
        Ok(begin)
    }

    /// The snapshot in this file has the name now.
    pub(crate) fn has_turned(&mut self, file: File, identity: Identity) {
        let inode = inode_at(&self.files().snapshot);
        let next = Snapshot { file: Some(file), inode, identity, is_unchecked: false };
        let old = mem::replace(&mut self.snapshot, next);
        // The last name of gigabytes is gone: to free them takes a while, which need not be waited for.
        thread::Builder::new().spawn(move || drop(old.file)).ok();
        self.need = Need::Journal;
    }

    /// Waits until the snapshot has its name on the disk, to which nothing else is lacking.
    pub(crate) fn sync_name(&self) -> Result<(), StoreError> {
        let synced = self.options.disk.sync_folder(self.folder());
        synced
            .map_err(|source| StoreError::Unsynced { path: self.files().snapshot.clone(), source })
    }
}

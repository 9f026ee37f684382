//! Writing a journal: append, sync, or take back.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::{Head, Header, Identity, Kind, Mark, Scan};
use crate::disk::Disk;
use crate::error::StoreError;
use crate::fields::put_u64;
use crate::files::{Files, Named};
use crate::lock::{Lock, is_at};
use crate::progress::Progress;

/// Bytes that are carried over at a time.
const STEP: usize = 1 << 20;

/// A journal that this process appends to.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    header: Header,
    /// Where it ends if it holds nothing but the progress of its snapshot, and was made in this process.
    settled: Option<u64>,
    /// Where the last commit ends.
    committed: Mark,
    /// Where the last frame ends.
    written: Mark,
    /// There may be more in the file than was committed.
    is_ahead: bool,
}

/// Changes and what is committed with them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transaction<'a> {
    pub(crate) changes: &'a [u8],
    pub(crate) progress: &'a Progress,
}

/// The end of a journal whose snapshot was replaced by one that lacks these changes.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    pub(crate) from: Mark,
    /// Where the checkpoint begins.
    pub(crate) to: u64,
    /// The checkpoint's.
    pub(crate) progress: Progress,
}

impl Tail {
    pub(crate) fn named(&self) -> Named<'_> {
        Named { file: &self.file, path: &self.path }
    }
}

impl Journal {
    /// A new journal for a snapshot in place of the one before, at once and whole; `progress` is that
    /// of the snapshot, and of the `tail` if there is one.
    pub(crate) fn create(
        disk: &dyn Disk,
        lock: &Lock,
        snapshot: Identity,
        progress: Option<&Progress>,
        tail: Option<&Tail>,
    ) -> Result<Self, StoreError> {
        let files = lock.files();
        let file = Self::next_file(disk, files)?;
        let make = || {
            let mut journal = Self::begin(disk, file, &files.next_journal, snapshot)?;
            if let Some(tail) = tail {
                journal.carry(disk, tail.named(), tail.from, tail.to)?;
            }
            journal.take_name(disk, lock, progress)?;
            Ok(journal)
        };
        make().inspect_err(|_| Self::remove_next(disk, files))
    }

    /// Removes a journal that will not come, unless it has taken its name; what stays is removed by the next
    /// writer.
    pub(crate) fn remove_next(disk: &dyn Disk, files: &Files) {
        if files.next_journal.exists() {
            disk.remove(&files.next_journal).ok();
        }
    }

    /// An empty file for the next journal.
    pub(crate) fn next_file(disk: &dyn Disk, files: &Files) -> Result<File, StoreError> {
        let permissions = files.journal_permissions();
        let file = disk.create(&files.next_journal, permissions.as_ref());
        file.map_err(|source| StoreError::io(&files.next_journal, "create", source))
    }

    /// The next journal, in an empty file.
    pub(crate) fn begin(
        disk: &dyn Disk,
        file: File,
        path: &Path,
        snapshot: Identity,
    ) -> Result<Self, StoreError> {
        let (header, path) = (Header::of(snapshot), path.to_owned());
        let written = disk.write(&file, &header.encode(), 0);
        written.map_err(|source| StoreError::io(&path, "write", source))?;
        let (committed, written) = (Mark::FIRST, Mark::FIRST);
        Ok(Self { file, path, header, settled: None, committed, written, is_ahead: true })
    }

    /// Appends the frames that another journal has between two places; returns where they end there.
    pub(crate) fn carry(
        &mut self,
        disk: &dyn Disk,
        other: Named<'_>,
        from: Mark,
        to: u64,
    ) -> Result<Mark, StoreError> {
        let mut bytes = Vec::new();
        let end = Scan::begin(other.file, other.path)?.frames(from, to, |_, kind, payload| {
            self.frame(&mut bytes, kind, payload);
            if bytes.len() >= STEP {
                self.write(disk, &bytes)?;
                bytes.clear();
            }
            Ok(())
        })?;
        if !bytes.is_empty() {
            self.write(disk, &bytes)?;
        }
        Ok(end)
    }

    /// Ends the last transaction of the next journal, and puts it in the place of the present one. That has lost
    /// its name after [`StoreError::Unsynced`], but perhaps not for good.
    pub(crate) fn take_name(
        &mut self,
        disk: &dyn Disk,
        lock: &Lock,
        progress: Option<&Progress>,
    ) -> Result<(), StoreError> {
        let files = lock.files();
        let is_bare = self.written == Mark::FIRST;
        if let Some(progress) = progress {
            self.write_transaction(disk, Transaction { changes: &[], progress })?;
        }
        self.sync(disk)?;
        let (next, path) = (&files.next_journal, &files.journal);
        match disk.rename(next, path) {
            // Over a network the answer may be lost, but not the deed.
            Err(source) if !(cfg!(unix) && is_at(&self.file, path)) => {
                return Err(StoreError::io(next, "rename", source));
            }
            _ => {}
        }
        let unsynced = |source| StoreError::Unsynced { path: files.snapshot.clone(), source };
        disk.sync_folder(lock.folder()).map_err(unsynced)?;
        path.clone_into(&mut self.path);
        (self.committed, self.is_ahead) = (self.written, false);
        self.settled = is_bare.then_some(self.written.at);
        Ok(())
    }

    /// Goes on with a journal whose last commit ends at `committed`. What stands behind it is cut off.
    pub(crate) fn resume(
        disk: &dyn Disk,
        file: File,
        path: PathBuf,
        header: Header,
        committed: Mark,
    ) -> Result<Self, StoreError> {
        let bytes = file.metadata().map_err(|source| StoreError::io(&path, "read", source))?.len();
        let (written, is_ahead) = (committed, bytes > committed.at);
        let mut journal = Self { file, path, header, settled: None, committed, written, is_ahead };
        journal.take_back(disk)?;
        Ok(journal)
    }

    pub(crate) fn named(&self) -> Named<'_> {
        Named { file: &self.file, path: &self.path }
    }

    /// Complains if somebody has removed or replaced it.
    pub(crate) fn check_name(&self) -> Result<(), StoreError> {
        StoreError::unless_at(&self.file, &self.path)
    }

    /// Bytes so far, uncommitted ones included.
    pub(crate) fn bytes(&self) -> u64 {
        self.written.at
    }

    /// Where the last commit ends.
    pub(crate) fn committed(&self) -> Mark {
        self.committed
    }

    /// Whether a checkpoint in it can name a snapshot that lacks the last changes.
    pub(crate) fn has_from(&self) -> bool {
        self.header.has_from()
    }

    /// Whether it holds nothing but the progress of its snapshot: without it, all but that is there.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled == Some(self.committed.at)
    }

    /// Whether there may be more in it than was committed.
    pub(crate) fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    /// Appends changes that are not committed yet, without waiting for the disk.
    pub(crate) fn append(&mut self, disk: &dyn Disk, changes: &[u8]) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        self.frame(&mut bytes, Kind::Changes, changes);
        self.write(disk, &bytes)
    }

    /// Appends the last changes, commits, and waits until all is on the disk. After an error the
    /// journal must be taken back.
    pub(crate) fn commit(
        &mut self,
        disk: &dyn Disk,
        transaction: Transaction<'_>,
    ) -> Result<(), StoreError> {
        self.write_transaction(disk, transaction)?;
        self.sync(disk)?;
        (self.committed, self.is_ahead) = (self.written, false);
        Ok(())
    }

    /// Whether a reader finds a commit behind the last one that has succeeded.
    pub(crate) fn has_another_commit(&self) -> bool {
        let contents = Scan::begin(&self.file, &self.path).and_then(|scan| scan.contents());
        contents.is_ok_and(|contents| contents.committed.at > self.committed.at)
    }

    /// Appends the last changes, and that the snapshot `next` replaces the present one; it has what
    /// stands before `from`, or all. Waits. Counts as soon as that snapshot has its name. Returns where
    /// the checkpoint begins.
    pub(crate) fn announce(
        &mut self,
        disk: &dyn Disk,
        next: Identity,
        from: Option<Mark>,
        Transaction { changes, progress }: Transaction<'_>,
    ) -> Result<u64, StoreError> {
        let mut bytes = Vec::new();
        self.changes(&mut bytes, changes);
        let begin = self.written.at + bytes.len() as u64;
        let mut payload = Vec::new();
        put_u64(&mut payload, next.checksum);
        put_u64(&mut payload, next.bytes);
        if self.has_from() {
            put_u64(&mut payload, from.map_or(begin, |from| from.at));
        }
        progress.encode(&mut payload);
        self.frame(&mut bytes, Kind::Checkpoint, &payload);
        self.write(disk, &bytes)?;
        self.sync(disk)?;
        Ok(begin)
    }

    /// Cuts off what is not committed.
    pub(crate) fn take_back(&mut self, disk: &dyn Disk) -> Result<(), StoreError> {
        if !self.is_ahead {
            return Ok(());
        }
        let cut = disk.cut(&self.file, self.committed.at);
        cut.map_err(|source| StoreError::io(&self.path, "cut", source))?;
        self.sync(disk)?;
        (self.written, self.is_ahead) = (self.committed, false);
        Ok(())
    }

    /// What follows the last commit belongs to a snapshot that has its name now.
    pub(crate) fn into_tail(self, from: Mark, to: u64, progress: &Progress) -> Tail {
        Tail { file: self.file, path: self.path, from, to, progress: progress.clone() }
    }

    fn write_transaction(
        &mut self,
        disk: &dyn Disk,
        Transaction { changes, progress }: Transaction<'_>,
    ) -> Result<(), StoreError> {
        let (mut bytes, mut payload) = (Vec::new(), Vec::new());
        progress.encode(&mut payload);
        self.changes(&mut bytes, changes);
        self.frame(&mut bytes, Kind::Commit, &payload);
        self.write(disk, &bytes)
    }

    fn changes(&mut self, out: &mut Vec<u8>, changes: &[u8]) {
        if !changes.is_empty() {
            self.frame(out, Kind::Changes, changes);
        }
    }

    fn frame(&mut self, out: &mut Vec<u8>, kind: Kind, payload: &[u8]) {
        let (sequence, snapshot) = (self.written.sequence, self.header.snapshot.checksum);
        Head::write(out, kind, sequence, snapshot, payload);
        self.written.sequence += 1;
    }

    fn write(&mut self, disk: &dyn Disk, bytes: &[u8]) -> Result<(), StoreError> {
        self.is_ahead = true;
        let written = disk.write(&self.file, bytes, self.written.at);
        written.map_err(|source| StoreError::io(&self.path, "write", source))?;
        self.written.at += bytes.len() as u64;
        Ok(())
    }

    /// Waits until all of it is on the disk.
    pub(crate) fn sync(&self, disk: &dyn Disk) -> Result<(), StoreError> {
        disk.sync(&self.file).map_err(|source| StoreError::io(&self.path, "sync", source))
    }
}

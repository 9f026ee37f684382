//! Writing a journal: append, sync, or take back.

use std::fs::File;
use std::path::PathBuf;

use super::{Head, Header, Identity, Kind};
use crate::disk::Disk;
use crate::error::StoreError;
use crate::fields::put_u64;
use crate::files::Files;
use crate::progress::Progress;

/// A journal that this process appends to.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
    snapshot: Identity,
    /// Bytes that it was made with, if that was in this process.
    created: u64,
    /// Where the last commit ends, and the number of the frame after it.
    committed: (u64, u64),
    /// Where the last frame ends, and the number of the one after it.
    written: (u64, u64),
    /// There may be more in the file than was committed.
    is_ahead: bool,
}

impl Journal {
    /// A new journal for a snapshot in place of the one before, at once and whole; `progress` is that
    /// of the snapshot.
    pub(crate) fn create(
        disk: &dyn Disk,
        files: &Files,
        snapshot: Identity,
        progress: Option<&Progress>,
    ) -> Result<Self, StoreError> {
        let (next, path) = (&files.next_journal, &files.journal);
        let failed = |doing| move |source| StoreError::io(next, doing, source);
        let permissions = files.journal_permissions();
        let file = disk.create(next, permissions.as_ref()).map_err(failed("create"))?;
        let mut bytes = Header { snapshot }.encode();
        let mut sequence = 0;
        if let Some(progress) = progress {
            let mut payload = Vec::new();
            progress.encode(&mut payload);
            Head::write(&mut bytes, Kind::Commit, [0, snapshot.checksum], &payload);
            sequence = 1;
        }
        disk.write(&file, &bytes, 0).map_err(failed("write"))?;
        disk.sync(&file).map_err(failed("sync"))?;
        disk.rename(next, path).map_err(failed("rename"))?;
        let folder = files.folder();
        disk.sync_folder(folder).map_err(|source| StoreError::io(folder, "sync", source))?;
        let end = (bytes.len() as u64, sequence);
        let (path, created) = (path.clone(), end.0);
        Ok(Self { file, path, snapshot, created, committed: end, written: end, is_ahead: false })
    }

    /// Goes on with a journal whose last commit ends at `committed`, where the frame with the number
    /// `sequence` follows. What stands behind it is cut off.
    pub(crate) fn resume(
        disk: &dyn Disk,
        (file, path): (File, PathBuf),
        snapshot: Identity,
        (committed, sequence): (u64, u64),
    ) -> Result<Self, StoreError> {
        let bytes = file.metadata().map_err(|source| StoreError::io(&path, "read", source))?.len();
        let (end, is_ahead) = ((committed, sequence), bytes > committed);
        let mut journal =
            Self { file, path, snapshot, created: 0, committed: end, written: end, is_ahead };
        journal.take_back(disk)?;
        Ok(journal)
    }

    /// Complains if somebody has removed or replaced it.
    pub(crate) fn check_name(&self) -> Result<(), StoreError> {
        StoreError::unless_at(&self.file, &self.path)
    }

    /// Bytes so far, uncommitted ones included.
    pub(crate) fn bytes(&self) -> u64 {
        self.written.0
    }

    /// Whether it holds nothing but the progress of its snapshot: without it, all but that is there.
    pub(crate) fn is_settled(&self) -> bool {
        self.committed.0 == self.created
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
        changes: &[u8],
        progress: &Progress,
    ) -> Result<(), StoreError> {
        let mut payload = Vec::new();
        progress.encode(&mut payload);
        let mut bytes = Vec::new();
        if !changes.is_empty() {
            self.frame(&mut bytes, Kind::Changes, changes);
        }
        self.frame(&mut bytes, Kind::Commit, &payload);
        self.write(disk, &bytes)?;
        self.sync(disk)?;
        (self.committed, self.is_ahead) = (self.written, false);
        Ok(())
    }

    /// Appends that the snapshot `next` replaces the present one and all changes, and waits. Counts
    /// as soon as that snapshot has its name.
    pub(crate) fn announce(
        &mut self,
        disk: &dyn Disk,
        next: Identity,
        progress: &Progress,
    ) -> Result<(), StoreError> {
        let mut payload = Vec::new();
        put_u64(&mut payload, next.checksum);
        put_u64(&mut payload, next.bytes);
        progress.encode(&mut payload);
        let mut bytes = Vec::new();
        self.frame(&mut bytes, Kind::Checkpoint, &payload);
        self.write(disk, &bytes)?;
        self.sync(disk)
    }

    /// Cuts off what is not committed.
    pub(crate) fn take_back(&mut self, disk: &dyn Disk) -> Result<(), StoreError> {
        if !self.is_ahead {
            return Ok(());
        }
        let (bytes, _) = self.committed;
        let cut = disk.cut(&self.file, bytes);
        cut.map_err(|source| StoreError::io(&self.path, "cut", source))?;
        self.sync(disk)?;
        (self.written, self.is_ahead) = (self.committed, false);
        Ok(())
    }

    fn frame(&mut self, out: &mut Vec<u8>, kind: Kind, payload: &[u8]) {
        let (_, sequence) = &mut self.written;
        Head::write(out, kind, [*sequence, self.snapshot.checksum], payload);
        *sequence += 1;
    }

    fn write(&mut self, disk: &dyn Disk, bytes: &[u8]) -> Result<(), StoreError> {
        self.is_ahead = true;
        let written = disk.write(&self.file, bytes, self.written.0);
        written.map_err(|source| StoreError::io(&self.path, "write", source))?;
        self.written.0 += bytes.len() as u64;
        Ok(())
    }

    fn sync(&self, disk: &dyn Disk) -> Result<(), StoreError> {
        disk.sync(&self.file).map_err(|source| StoreError::io(&self.path, "sync", source))
    }
}

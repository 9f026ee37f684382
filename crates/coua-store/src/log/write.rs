//! Writes the log: append, sync, or roll back.

use std::fs::File;
use std::iter::successors;
use std::path::Path;

use super::frame::{Head, TransactionDigest};
use super::{Base, Kind, Mark, Scan, Source};
use crate::error::StoreError;
use crate::fs::Disk;

/// Bytes per write when frames are copied.
const STEP: usize = 1 << 20;

/// The log of a file, open for appending.
#[derive(Debug)]
pub(crate) struct Log {
    base: Base,
    /// The end of the last commit.
    committed: Mark,
    /// The beginning of the next frame.
    written: Mark,
    /// The digest of the frames since the last commit.
    digest: TransactionDigest,
    /// There may be bytes after the last commit.
    is_ahead: bool,
}

/// The changes of one commit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transaction<'a> {
    pub(crate) changes: &'a [u8],
    /// Payloads of frames of notes.
    pub(crate) notes: &'a [Vec<u8>],
}

/// The file of a log, and the disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) disk: &'a dyn Disk,
    pub(crate) file: &'a File,
    pub(crate) path: &'a Path,
}

impl Target<'_> {
    fn failed(&self, doing: &'static str) -> impl FnOnce(std::io::Error) -> StoreError {
        let path = self.path;
        move |source| StoreError::io(path, doing, source)
    }

    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.disk.sync(self.file).map_err(self.failed("sync"))
    }
}

impl Log {
    /// The empty log after a snapshot.
    pub(crate) fn empty(base: Base) -> Self {
        let first = base.first();
        let digest = TransactionDigest::default();
        Self { base, committed: first, written: first, digest, is_ahead: false }
    }

    /// Continues after the last commit. The bytes after it are removed at the next commit or earlier.
    pub(crate) fn resume(base: Base, committed: Mark, uncommitted: u64) -> Self {
        let is_ahead = uncommitted > 0;
        Self { committed, written: committed, is_ahead, ..Self::empty(base) }
    }

    pub(crate) fn base(&self) -> Base {
        self.base
    }

    /// Bytes of all frames, including uncommitted ones.
    pub(crate) fn bytes(&self) -> u64 {
        self.written.at - self.base.bytes
    }

    pub(crate) fn committed(&self) -> Mark {
        self.committed
    }

    pub(crate) fn written(&self) -> Mark {
        self.written
    }

    /// Whether there may be bytes after the last commit.
    pub(crate) fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    /// Appends a frame that a later commit makes valid.
    pub(crate) fn append(
        &mut self,
        to: Target<'_>,
        kind: Kind,
        payload: &[u8],
    ) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        let mut end = self.written;
        self.frame(&mut bytes, &mut end, kind, payload);
        self.write(to, &bytes, end)
    }

    /// Appends the frames of another file that follow a place, with new numbers. Returns their end in that file.
    pub(crate) fn copy(
        &mut self,
        to: Target<'_>,
        other: &Scan<'_>,
        from: Mark,
    ) -> Result<Mark, StoreError> {
        let (mut bytes, mut end) = (Vec::new(), self.written);
        let read = other.frames(from, |frame| {
            self.frame(&mut bytes, &mut end, frame.kind, &frame.payload);
            if bytes.len() >= STEP {
                self.write(to, &bytes, end)?;
                bytes.clear();
            }
            Ok(())
        })?;
        if !bytes.is_empty() {
            self.write(to, &bytes, end)?;
        }
        Ok(read)
    }

    /// Appends a transaction, without a sync.
    pub(crate) fn put(&mut self, to: Target<'_>, what: Transaction<'_>) -> Result<(), StoreError> {
        let (mut bytes, mut end) = (Vec::new(), self.written);
        if !what.changes.is_empty() {
            self.frame(&mut bytes, &mut end, Kind::Changes, what.changes);
        }
        for notes in what.notes {
            self.frame(&mut bytes, &mut end, Kind::Notes, notes);
        }
        self.frame(&mut bytes, &mut end, Kind::Commit, &[]);
        self.write(to, &bytes, end)
    }

    /// Marks everything written as committed, after a sync.
    pub(crate) fn mark_committed(&mut self) {
        (self.committed, self.is_ahead) = (self.written, false);
    }

    /// Whether the file still begins with the snapshot, if this log follows one, and ends with the log, so that
    /// no program has overwritten it in place, as `cp` does.
    pub(crate) fn is_in(&self, file: &File) -> bool {
        let ends_here =
            |found| found == self.written.at || self.is_ahead && found >= self.committed.at;
        let is_first = self.base.bytes == 0;
        is_first || self.base.is_in(file) && file.length().is_ok_and(ends_here)
    }

    /// Whether the file contains a commit that was reported as failed.
    pub(crate) fn has_another_commit(&self, to: Target<'_>) -> bool {
        let scan = Scan::new(to.file, to.path, self.base);
        let frame_at = |at| scan.as_ref().ok()?.frame_at(at).ok()?;
        let mut frames = successors(frame_at(self.committed), |last| frame_at(last.end));
        frames.any(|frame| frame.kind == Kind::Commit)
    }

    /// Truncates the log after the last commit.
    pub(crate) fn roll_back(&mut self, to: Target<'_>) -> Result<(), StoreError> {
        if !self.is_ahead {
            return Ok(());
        }
        to.disk.truncate(to.file, self.committed.at).map_err(to.failed("truncate"))?;
        to.sync()?;
        (self.written, self.is_ahead) = (self.committed, false);
        self.digest.clear();
        Ok(())
    }

    fn frame(&mut self, out: &mut Vec<u8>, end: &mut Mark, kind: Kind, payload: &[u8]) {
        let before = out.len();
        let write =
            |out, payload| Head::write(out, kind, end.sequence, self.base.checksum, payload);
        if kind == Kind::Commit {
            write(out, &self.digest.commit());
        } else {
            self.digest.add(write(out, payload));
        }
        end.at += (out.len() - before) as u64;
        end.sequence += 1;
    }

    fn write(&mut self, to: Target<'_>, bytes: &[u8], end: Mark) -> Result<(), StoreError> {
        self.is_ahead = true;
        to.disk.write(to.file, bytes, self.written.at).map_err(to.failed("write"))?;
        self.written = end;
        Ok(())
    }
}

//! Reads a log: the last commit, and the committed notes.

use std::path::Path;

use crate::error::{Damage, StoreError};
use crate::log::{Base, Frame, Kind, Mark, Scan, Source, TransactionDigest};
use crate::notes::Notes;

/// The log after the snapshot in a file.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LogView {
    /// Bytes up to the end of the last commit.
    pub bytes: u64,
    /// The number of commits.
    pub transactions: u64,
    /// Bytes after the last commit, which an interrupted write left.
    pub uncommitted: u64,
    /// The committed notes.
    pub notes: Notes,
}

/// Reads a log frame by frame.
#[derive(Debug)]
pub(crate) struct LogReader {
    base: Base,
    /// The end of the last commit; later frames do not count.
    pub(crate) committed: Mark,
    view: LogView,
    /// Changes of the notes that are not committed yet.
    note_changes: Vec<Vec<u8>>,
    digest: TransactionDigest,
}

impl LogReader {
    pub(crate) fn of(base: Base) -> Self {
        let (view, note_changes, digest) = Default::default();
        Self { base, committed: base.first(), view, note_changes, digest }
    }

    /// Checks the log to its end, and calls `each` with its frames, which are committed or not. O(bytes of the log); one
    /// frame is in memory at a time.
    pub(crate) fn read(
        &mut self,
        file: &dyn Source,
        path: &Path,
        mut each: impl FnMut(&Frame) -> Result<(), Damage>,
    ) -> Result<LogView, StoreError> {
        let (scan, mut next) = (Scan::new(file, path, self.base)?, self.base.first());
        while let Some(frame) = scan.frame_at(next)? {
            let read = self.apply(&frame).and_then(|()| each(&frame));
            read.map_err(|what| scan.damaged(frame.begin.at, what))?;
            next = frame.end;
        }
        self.view.bytes = self.committed.at - self.base.bytes;
        self.view.uncommitted = scan.bytes - self.committed.at;
        Ok(self.view.clone())
    }

    /// Applies a frame to the notes.
    fn apply(&mut self, frame: &Frame) -> Result<(), Damage> {
        if frame.kind != Kind::Commit {
            self.digest.add(frame.head);
            if frame.kind == Kind::Notes {
                self.note_changes.push(frame.payload.clone());
            }
            return Ok(());
        }
        if frame.payload != self.digest.commit() {
            return Err(Damage::Checksum);
        }
        let damage = Damage::Field { name: "notes", found: frame.begin.sequence };
        for changes in self.note_changes.drain(..) {
            self.view.notes.replay(&changes).ok_or(damage)?;
        }
        self.committed = frame.end;
        self.view.transactions += 1;
        Ok(())
    }
}

//! Inspects the log of a filter file. [`coua::inspect`] reads the snapshot before it.

use std::path::Path;

use crate::error::{Damage, StoreError};
use crate::log::{Base, Frame, Kind, Mark, Scan, TransactionDigest, decode_changes};
use crate::notes::Notes;

pub use crate::log::{LogEvent, Source};

/// The log after the snapshot in a file.
#[derive(Clone, Debug)]
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

/// Reads a log frame by frame, even from a [`Source`] that has not received all its bytes.
///
/// ```
/// use std::{fs::File, path::Path};
/// use coua::CuckooFilter;
/// use coua_store::{Options, inspect::{LogEvent, LogReader}};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("seen.coua");
/// let mut store = Options::new().create(&path, CuckooFilter::new)?;
/// store.commit()?;
/// let snapshot_bytes = path.metadata()?.len();
/// store.insert("kestrel")?;
/// store.commit()?;
/// let (file, mut said) = (File::open(&path)?, Vec::new());
/// let log = LogReader::new(&file, &path, snapshot_bytes)?.read(&file, &path, |what| said.push(what))?;
/// assert_eq!(log.transactions, 1);
/// assert!(matches!(said[..], [LogEvent::Inserted(_), LogEvent::Committed]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LogReader {
    base: Base,
    /// The place of the next frame.
    checked: Mark,
    /// The end of the last commit; later frames do not count.
    pub(crate) committed: Mark,
    transactions: u64,
    notes: Notes,
    /// Changes of the notes that are not committed yet.
    note_changes: Vec<Vec<u8>>,
    digest: TransactionDigest,
}

impl LogReader {
    /// A reader of the log after a snapshot of `snapshot_bytes` bytes. `path` is the name of the file in errors.
    ///
    /// # Errors
    ///
    /// [`Reason::Io`](crate::Reason::Io) if the end of the snapshot cannot be read.
    pub fn new(file: &dyn Source, path: &Path, snapshot_bytes: u64) -> Result<Self, StoreError> {
        let base = Base::of(file, snapshot_bytes);
        base.map(Self::of).map_err(|source| StoreError::io(path, "read", source))
    }

    pub(crate) fn of(base: Base) -> Self {
        Self {
            base,
            checked: base.first(),
            committed: base.first(),
            transactions: 0,
            notes: Notes::default(),
            note_changes: Vec::new(),
            digest: TransactionDigest::default(),
        }
    }

    /// Checks the log to its end, and calls `each` with its events. O(bytes of the log); one frame is in memory
    /// at a time.
    ///
    /// # Errors
    ///
    /// [`Reason::Damaged`](crate::Reason::Damaged) with the offset of the damage. After
    /// [`Reason::Io`](crate::Reason::Io) it may be called again, and continues at the frame that could not be read.
    pub fn read(
        &mut self,
        file: &dyn Source,
        path: &Path,
        mut each: impl FnMut(LogEvent),
    ) -> Result<LogView, StoreError> {
        self.read_frames(file, path, |frame| {
            match frame.kind {
                Kind::Changes => {
                    let damage = Damage::Field { name: "change", found: frame.begin.sequence };
                    decode_changes(&frame.payload, &mut each).ok_or(damage)?;
                }
                Kind::Commit => each(LogEvent::Committed),
                Kind::Notes => {}
            }
            Ok(())
        })
    }

    /// [`read`](Self::read) by frames, whose changes are not decoded.
    pub(crate) fn read_frames(
        &mut self,
        file: &dyn Source,
        path: &Path,
        mut each: impl FnMut(&Frame) -> Result<(), Damage>,
    ) -> Result<LogView, StoreError> {
        let scan = Scan::new(file, path, self.base)?;
        while let Some(frame) = scan.frame_at(self.checked)? {
            let read = self.apply(&frame).and_then(|()| each(&frame));
            read.map_err(|what| scan.damaged(frame.begin.at, what))?;
            self.checked = frame.end;
        }
        Ok(LogView {
            bytes: self.committed.at - self.base.bytes,
            transactions: self.transactions,
            uncommitted: scan.bytes - self.committed.at,
            notes: self.notes.clone(),
        })
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
            self.notes.replay(&changes).ok_or(damage)?;
        }
        (self.committed, self.transactions) = (frame.end, self.transactions + 1);
        Ok(())
    }

    /// The offset in the file of the next frame.
    pub fn position(&self) -> u64 {
        self.checked.at
    }
}

//! Errors of filter files.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use coua::{BatchFull, Full, FullReason, LoadError};

/// A filter file cannot be opened or committed.
///
/// ```
/// use coua_store::{Options, Reason};
/// let error = Options::new().read("/no/such/seen.coua").unwrap_err();
/// assert!(matches!(error.reason, Reason::Io { doing: "open", .. }));
/// assert!(error.to_string().starts_with("/no/such/seen.coua: cannot open"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct StoreError {
    /// The file that the message is about: the filter.
    pub path: PathBuf,
    /// Why it failed.
    pub reason: Reason,
}

impl StoreError {
    pub(crate) fn io(path: &Path, doing: &'static str, source: io::Error) -> Self {
        Reason::Io { doing, source }.at(path)
    }

    /// Whether the cause is a lack of memory.
    pub(crate) fn lacks_memory(&self) -> bool {
        match &self.reason {
            Reason::Load(source) => matches!(source, LoadError::OutOfMemory(_)),
            Reason::Replay { source, .. } => {
                matches!(source.full, Full { reason: FullReason::OutOfMemory, .. })
            }
            _ => false,
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.reason.source()
    }
}

/// The reason of a failure, whose text does not name the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// An error of the operating system.
    #[error("cannot {doing}: {source}{}", hint(source))]
    Io {
        /// The attempted action, as a verb: "open", "write", "lock".
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The path is not a regular file.
    #[error("is not a regular file, so it cannot hold a filter")]
    NotRegular,
    /// The file is empty: another run is creating the filter, or was interrupted.
    #[error(
        "is empty: the run that created it was interrupted, or has not committed yet; run it \
         again, or remove the file"
    )]
    Blank,
    /// Another process is writing the filter.
    #[error("another process is writing it")]
    Busy,
    /// This process has the filter open for writing.
    #[error("this process has it open for writing; use that filter, or close it first")]
    OpenHere,
    /// The snapshot cannot be loaded.
    #[error("{0}")]
    Load(#[source] LoadError),
    /// The log is damaged, not just incomplete at its end, as after a crash.
    #[error("damaged at byte {offset}: {what}; restore it from a backup")]
    Damaged {
        /// Offset of the damaged part.
        offset: u64,
        /// The kind of damage.
        what: Damage,
    },
    /// The changes in the log cannot be applied to the snapshot.
    #[error("the change at byte {offset} of its log cannot be replayed: {source}")]
    Replay {
        /// Offset of the change.
        offset: u64,
        /// The refusal of the filter.
        source: BatchFull,
    },
    /// The folder of a file cannot be opened, so new names in it could not be synced. Nothing was written.
    #[error("its folder {}", folder_words(.0))]
    Folder(#[source] io::Error),
    /// Everything was written, and readers see it, but fsync did not confirm it. After a power cut the file may have
    /// the previous state, which is also complete. Nothing needs to be repeated.
    #[error("written, but fsync failed, so a power cut may undo it: {0}")]
    Unsynced(#[source] io::Error),
    /// Another process removed, replaced or overwrote the file while it was in use, without taking the lock.
    #[error(
        "was removed, replaced or overwritten while it was open for writing; uncommitted changes are lost; \
         do not move or restore a filter while it is written"
    )]
    Replaced,
    /// The file was overwritten or truncated in place while it was read: answers may have been wrong.
    #[error(
        "was overwritten while it was read, so answers may be wrong; run again, and replace filters by renaming"
    )]
    Overwritten,
    /// A note and its name are too large. It was not set.
    #[error("a note with its name takes {found} bytes, but the limit is {most}")]
    NoteTooLarge {
        /// Bytes of the note and its name.
        found: u64,
        /// [`Notes::MOST_BYTES`](crate::Notes::MOST_BYTES).
        most: u64,
    },
    /// The file has the most notes allowed. The note was not set.
    #[error("has {most} notes, which is the limit; remove some, or put several values into one")]
    TooManyNotes {
        /// [`Notes::MOST`](crate::Notes::MOST).
        most: usize,
    },
    /// An earlier failure could not be undone on disk. Open the store again.
    #[error(
        "an earlier write failed and could not be undone; earlier commits are safe; open the filter again"
    )]
    Broken,
}

impl Reason {
    pub(crate) fn at(self, path: &Path) -> StoreError {
        StoreError { path: path.to_owned(), reason: self }
    }
}

/// Damage in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// A frame of an unknown kind.
    #[error("unknown frame kind {found} (expected 1 to 3): written by a newer coua, or damaged")]
    Kind {
        /// The kind found.
        found: u32,
    },
    /// A checksum does not match.
    #[error("checksum mismatch")]
    Checksum,
    /// A frame is missing, or exists twice.
    #[error("found frame number {found}, expected {expected}")]
    Sequence {
        /// The number found.
        found: u64,
        /// The number after that of the previous frame.
        expected: u64,
    },
    /// A frame belongs to another filter.
    #[error("the frame belongs to snapshot {found:016x}, not to {expected:016x}")]
    Frame {
        /// The checksum of that filter's snapshot.
        found: u64,
        /// The checksum of this filter's snapshot.
        expected: u64,
    },
    /// A field has a value that no writer writes.
    #[error("its {name} field holds {found}, which is impossible")]
    Field {
        /// The field's name in `docs/format.md`.
        name: &'static str,
        /// The field's value.
        found: u64,
    },
}

fn hint(error: &io::Error) -> &'static str {
    let is_unsupported = error.kind() == io::ErrorKind::Unsupported;
    if is_unsupported { "; its file system does not support this" } else { "" }
}

fn folder_words(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        return "does not exist".to_owned();
    }
    format!("cannot be opened, which is needed to sync its name: {error}")
}

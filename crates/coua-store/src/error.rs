//! What can go wrong with a filter in a file.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use coua::{BatchFull, Full, FullReason, LoadError};

/// A filter file cannot be opened or committed.
///
/// ```
/// use coua_store::{Reason, Store};
/// let error = Store::read("/no/such/seen.coua").unwrap_err();
/// assert!(matches!(error.reason, Reason::Io { doing: "open", .. }));
/// assert!(error.to_string().starts_with("/no/such/seen.coua: cannot open"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct StoreError {
    /// The file that the message is about: the filter.
    pub path: PathBuf,
    /// What is wrong with it.
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

/// What is wrong with a filter file. Its text does not name the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// The operating system refused something.
    #[error("cannot {doing}: {source}{}", hint(source))]
    Io {
        /// What was tried, as a verb: "open", "write", "lock".
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The path is not a regular file.
    #[error("is not a regular file, so it cannot hold a filter")]
    NotRegular,
    /// The file is empty: another run is creating the filter, or was interrupted.
    #[error(
        "is empty: the run that creates this filter has committed nothing yet, or was interrupted; run it \
         again, or remove the file"
    )]
    Blank,
    /// Another process is writing the filter.
    #[error("another process is writing it")]
    Busy,
    /// The snapshot cannot be loaded.
    #[error("{0}")]
    Load(#[source] LoadError),
    /// The log is damaged, and not just incomplete at its end, as a crash leaves it.
    #[error("damaged at byte {offset}: {what}; restore it from a copy")]
    Damaged {
        /// Offset of the damaged part.
        offset: u64,
        /// What is wrong there.
        what: Damage,
    },
    /// The changes in the log cannot be applied to the snapshot.
    #[error("the change at byte {offset} of its log cannot be repeated: {source}")]
    Replay {
        /// Offset of the change.
        offset: u64,
        /// Why.
        source: BatchFull,
    },
    /// The folder of a file cannot be opened, so new names in it could not be synced. Nothing was written.
    #[error("its folder {}", folder_words(.0))]
    Folder(#[source] io::Error),
    /// Everything was written, and every reader finds it, but it was not confirmed by fsync. A power cut may leave
    /// the state before, which is as complete. Nothing needs to be done again.
    #[error("written, but it is not certain that it outlasts a power cut: {0}")]
    Unsynced(#[source] io::Error),
    /// Another process removed, replaced or overwrote the file while it was in use, without taking the lock.
    #[error(
        "was removed, replaced or overwritten while it was open for writing: what was not committed before is lost; \
         do not move or restore a filter while it is written"
    )]
    Replaced,
    /// The file was overwritten or truncated in place while it was read: answers may have been wrong.
    #[error(
        "was overwritten while it was read, so answers may be wrong: ask again, and replace filters by renaming"
    )]
    Overwritten,
    /// A note and its name take too many bytes. It was not set.
    #[error("a note takes {found} bytes with its name, but at most {most} are possible")]
    NoteTooLarge {
        /// Bytes that it takes.
        found: u64,
        /// [`Notes::MOST_BYTES`](crate::Notes::MOST_BYTES).
        most: u64,
    },
    /// An earlier failure could not be undone on disk: open the store again.
    #[error(
        "an earlier write failed and could not be undone; what was committed before is safe: open the filter again"
    )]
    Broken,
}

impl Reason {
    pub(crate) fn at(self, path: &Path) -> StoreError {
        StoreError { path: path.to_owned(), reason: self }
    }
}

/// What is wrong in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// A frame of a kind that is not known.
    #[error(
        "frame kind {found} is not known (1 to 3 are): a newer coua wrote it, or it is damaged"
    )]
    Kind {
        /// The kind found.
        found: u32,
    },
    /// A checksum does not match.
    #[error("a checksum does not fit")]
    Checksum,
    /// A frame is missing, or exists twice.
    #[error("frame number {found} stands where number {expected} should")]
    Sequence {
        /// The number found.
        found: u64,
        /// The number after that of the previous frame.
        expected: u64,
    },
    /// A frame belongs to another filter.
    #[error("it belongs to snapshot {found:016x}, but this one is {expected:016x}")]
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
        /// Its value.
        found: u64,
    },
}

fn hint(error: &io::Error) -> &'static str {
    let is_unsupported = error.kind() == io::ErrorKind::Unsupported;
    if is_unsupported { "; its file system does not support that" } else { "" }
}

fn folder_words(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound {
        return "does not exist".to_owned();
    }
    format!("cannot be opened, as is needed to bring its name to the disk: {error}")
}

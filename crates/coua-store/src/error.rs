//! What can go wrong with a filter in a file.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use coua::{BatchFull, Full, FullReason, LoadError};

use crate::damage::Damage;
use crate::runs::Run;

/// A filter file cannot be opened or committed.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused something.
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, as a verb: "open", "write", "lock".
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// The path is not a regular file.
    NotRegular {
        /// The path.
        path: PathBuf,
    },
    /// The file is empty: another run is creating the filter, or was interrupted.
    Blank {
        /// The file.
        path: PathBuf,
    },
    /// A journal of the two-file form exists, but its filter is missing.
    Orphaned {
        /// The journal.
        path: PathBuf,
    },
    /// Another process is writing the filter.
    Busy {
        /// The filter file.
        path: PathBuf,
    },
    /// The snapshot cannot be loaded.
    Load {
        /// The filter file.
        path: PathBuf,
        /// Why.
        source: LoadError,
    },
    /// The log is damaged, and not just incomplete at its end, as a crash leaves it.
    Damaged {
        /// The filter file, or its journal.
        path: PathBuf,
        /// Offset of the damaged part.
        offset: u64,
        /// What is wrong there.
        what: Damage,
    },
    /// The journal does not belong to this filter.
    Foreign {
        /// The journal.
        path: PathBuf,
    },
    /// The changes in the log cannot be applied to the snapshot.
    Replay {
        /// The filter file, or its journal.
        path: PathBuf,
        /// Offset of the change.
        offset: u64,
        /// Why.
        source: BatchFull,
    },
    /// The folder of a file cannot be opened, so new names in it could not be synced. Nothing was written.
    Folder {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Everything was written, and every reader finds it, but it was not confirmed by fsync. A power cut may leave
    /// the state before, which is as complete. Nothing needs to be done again.
    Unsynced {
        /// The filter file.
        path: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// Somebody has removed, replaced or overwritten the file while it was in use, without taking the lock.
    Replaced {
        /// The filter file.
        path: PathBuf,
    },
    /// The file was overwritten or truncated in place while it was read: answers may have been wrong.
    Overwritten {
        /// The filter file.
        path: PathBuf,
    },
    /// A run takes more than [`Run::MOST_BYTES`]. Nothing was written.
    RunTooLarge {
        /// The filter file.
        path: PathBuf,
        /// Bytes that it takes.
        found: u64,
    },
    /// An earlier failure could not be undone on disk: open the store again.
    Broken {
        /// The filter file.
        path: PathBuf,
    },
}

impl StoreError {
    pub(crate) fn io(path: &Path, doing: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), doing, source }
    }

    /// Whether the cause is a lack of memory.
    pub(crate) fn lacks_memory(&self) -> bool {
        match self {
            Self::Load { source, .. } => matches!(source, LoadError::OutOfMemory(_)),
            Self::Replay { source, .. } => {
                matches!(source.full, Full { reason: FullReason::OutOfMemory, .. })
            }
            _ => false,
        }
    }

    /// The file that the message is about.
    ///
    /// ```
    /// let error = coua_store::Store::read("/no/such/seen.coua").unwrap_err();
    /// assert!(error.path().ends_with("seen.coua"));
    /// ```
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::NotRegular { path }
            | Self::Orphaned { path }
            | Self::Busy { path }
            | Self::Load { path, .. }
            | Self::Damaged { path, .. }
            | Self::Foreign { path }
            | Self::Replay { path, .. }
            | Self::Folder { path, .. }
            | Self::Unsynced { path, .. }
            | Self::Replaced { path }
            | Self::Overwritten { path }
            | Self::Blank { path }
            | Self::RunTooLarge { path, .. }
            | Self::Broken { path } => path,
        }
    }
}

impl StoreError {
    /// What is wrong, without the name of the file.
    ///
    /// ```
    /// let error = coua_store::Store::read("/no/such/seen.coua").unwrap_err();
    /// assert!(error.reason().to_string().starts_with("cannot open"));
    /// ```
    pub fn reason(&self) -> Reason<'_> {
        Reason(self)
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path().display(), self.reason())
    }
}

/// What is wrong, without where.
#[derive(Clone, Copy, Debug)]
pub struct Reason<'a>(&'a StoreError);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            StoreError::Io { doing, source, .. } if source.kind() == io::ErrorKind::Unsupported => {
                write!(f, "cannot {doing}: {source}; its file system does not support that")
            }
            StoreError::Io { doing, source, .. } => write!(f, "cannot {doing}: {source}"),
            StoreError::NotRegular { .. } => {
                f.write_str("is no regular file, so it cannot hold a filter")
            }
            StoreError::Blank { .. } => f.write_str(
                "is empty: the run that is to create the filter has not committed anything yet, or was \
                 interrupted; run it again, or remove the file",
            ),
            StoreError::Orphaned { .. } => f.write_str(
                "is the journal of a filter that is missing (found by its name): restore the filter, or remove \
                 the journal to create a new one",
            ),
            StoreError::Busy { .. } => f.write_str("another process is writing it"),
            StoreError::Load { source, .. } => source.fmt(f),
            StoreError::Damaged { offset, what, .. } => {
                write!(f, "is damaged at byte {offset}: {what}; restore it from a copy")
            }
            StoreError::Foreign { .. } => f.write_str(
                "is the journal of another filter than the one beside it: restore that filter, or remove \
                 the journal",
            ),
            StoreError::Replay { offset, source, .. } => {
                write!(f, "the change at byte {offset} of its log cannot be repeated: {source}")
            }
            StoreError::Folder { source, .. } => folder_reason(source, f),
            StoreError::Unsynced { source, .. } => {
                write!(f, "written, but it is not certain that it outlasts a power cut: {source}")
            }
            StoreError::Replaced { .. } => f.write_str(
                "was removed, replaced or overwritten while it was open for writing: what was not committed before \
                 is lost; do not move or restore a filter while it is written",
            ),
            StoreError::Overwritten { .. } => f.write_str(
                "was overwritten while it was read, so answers may be wrong: ask again, and replace filters by \
                 renaming",
            ),
            StoreError::RunTooLarge { found, .. } => write!(
                f,
                "what a run needs to be resumed takes {found} bytes, but at most {} are kept",
                Run::MOST_BYTES
            ),
            StoreError::Broken { .. } => f.write_str(
                "an earlier write failed and could not be undone; what was committed before is safe: \
                 open the filter again",
            ),
        }
    }
}

fn folder_reason(source: &io::Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if source.kind() == io::ErrorKind::NotFound {
        return f.write_str("its folder does not exist");
    }
    write!(f, "its folder cannot be opened, as is needed to bring its name to the disk: {source}")
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. }
            | Self::Folder { source, .. }
            | Self::Unsynced { source, .. } => Some(source),
            Self::Load { source, .. } => Some(source),
            Self::Replay { source, .. } => Some(source),
            _ => None,
        }
    }
}

//! The file system: the lock of a filter, the steps that change the disk, temporary files, folders and links.

mod disk;
mod folder;
mod lock;
pub(crate) mod positioned;
mod rights;
mod temporary;

use std::fs;
use std::path::{self, Path, PathBuf};

pub(crate) use disk::{Disk, FileSystem};
pub use folder::Folder;
#[cfg(test)]
pub(crate) use lock::inode_of;
pub use lock::{Lock, Wait};
pub(crate) use lock::{OpenHere, is_at};
pub(crate) use temporary::clear as clear_temporary;

use crate::error::StoreError;

/// The file that a name leads to, even if it does not exist yet, as an absolute path.
///
/// # Errors
///
/// [`Reason::Io`](crate::Reason::Io) if there are too many symbolic links.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().canonicalize()?.join("seen.coua");
/// assert_eq!(coua_store::resolved(&path)?, path);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn resolved(path: &Path) -> Result<PathBuf, StoreError> {
    linked(path).map(absolute)
}

/// The name to which symbolic links lead.
fn linked(path: &Path) -> Result<PathBuf, StoreError> {
    let target = folder::follow_links(path);
    target.map_err(|source| StoreError::io(path, "follow", source))
}

/// A path that still leads to the same file after the process has changed its working directory.
fn absolute(path: PathBuf) -> PathBuf {
    fs::canonicalize(&path).or_else(|_| path::absolute(&path)).unwrap_or(path)
}

//! One writer at a time.
//!
//! The filter's own file is replaced, so writers lock an empty file beside it (`seen.coua.lock`). It
//! is removed at the end; a crash leaves it behind, unlocked and harmless. Readers take no lock. What is
//! not empty is no lock, and stays.

use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::path::Path;

use crate::error::StoreError;
use crate::files::{Files, resolved};
use crate::folder::Folder;
use crate::left;

/// What to do while another process is writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Wait {
    /// Wait until it has finished or died.
    #[default]
    UntilFree,
    /// Fail at once with [`StoreError::Busy`].
    No,
}

/// The right to write a filter file. It ends when this is dropped, or with the process.
///
/// ```
/// use coua_store::{Lock, StoreError, Wait};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("seen.coua");
/// let first = Lock::take(&path, Wait::No)?;
/// assert!(matches!(Lock::take(&path, Wait::No), Err(StoreError::Busy { .. })));
/// drop(first);
/// Lock::take(&path, Wait::No)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lock {
    /// Holds the lock while it is open.
    file: File,
    /// Of the filter that is locked, with symbolic links resolved.
    files: Files,
    /// Open before anything is done in it.
    folder: Folder,
}

impl Lock {
    /// Locks the filter file at `path`, which need not exist. Symbolic links are followed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`] if another process has the lock and `wait` says not to wait;
    /// [`StoreError::Occupied`] if something else has the lock's name;
    /// [`StoreError::Folder`] if there is no such folder, or it cannot be read;
    /// [`StoreError::Io`] if it cannot be written or its file system has no locks.
    ///
    /// ```
    /// use coua_store::{Lock, Wait};
    /// let folder = tempfile::tempdir()?;
    /// let lock = Lock::take(&folder.path().join("seen.coua"), Wait::UntilFree)?;
    /// assert!(folder.path().join("seen.coua.lock").exists());
    /// drop(lock);
    /// assert!(!folder.path().join("seen.coua.lock").exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take(path: &Path, wait: Wait) -> Result<Self, StoreError> {
        let files = Files::of(&resolved(path)?);
        let folder = Folder::of(&files.snapshot)?;
        let failed = |source| StoreError::io(&files.lock, "lock", source);
        loop {
            left::check_lock(&files.lock)?;
            let file =
                File::options().create(true).append(true).open(&files.lock).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if wait == Wait::No => {
                    return Err(StoreError::Busy { path: files.snapshot });
                }
                Err(TryLockError::WouldBlock) => file.lock().map_err(failed)?,
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            if is_at(&file, &files.lock) {
                return Ok(Self { file, files, folder });
            }
            // The one before removed it while this one waited: it locks nothing any more.
        }
    }

    /// Complains if somebody has removed the lock: then it locks nothing any more.
    pub(crate) fn check_name(&self) -> Result<(), StoreError> {
        StoreError::unless_at(&self.file, &self.files.lock)
    }

    /// The names of the filter's files.
    pub(crate) fn files(&self) -> &Files {
        &self.files
    }

    /// The folder that they are in.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Complains if something else than a filter, an empty file or nothing is there: that must not be replaced
    /// by a filter.
    ///
    /// # Errors
    ///
    /// As those of a reader; [`StoreError::OverJournal`] if it is the journal of a filter.
    ///
    /// ```
    /// # use coua_store::{Lock, Wait};
    /// # let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("table.csv");
    /// std::fs::write(&path, "a,b")?;
    /// let lock = Lock::take(&path, Wait::No)?;
    /// assert!(lock.check_replaceable().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_replaceable(&self) -> Result<(), StoreError> {
        left::check_replaceable(&self.files.snapshot)
    }

    /// The filter file that is locked, with symbolic links resolved.
    ///
    /// ```
    /// # use coua_store::{Lock, Wait};
    /// # let folder = tempfile::tempdir()?;
    /// let lock = Lock::take(&folder.path().join("seen.coua"), Wait::No)?;
    /// assert!(lock.target().ends_with("seen.coua"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn target(&self) -> &Path {
        &self.files.snapshot
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed before it is unlocked, so that whoever has waited for it notices.
        if left::check_lock(&self.files.lock).is_ok() {
            fs::remove_file(&self.files.lock).ok();
        }
    }
}

/// Whether an open file is the one with this name.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let same = |held: io::Result<Metadata>, named: io::Result<Metadata>| {
        Some(inode_of(&held.ok()?) == inode_of(&named.ok()?))
    };
    same(file.metadata(), fs::metadata(path)).unwrap_or(false)
}

/// Which file has this name; none if there is none.
pub(crate) fn inode_at(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| inode_of(&metadata))
}

/// Device and inode: which file it is, whatever its names. Zero where the system does not tell.
pub(crate) fn inode_of(metadata: &Metadata) -> (u64, u64) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        (metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        (0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_threads_take_turns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.coua");
        let counter = folder.path().join("counter");
        fs::write(&counter, "0").unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let lock = Lock::take(&path, Wait::UntilFree).unwrap();
                        let count: u32 = fs::read_to_string(&counter).unwrap().parse().unwrap();
                        fs::write(&counter, (count + 1).to_string()).unwrap();
                        drop(lock);
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&counter).unwrap(), "400");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the lock is gone");
    }

    #[cfg(unix)]
    #[test]
    fn a_links_lock_is_its_targets() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("seen.coua"), folder.path().join("link"));
        std::os::unix::fs::symlink("seen.coua", &link).unwrap();
        for _ in 0..2 {
            let lock = Lock::take(&link, Wait::No).unwrap();
            assert!(lock.target().ends_with("seen.coua"));
            assert!(Lock::take(&path, Wait::No).is_err());
            drop(lock);
            fs::write(&path, "").unwrap();
        }
    }
}

//! One writer at a time.
//!
//! Writers lock the filter's own file. A new snapshot replaces that file, so a writer that has waited for the lock
//! checks that the name still leads to the file; otherwise it waits for the new one. A filter that does
//! not exist yet has an empty file as a placeholder. Readers take no lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{mem, process};

use coua::LoadError;
use coua::window::Generations;

use super::rights::limit_rights;
use super::{Folder, absolute, linked};
use crate::error::{Reason, StoreError};

/// What to do while another process is writing the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Wait {
    /// Wait until it has finished.
    #[default]
    UntilFree,
    /// Give up with [`Reason::Busy`], or with [`Reason::OpenHere`] if this process has it open: a thread that waits for
    /// itself waits forever.
    No,
}

/// The right to write a filter, until dropped. Dropping it removes a placeholder to which nothing was committed.
///
/// ```
/// use coua_store::{Lock, Reason, StoreError, Wait};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("seen.coua");
/// let lock = Lock::take(&path, Wait::UntilFree)?;
/// assert!(matches!(Lock::take(&path, Wait::No), Err(StoreError { reason: Reason::Busy, .. })));
/// drop(lock);
/// assert!(!path.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
    folder: Folder,
    /// This process created the file, and it is empty.
    is_placeholder: bool,
    /// There was no filter when it was locked.
    was_new: bool,
}

impl Lock {
    /// Locks the filter at `path`, which need not exist.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if another writer holds the lock and `wait` is [`Wait::No`], or the file cannot be opened for
    /// writing.
    pub fn take(path: &Path, wait: Wait) -> Result<Self, StoreError> {
        let target = linked(path)?;
        let (folder, path) = (Folder::of(&target)?, absolute(target));
        loop {
            let Some((file, is_placeholder)) = open(&path)? else { continue };
            let locked = match file.try_lock() {
                Err(TryLockError::WouldBlock) if wait == Wait::No => {
                    let is_here = open_here().contains(&(path.clone(), process::id()));
                    return Err(if is_here { Reason::OpenHere } else { Reason::Busy }.at(&path));
                }
                Err(TryLockError::WouldBlock) => file.lock(),
                tried => tried.map_err(io::Error::from),
            };
            locked.map_err(|source| StoreError::io(&path, "lock", source))?;
            match is_same(&file, &path) {
                Ok(true) => {
                    let was_new = is_empty(&file);
                    return Ok(Self { file, path, folder, is_placeholder, was_new });
                }
                // A new snapshot has replaced the file while this one waited.
                Ok(false) => {}
                // The placeholder is gone.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(source) => return Err(StoreError::io(&path, "lock", source)),
            }
        }
    }

    /// [`take`](Self::take) for a filter that must exist.
    ///
    /// # Errors
    ///
    /// As [`take`](Self::take), and if there is no file.
    pub fn take_existing(path: &Path, wait: Wait) -> Result<Self, StoreError> {
        fs::metadata(path).map_err(|source| StoreError::io(path, "open for writing", source))?;
        Self::take(path, wait)
    }

    /// Whether the name still leads to the locked file.
    pub(crate) fn is_held(&self) -> bool {
        is_at(&self.file, &self.path)
    }

    /// Returns an error if another program has ignored the lock: it removed or replaced the file, so that writes to it
    /// are lost, or wrote to it before there was a filter.
    pub(crate) fn check_held(&self) -> Result<(), StoreError> {
        if self.is_held() && (self.is_new() || !self.was_new) {
            return Ok(());
        }
        Err(Reason::Replaced.at(&self.path))
    }

    /// The locked file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The folder of the file.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Replaces the lock by that of the file that was just renamed into place. Returns the previous file.
    pub(crate) fn switch_to(&mut self, file: File) -> File {
        (self.is_placeholder, self.was_new) = (false, false);
        let old = mem::replace(&mut self.file, file);
        unlock(&old);
        old
    }

    /// The filter file, with symbolic links resolved.
    pub fn target(&self) -> &Path {
        &self.path
    }

    /// Whether there is no filter yet.
    pub fn is_new(&self) -> bool {
        is_empty(&self.file)
    }

    /// Limits the rights to a filter that does not exist yet to those to the file at `source`.
    ///
    /// # Errors
    ///
    /// [`StoreError`] of the file system.
    pub fn limit_rights(&self, source: &Path) -> Result<(), StoreError> {
        let limited = if self.is_placeholder { limit_rights(&self.file, source) } else { Ok(()) };
        limited.map_err(|error| StoreError::io(source, "read the rights of", error))
    }

    /// Whether the file may be replaced by a filter: it must be a filter or empty.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if it is anything else.
    pub fn check_replaceable(&self) -> Result<(), StoreError> {
        if self.is_new() {
            return Ok(());
        }
        match Generations::snapshot_bytes(&self.file) {
            Err(source @ LoadError::NotAFilter) => Err(Reason::Load(source).at(&self.path)),
            Err(LoadError::Io(source)) => Err(StoreError::io(&self.path, "read", source)),
            // A damaged filter may be replaced too.
            _ => Ok(()),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed before it is unlocked, so that a waiting writer notices.
        if self.is_placeholder && self.is_new() && self.is_held() {
            fs::remove_file(&self.path).ok();
        }
        unlock(&self.file);
    }
}

/// The files that this process has open, each with the number of the process: after a fork, those of the parent do not
/// count.
static OPEN_HERE: Mutex<Vec<(PathBuf, u32)>> = Mutex::new(Vec::new());

fn open_here() -> MutexGuard<'static, Vec<(PathBuf, u32)>> {
    OPEN_HERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The entry of a file that this process has open.
#[derive(Debug)]
pub(crate) struct OpenHere(PathBuf);

impl OpenHere {
    pub(crate) fn new(path: &Path) -> Self {
        open_here().push((path.to_owned(), process::id()));
        Self(path.to_owned())
    }
}

impl Drop for OpenHere {
    fn drop(&mut self) {
        open_here().retain(|(path, _)| *path != self.0);
    }
}

fn is_empty(file: &File) -> bool {
    file.metadata().is_ok_and(|found| found.len() == 0)
}

/// Closing the file is not enough: a mapping of it, which may outlast the store, would keep the lock.
fn unlock(file: &File) {
    // Fails only if it was not locked.
    file.unlock().ok();
}

/// Opens the file, and returns whether it was created here; none if it appeared or vanished meanwhile.
fn open(path: &Path) -> Result<Option<(File, bool)>, StoreError> {
    let failed = |source| StoreError::io(path, "open for writing", source);
    let is_absent = match fs::metadata(path) {
        Ok(found) if !found.is_file() => return Err(Reason::NotRegular.at(path)),
        Ok(_) => false,
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
        Err(_) => true,
    };
    let has_moved = if is_absent { ErrorKind::AlreadyExists } else { ErrorKind::NotFound };
    match OpenOptions::new().read(true).write(true).create_new(is_absent).open(path) {
        Ok(file) => Ok(Some((file, is_absent))),
        Err(error) if error.kind() == has_moved => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// Whether a name leads to an open file; false if unknown.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    is_same(file, path).unwrap_or(false)
}

#[cfg(unix)]
fn is_same(file: &File, path: &Path) -> io::Result<bool> {
    Ok(inode_of(&file.metadata()?) == inode_of(&fs::metadata(path)?))
}

/// Device and inode, which identify a file while it exists.
#[cfg(unix)]
pub(crate) fn inode_of(metadata: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn is_same(file: &File, path: &Path) -> io::Result<bool> {
    use same_file::Handle;
    Ok(Handle::from_file(file.try_clone()?)? == Handle::from_path(path)?)
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
        assert!(!path.exists(), "the placeholder is gone");
        let missing = Lock::take_existing(&path, Wait::No);
        assert!(
            matches!(missing, Err(StoreError { reason: Reason::Io { .. }, .. })),
            "{missing:?}"
        );
    }

    #[test]
    fn who_has_waited_gets_the_file_that_has_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let (path, next) = (folder.path().join("seen.coua"), folder.path().join("next"));
        fs::write(&path, "old").unwrap();
        let lock = Lock::take(&path, Wait::No).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Lock::take(&path, Wait::UntilFree).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(50));
            fs::write(&next, "new").unwrap();
            fs::rename(&next, &path).unwrap();
            drop(lock);
            assert!(waiting.join().unwrap().is_held());
        });
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
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
            let refused = || Lock::take(&path, Wait::No).unwrap_err().reason;
            assert!(matches!(refused(), Reason::Busy));
            let open_here = OpenHere::new(lock.target());
            assert!(matches!(refused(), Reason::OpenHere));
            drop(open_here);
            assert!(matches!(refused(), Reason::Busy));
            drop(lock);
            fs::write(&path, "").unwrap();
        }
        assert!(path.exists(), "an empty file of the user's stays");
    }
}

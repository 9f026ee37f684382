//! All steps that change the disk, behind a trait, so that tests can make steps fail.

use std::fmt::{self, Debug, Formatter};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Folder, temporary};

/// The steps that change the disk.
pub(crate) trait Disk: Debug + Send + Sync {
    /// A new, empty file beside `target`, locked, with the owner and the permissions of `target`.
    fn create(&self, target: &Path) -> io::Result<(File, PathBuf)>;
    /// Writes all bytes at an offset; several threads may.
    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()>;
    /// Syncs a file.
    fn sync(&self, file: &File) -> io::Result<()>;
    /// Truncates a file.
    fn truncate(&self, file: &File, length: u64) -> io::Result<()>;
    /// Replaces `to` by `from`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Syncs the names in a folder.
    fn sync_folder(&self, folder: &Folder) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Reserves space for a file without making it longer.
    fn reserve(&self, file: &File, bytes: u64) -> io::Result<()>;
}

/// A disk on which no step that writes is taken any more once the caller wants to give up. Steps that undo, or
/// finish what has happened, are.
pub(crate) struct GivingUp<F> {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) is_wanted: F,
}

impl<F> Debug for GivingUp<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("GivingUp").field("disk", &self.disk).finish_non_exhaustive()
    }
}

impl<F: Fn() -> bool> GivingUp<F> {
    fn check(&self) -> io::Result<()> {
        if (self.is_wanted)() { Err(io::Error::other("given up")) } else { Ok(()) }
    }
}

impl<F: Fn() -> bool + Send + Sync> Disk for GivingUp<F> {
    fn create(&self, target: &Path) -> io::Result<(File, PathBuf)> {
        self.check().and_then(|()| self.disk.create(target))
    }

    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        self.check().and_then(|()| self.disk.write(file, bytes, at))
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.check().and_then(|()| self.disk.sync(file))
    }

    fn truncate(&self, file: &File, length: u64) -> io::Result<()> {
        self.disk.truncate(file, length)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check().and_then(|()| self.disk.rename(from, to))
    }

    fn sync_folder(&self, folder: &Folder) -> io::Result<()> {
        self.disk.sync_folder(folder)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn reserve(&self, file: &File, bytes: u64) -> io::Result<()> {
        self.check().and_then(|()| self.disk.reserve(file, bytes))
    }
}

/// The file system.
#[derive(Debug)]
pub(crate) struct FileSystem;

impl Disk for FileSystem {
    fn create(&self, target: &Path) -> io::Result<(File, PathBuf)> {
        let file = temporary::create(target)?;
        file.as_file().try_lock()?;
        file.keep().map_err(|error| error.error)
    }

    #[cfg(unix)]
    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
    }

    #[cfg(not(unix))]
    fn write(&self, mut file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        use std::io::{Seek, SeekFrom, Write};
        static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    fn truncate(&self, file: &File, length: u64) -> io::Result<()> {
        file.set_len(length)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &Folder) -> io::Result<()> {
        folder.sync()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    #[cfg(target_os = "linux")]
    fn reserve(&self, file: &File, bytes: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        match fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes.max(1)) {
            // A file system without reservations fails later, when the file is written.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            result => Ok(result?),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn reserve(&self, _file: &File, _bytes: u64) -> io::Result<()> {
        Ok(())
    }
}

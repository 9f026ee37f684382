//! All steps that change the disk, behind a trait, so that tests can make steps fail.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{Folder, positioned, temporary};

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

/// The file system.
#[derive(Debug)]
pub(crate) struct FileSystem;

impl Disk for FileSystem {
    fn create(&self, target: &Path) -> io::Result<(File, PathBuf)> {
        let file = temporary::create(target)?;
        file.as_file().try_lock()?;
        file.keep().map_err(|error| error.error)
    }

    fn write(&self, file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
        positioned::write_all_at(file, bytes, at)
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

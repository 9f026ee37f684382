//! Replaces a file by a snapshot in one step: follows its name, and makes the change durable.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::keep_rights;
use crate::filter::CuckooFilter;

impl CuckooFilter {
    /// Writes the snapshot to `path` so that at every moment, even after a crash, `path` is either the complete old
    /// file or the complete new one: a temporary file in the same folder is written, synced and renamed.
    /// O(bytes), and waits until they are on disk.
    ///
    /// Follows symbolic links. An existing file keeps its owner and permissions as [`keep_rights`] does.
    ///
    /// # Errors
    ///
    /// Those of the file system. The old file is then unchanged, with one exception: if the last step, the sync of the
    /// folder, fails, the new file is in place but may not survive a power cut. `path` must be a regular file
    /// or absent, in a folder that can be opened.
    pub fn save_atomically(&self, path: impl AsRef<Path>) -> io::Result<()> {
        replace_file(path.as_ref(), self)
    }
}

fn replace_file(path: &Path, filter: &CuckooFilter) -> io::Result<()> {
    let exists = match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => true,
        Ok(_) => return Err(io::Error::other("not a regular file")),
        Err(error) if error.kind() == ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    let target = follow_links(path)?;
    let folder = Folder::of(&target)?;
    // Private until it has the permissions of the file that it replaces.
    let mut builder = tempfile::Builder::new();
    builder.prefix(".coua-").suffix(".tmp");
    #[cfg(unix)]
    if !exists {
        // The permissions of any new file, minus the umask.
        builder.permissions(PermissionsExt::from_mode(0o666));
    }
    let mut temporary = builder.tempfile_in(Folder::path_of(&target))?;
    filter.write_to(temporary.as_file_mut())?;
    if exists {
        keep_rights(temporary.as_file(), &target)?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|failed| failed.error)?;
    folder.sync()
}

/// The most symbolic links that are followed, as in Linux.
const MOST_LINKS: usize = 40;

/// The open folder of a file, for programs that replace files as
/// [`save_atomically`](crate::CuckooFilter::save_atomically) does: renamed, new and removed names are durable after
/// it is synced. Open it before any change, so that nothing changes in a folder that cannot be opened.
///
/// ```
/// use coua::snapshot::Folder;
/// let place = tempfile::tempdir()?;
/// let path = place.path().join("output");
/// let folder = Folder::of(&path)?;
/// std::fs::write(&path, "")?;
/// folder.sync()?;
/// assert!(Folder::of(&place.path().join("missing/output")).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Folder {
    /// None where folders cannot be opened as files are.
    file: Option<Arc<File>>,
}

impl Folder {
    /// Opens the folder in which the file at `path` is, or will be. Links are not followed.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn of(path: &Path) -> io::Result<Self> {
        let folder = Self::path_of(path);
        if cfg!(unix) {
            // `path/.` exists only for folders: opening a pipe would wait for a writer.
            let file = File::open(folder.join("."))?;
            Ok(Self { file: Some(Arc::new(file)) })
        } else {
            fs::metadata(folder).map(|_| Self { file: None })
        }
    }

    /// The path of the folder in which the file at `path` is.
    pub fn path_of(path: &Path) -> &Path {
        match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// Syncs its names. Does nothing on file systems that do not support this.
    ///
    /// # Errors
    ///
    /// Those of the disk.
    pub fn sync(&self) -> io::Result<()> {
        match self.file.as_ref().map_or(Ok(()), |file| file.sync_all()) {
            Err(error) if is_unknown(error.kind()) => Ok(()),
            synced => synced,
        }
    }
}

/// EINVAL; and ENOSYS, ENOTSUP.
fn is_unknown(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::InvalidInput | ErrorKind::Unsupported)
}

/// The target of symbolic links, which need not exist.
///
/// # Errors
///
/// There are too many links.
pub fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = Folder::path_of(&target).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That of the kernel's own files does not.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn a_file_system_need_not_know_how_to_sync_a_folder() {
        let folder = Folder::of("/proc/version".as_ref()).unwrap();
        let error = folder.file.as_ref().unwrap().sync_all().unwrap_err();
        assert!(is_unknown(error.kind()), "{error}");
        folder.sync().unwrap();
        for number in [22, 38, 95] {
            let error = io::Error::from_raw_os_error(number);
            assert!(is_unknown(error.kind()), "{error}");
        }
        for number in [5, 28, 30] {
            let error = io::Error::from_raw_os_error(number);
            assert!(!is_unknown(error.kind()), "{error}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs the file system")]
    fn what_is_no_folder_is_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        let kind = |path: &Path| Folder::of(path).unwrap_err().kind();
        assert_eq!(kind(&file.join("seen.coua")), ErrorKind::NotADirectory);
        assert_eq!(kind(&place.path().join("no/seen.coua")), ErrorKind::NotFound);
    }
}

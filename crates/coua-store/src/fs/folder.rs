//! Folders, whose names must be durable, and symbolic links.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Reason, StoreError};

/// The most symbolic links that are followed, as in Linux.
const MOST_LINKS: usize = 40;

/// The open folder of a file, for programs that replace files: renamed, new and removed names are durable after it is
/// synced. Open it before any change, so that nothing changes in a folder that cannot be opened.
///
/// ```
/// use coua_store::Folder;
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
    /// [`Reason::Folder`] if it does not exist, or cannot be opened.
    pub fn of(path: &Path) -> Result<Self, StoreError> {
        let folder = Self::path_of(path);
        let opened = if cfg!(unix) {
            // `path/.` exists only for folders: opening a pipe would wait for a writer.
            File::open(folder.join(".")).map(|file| Some(Arc::new(file)))
        } else {
            fs::metadata(folder).map(|_| None)
        };
        let file = opened.map_err(|source| Reason::Folder(source).at(path))?;
        Ok(Self { file })
    }

    /// The path of the folder in which the file at `path` is.
    pub(crate) fn path_of(path: &Path) -> &Path {
        match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// Syncs its names. Does nothing on file systems that do not support this.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
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

/// The target of symbolic links, which need not exist; an error if there are too many.
pub(super) fn follow_links(path: &Path) -> io::Result<PathBuf> {
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
        let kind = |path: &Path| match Folder::of(path).unwrap_err().reason {
            Reason::Folder(source) => source.kind(),
            reason => panic!("{reason}"),
        };
        assert_eq!(kind(&file.join("seen.coua")), ErrorKind::NotADirectory);
        assert_eq!(kind(&place.path().join("no/seen.coua")), ErrorKind::NotFound);
    }
}

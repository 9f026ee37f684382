//! Syncing a folder.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::{Reason, StoreError};

/// Symbolic links that are followed.
const MOST_LINKS: usize = 40;

/// The open folder of a file. Renamed, new and removed names are durable once it is synced. It is opened before
/// any change, so that nothing is changed in a folder that cannot be opened.
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
    /// [`Reason::Folder`] if there is none, or it cannot be opened.
    ///
    /// See the example of [`Folder`].
    pub fn of(path: &Path) -> Result<Self, StoreError> {
        let opened = open(folder_of(path));
        let failed = |source| Reason::Folder(source).at(path);
        Ok(Self { file: opened.map_err(failed)?.map(Arc::new) })
    }

    /// Syncs its names. File systems that have no such call are accepted: there is no other way.
    ///
    /// # Errors
    ///
    /// Those of the disk.
    ///
    /// See the example of [`Folder`].
    pub fn sync(&self) -> io::Result<()> {
        match self.file.as_ref().map_or(Ok(()), |file| file.sync_all()) {
            // EINVAL; and ENOSYS, ENOTSUP.
            Err(error) if is_unknown(error.kind()) => Ok(()),
            synced => synced,
        }
    }
}

fn is_unknown(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}

/// Opens `path/.`, which works for folders only: opening a pipe would wait for a writer.
fn open(folder: &Path) -> io::Result<Option<File>> {
    if cfg!(unix) {
        File::open(folder.join(".")).map(Some)
    } else {
        fs::metadata(folder).map(|_| None)
    }
}

/// The file that a name leads to, also if it is not there yet.
///
/// # Errors
///
/// [`Reason::Io`] if there are too many symbolic links.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().canonicalize()?.join("seen.coua");
/// assert_eq!(coua_store::resolved(&path)?, path);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn resolved(path: &Path) -> Result<PathBuf, StoreError> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(found) = fs::canonicalize(&target) {
            return Ok(found);
        }
        match fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(_) => return Ok(target),
        }
    }
    let source = io::Error::other("too many symbolic links");
    Err(StoreError::io(path, "follow", source))
}

/// The folder of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That of the kernel's own files does not.
    #[cfg(target_os = "linux")]
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
    fn what_is_no_folder_is_not_opened() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        let kind = |path: &Path| match Folder::of(path) {
            Err(StoreError { reason: Reason::Folder(source), .. }) => source.kind(),
            other => panic!("{other:?}"),
        };
        assert_eq!(kind(&file.join("seen.coua")), io::ErrorKind::NotADirectory);
        assert_eq!(kind(&place.path().join("no/seen.coua")), io::ErrorKind::NotFound);
    }
}

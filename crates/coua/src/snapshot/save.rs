//! A file replaced by a snapshot in one step.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::cuckoo::CuckooFilter;

/// Symbolic links that a path may lead through, as in Linux.
const MOST_LINKS: usize = 40;

impl CuckooFilter {
    /// Writes the snapshot to `path` so that at every moment, also after a crash, `path` is the old
    /// file or the new one, whole: a temporary file in the same folder is written, synced and renamed.
    /// O(bytes), and waits until they are on the disk.
    ///
    /// A symbolic link is followed. A file that is there keeps its permissions.
    ///
    /// # Errors
    ///
    /// Those of the file system. The old file is then unchanged, with one exception: if the last step fails, the
    /// sync of the folder, the new file is in place but may not survive a power cut. `path` must be a regular file
    /// or absent, in a folder that can be opened.
    pub fn save_atomically(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        let existing = match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Some(metadata.permissions()),
            Ok(_) => return Err(io::Error::other("not a regular file")),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let target = followed(path)?;
        let folder = folder_of(&target);
        let opened = open_folder(folder)?;
        let mut temporary = new_file_in(folder, existing.as_ref())?;
        self.write_to(temporary.as_file_mut())?;
        if let Some(permissions) = existing {
            temporary.as_file().set_permissions(permissions)?;
        }
        temporary.as_file().sync_all()?;
        temporary.persist(&target).map_err(|failed| failed.error)?;
        opened.map_or(Ok(()), |folder| sync_folder(&folder))
    }
}

/// Where symbolic links lead, also to a file that does not exist yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(next) => target = folder_of(&target).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// With the permissions of the file it will replace from the start, so that a private filter is
/// never readable for others.
fn new_file_in(
    folder: &Path,
    permissions: Option<&fs::Permissions>,
) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".coua-").suffix(".tmp");
    if let Some(permissions) = permissions {
        builder.permissions(permissions.clone());
    } else {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any new file, less the umask; the default would be private to the user.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
    }
    builder.tempfile_in(folder)
}

/// A rename is durable once its folder is; it is opened before the rename, or not at all. None where folders
/// cannot be opened as files are.
fn open_folder(folder: &Path) -> io::Result<Option<File>> {
    if cfg!(unix) { File::open(folder).map(Some) } else { Ok(None) }
}

fn sync_folder(folder: &File) -> io::Result<()> {
    match folder.sync_all() {
        // Some file systems have no sync of folders.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}

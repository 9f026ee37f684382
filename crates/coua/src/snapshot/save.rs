//! A file replaced by a snapshot in one step.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::cuckoo::CuckooFilter;
use crate::snapshot::folder::{Folder, follow_links};

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
        let target = follow_links(path)?;
        let folder = Folder::of(&target)?;
        let mut temporary = new_file_in(Folder::path_of(&target), existing.as_ref())?;
        self.write_to(temporary.as_file_mut())?;
        if let Some(permissions) = existing {
            temporary.as_file().set_permissions(permissions)?;
        }
        temporary.as_file().sync_all()?;
        temporary.persist(&target).map_err(|failed| failed.error)?;
        folder.sync()
    }
}

/// A new file with the permissions of the file that it will replace. It has them from the start, so that a private
/// filter is never readable for others.
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

//! A file replaced by a snapshot in one step.

use std::fs;
use std::io::{self, ErrorKind};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::filter::CuckooFilter;
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
        // As private as can be, until it has the permissions of the file that it replaces.
        let mut builder = tempfile::Builder::new();
        builder.prefix(".coua-").suffix(".tmp");
        #[cfg(unix)]
        if existing.is_none() {
            // As any new file, less the umask.
            builder.permissions(PermissionsExt::from_mode(0o666));
        }
        let mut temporary = builder.tempfile_in(Folder::path_of(&target))?;
        self.write_to(temporary.as_file_mut())?;
        if let Some(permissions) = existing {
            temporary.as_file().set_permissions(permissions)?;
        }
        temporary.as_file().sync_all()?;
        temporary.persist(&target).map_err(|failed| failed.error)?;
        folder.sync()
    }
}

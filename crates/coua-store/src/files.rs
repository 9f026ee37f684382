//! The files of a store: the snapshot, and those beside it.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// Symbolic links that a path may lead through, as in Linux.
const MOST_LINKS: usize = 40;

/// An open file, and the name that messages have for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) file: &'a File,
    pub(crate) path: &'a Path,
}

/// Where everything lies.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    pub(crate) snapshot: PathBuf,
    pub(crate) journal: PathBuf,
    /// The next snapshot, while it is written.
    pub(crate) next_snapshot: PathBuf,
    /// The next journal, while it is written.
    pub(crate) next_journal: PathBuf,
    /// Held by the writer.
    pub(crate) lock: PathBuf,
}

impl Files {
    /// Of a filter file whose links are resolved.
    pub(crate) fn of(snapshot: &Path) -> Self {
        Self {
            snapshot: snapshot.to_owned(),
            journal: beside(snapshot, ".journal"),
            next_snapshot: beside(snapshot, ".next"),
            next_journal: beside(snapshot, ".journal.next"),
            lock: beside(snapshot, ".lock"),
        }
    }

    /// The filter, if there is one.
    pub(crate) fn open_snapshot(&self) -> Result<Option<File>, StoreError> {
        opened(&self.snapshot, File::options().read(true))
    }

    /// The journal, if there is one, for reading or for writing too.
    pub(crate) fn open_journal(&self, access: JournalUse) -> Result<Option<File>, StoreError> {
        let write = access == JournalUse::Append;
        opened(&self.journal, File::options().read(true).write(write))
    }

    /// What new files are to have: those of the snapshot, and the owner's right to write.
    pub(crate) fn journal_permissions(&self) -> Option<Permissions> {
        let mut permissions = self.permissions()?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            permissions.set_mode(permissions.mode() | 0o200);
        }
        Some(permissions)
    }

    /// Those of the snapshot, if there is one.
    pub(crate) fn permissions(&self) -> Option<Permissions> {
        fs::metadata(&self.snapshot).ok().map(|metadata| metadata.permissions())
    }
}

/// The name of the journal of the filter file at `path`, which may or may not exist.
///
/// # Errors
///
/// If `path` leads through too many symbolic links.
///
/// ```
/// let journal = coua_store::journal_of("/no/such/seen.coua".as_ref())?;
/// assert!(journal.ends_with("seen.coua.journal"));
/// # Ok::<(), coua_store::StoreError>(())
/// ```
pub fn journal_of(path: &Path) -> Result<PathBuf, StoreError> {
    Ok(Files::of(&resolved(path)?).journal)
}

/// Where the filter file at `path` is, which may or may not exist, with symbolic links resolved; and the names
/// beside it that it needs.
///
/// # Errors
///
/// As [`journal_of`].
///
/// ```
/// let [filter, beside @ ..] = coua_store::names_of("/no/such/seen.coua".as_ref())?;
/// assert!(filter.ends_with("seen.coua"));
/// assert!(beside.iter().any(|path| path.ends_with("seen.coua.lock")));
/// # Ok::<(), coua_store::StoreError>(())
/// ```
pub fn names_of(path: &Path) -> Result<[PathBuf; 5], StoreError> {
    let Files { snapshot, journal, next_snapshot, next_journal, lock } =
        Files::of(&resolved(path)?);
    Ok([snapshot, journal, next_snapshot, next_journal, lock])
}

/// What a journal is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JournalUse {
    Read,
    Append,
}

/// A regular file, if there is one. What is none is not opened: a pipe would wait for somebody to write.
fn opened(path: &Path, options: &fs::OpenOptions) -> Result<Option<File>, StoreError> {
    let file = match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(StoreError::NotRegular { path: path.to_owned() });
        }
        Ok(_) => options.open(path),
        Err(error) => Err(error),
    };
    match file {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::io(path, "open", source)),
    }
}

/// The path with more at the end of its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Where symbolic links lead, also to a file that does not exist yet.
pub(crate) fn resolved(path: &Path) -> Result<PathBuf, StoreError> {
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

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

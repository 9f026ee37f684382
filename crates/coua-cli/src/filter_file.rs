//! A filter that lives in a file: read whole, saved atomically, written by one process at a time.
//!
//! Readers need no lock: a save replaces the file in one step, so they see the old filter or the new
//! one. Writers lock an empty file beside it (`seen.coua.lock`), because the filter's own file is
//! replaced. It is removed at the end; a crash leaves it behind, unlocked and harmless.

use crate::args::filter::{FilterArgs, SecretArgs};
use crate::args::run::Manners;
use crate::input::Identity;
use crate::message::{self, Failure};
use coua::{CuckooFilter, LoadError};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Reads a filter that will not be changed.
pub(crate) fn read(path: &Path, secret: &SecretArgs) -> Result<CuckooFilter, Failure> {
    load(path, secret)?.ok_or_else(|| Failure::io(path.display(), &Errno::NOENT.into()))
}

/// A filter file that this process alone may write.
#[derive(Debug)]
pub(crate) struct FilterFile {
    path: PathBuf,
    _lock: Lock,
}

impl FilterFile {
    /// Waits for other writers to finish, or fails at once, as `manners` say.
    ///
    /// To be called before signals are answered, so that they end the wait.
    pub(crate) fn lock(path: &Path, manners: &Manners) -> Result<Self, Failure> {
        // A link's lock must be its target's.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let lock = Lock::take(&path, manners)?;
        Ok(Self { path, _lock: lock })
    }

    /// The filter in the file, which must agree with what `wanted` says; or if there is no file, a
    /// new filter as it says.
    pub(crate) fn load_or_build(&self, wanted: &FilterArgs) -> Result<CuckooFilter, Failure> {
        match load(&self.path, &wanted.secret)? {
            Some(filter) => {
                wanted.agree_with(&filter, &self.name())?;
                Ok(filter)
            }
            None => wanted.build(),
        }
    }

    /// The filter in the file.
    pub(crate) fn load(&self, secret: &SecretArgs) -> Result<CuckooFilter, Failure> {
        read(&self.path, secret)
    }

    /// Replaces the file in one step.
    pub(crate) fn save(&self, filter: &CuckooFilter) -> Result<(), Failure> {
        filter.save_atomically(&self.path).map_err(|error| {
            let reason = message::reason(&error);
            Failure::at(self.name(), format_args!("not saved, and as it was before: {reason}"))
        })
    }

    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// None if there is no such file.
fn load(path: &Path, secret: &SecretArgs) -> Result<Option<CuckooFilter>, Failure> {
    let name = path.display();
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            return Err(Failure::at(name, "is a directory, not a filter file"));
        }
        Ok(metadata) if !metadata.is_file() => {
            return Err(Failure::at(name, "is no regular file, so it cannot hold a filter"));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::io(name, &error)),
    }
    let loaded = match secret.key()? {
        Some(key) => CuckooFilter::read_with_key(path, key),
        None => CuckooFilter::read(path),
    };
    loaded.map(Some).map_err(|error| unreadable(path, &error))
}

/// The failure to say about a filter that cannot be loaded.
pub(crate) fn unreadable(path: &Path, error: &LoadError) -> Failure {
    let name = path.display();
    match error {
        LoadError::Io(error) => Failure::io(name, error),
        LoadError::KeyNeeded => Failure::at(name, format_args!("{error} (--key-file)")),
        _ => Failure::at(name, error),
    }
}

/// A locked, empty file, which is removed in the end.
#[derive(Debug)]
struct Lock {
    /// Holds the lock while it is open.
    _file: File,
    path: PathBuf,
}

impl Lock {
    fn take(beside: &Path, manners: &Manners) -> Result<Self, Failure> {
        let mut path = OsString::from(beside);
        path.push(".lock");
        let path = PathBuf::from(path);
        let failed = |error: &io::Error| Failure::io(path.display(), error);
        let mut told = manners.quiet.quiet;
        loop {
            let file = File::options().create(true).append(true).open(&path);
            let file = file.map_err(|error| failed(&error))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if manners.no_wait => {
                    return Err(Failure::at(beside.display(), "another process is writing it"));
                }
                Err(TryLockError::WouldBlock) => {
                    if !told {
                        told = true;
                        let name = beside.display();
                        message::say(format_args!("{name}: waiting for another process"));
                    }
                    file.lock().map_err(|error| failed(&error))?;
                }
                Err(TryLockError::Error(error)) => return Err(failed(&error)),
            }
            if is_still_at(&file, &path) {
                return Ok(Self { _file: file, path });
            }
            // The one before removed it while this one waited: it locks nothing any more.
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed before it is unlocked, so that whoever has waited for it notices.
        fs::remove_file(&self.path).ok();
    }
}

fn is_still_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => Identity::of(&held) == Identity::of(&named),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::run::Quiet;

    const HASTY: Manners = Manners { quiet: Quiet { quiet: true }, no_wait: true };

    #[test]
    fn one_writer_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen.coua");
        let first = FilterFile::lock(&path, &HASTY).unwrap();
        assert!(FilterFile::lock(&path, &HASTY).is_err());
        drop(first);
        drop(FilterFile::lock(&path, &HASTY).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the lock is gone");
    }

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
                        let patient = Manners { quiet: Quiet { quiet: true }, no_wait: false };
                        let lock = FilterFile::lock(&path, &patient).unwrap();
                        let count: u32 = fs::read_to_string(&counter).unwrap().parse().unwrap();
                        fs::write(&counter, (count + 1).to_string()).unwrap();
                        drop(lock);
                    }
                });
            }
        });
        assert_eq!(fs::read_to_string(&counter).unwrap(), "400");
    }
}

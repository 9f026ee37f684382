//! The same without Unix: no named pipes, no check whether a read would wait, and no signals: an interrupt ends the
//! program, and a filter file is as at the last checkpoint.

use same_file::Handle;
use std::fs::{self, File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Always false: the linker sets a sufficient stack size.
pub(crate) fn has_less_stack(_bytes: u64) -> bool {
    false
}

/// Cannot wake a thread that waits for input.
#[derive(Debug)]
pub(crate) struct NoWaker;

impl NoWaker {
    #[expect(clippy::unnecessary_wraps, reason = "it may fail on Unix")]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    pub(crate) fn wake(&self) {}

    #[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "as on Unix")]
    pub(crate) fn wait_readable(&self, _file: &File) -> io::Result<()> {
        Ok(())
    }

    /// Unknown here. Records are flushed as soon as they are complete.
    pub(crate) fn comes_within(&self, _file: &File, time: Duration) -> bool {
        !time.is_zero()
    }
}

/// Unknown here.
pub(crate) fn terminal_width() -> Option<usize> {
    None
}

pub(crate) fn wait_writable(_file: &File) -> io::Result<()> {
    thread::sleep(Duration::from_millis(1));
    Ok(())
}

/// No name leads to an open file here.
pub(crate) fn descriptor(_path: &Path) -> Option<u32> {
    None
}

/// The identity of a regular file, whatever its names: a hash of its handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HandleHash(u64);

impl HandleHash {
    /// The identity of the regular file at `path`, if there is one.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().filter(Metadata::is_file)?;
        Handle::from_path(path).ok().map(|handle| Self::found(&handle))
    }

    /// The identity of an open file, if it is regular.
    pub(crate) fn of(file: &File) -> io::Result<Option<Self>> {
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        Ok(Some(Self::found(&Handle::from_file(file.try_clone()?)?)))
    }

    fn found(handle: &Handle) -> Self {
        let mut hasher = DefaultHasher::new();
        handle.hash(&mut hasher);
        Self(hasher.finish())
    }
}

pub(crate) fn standard_input() -> io::Result<File> {
    Handle::stdin()?.as_file().try_clone()
}

pub(crate) fn standard_output() -> io::Result<File> {
    Handle::stdout()?.as_file().try_clone()
}

/// Unknown here.
pub(crate) fn appends(_file: &File) -> bool {
    true
}

/// Unknown here.
pub(crate) fn change_time(_metadata: &Metadata) -> (i64, i64) {
    (0, 0)
}

pub(crate) fn open_input(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Creates a file with the permissions of its folder.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Mapped files cannot be shortened here.
pub(crate) fn explain_shortened(_path: &Path) {}

/// The path of these bytes; no file has that of bytes that are not UTF-8.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(&*String::from_utf8_lossy(bytes))
}

/// Always true: a lock would keep this process itself from reading the file under another handle.
pub(crate) fn try_lock(_file: &File) -> bool {
    true
}

pub(crate) fn enlarge_pipe(_pipe: &File) {}

pub(crate) fn closed_at_start(_stream: usize) -> bool {
    false
}

/// Calls neither function: there are no signals here.
#[expect(clippy::unnecessary_wraps, reason = "it may fail on Unix")]
pub(crate) fn listen(
    _end: impl FnMut(i32) + Send + 'static,
    _report: impl FnMut() + Send + 'static,
) -> io::Result<()> {
    Ok(())
}

/// Ends the process at once.
pub(crate) fn die_by(signal: i32) {
    std::process::exit(128 + signal);
}

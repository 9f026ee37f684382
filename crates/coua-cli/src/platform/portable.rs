//! The same without Unix: no named pipes, and no check whether a read would wait.
//!
//! Interrupts are noticed within a tenth of a second. They do not wake a read that waits for a pipe: a second
//! interrupt ends the program.

use same_file::Handle;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::fs::{File, Metadata};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Time between checks for an interrupt.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

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

    /// Unknown here.
    pub(crate) fn comes_within(&self, _file: &File, _time: Duration) -> bool {
        true
    }

    /// Unknown here; records are flushed as soon as they are complete.
    pub(crate) fn would_wait(_file: &File) -> bool {
        true
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

pub(super) fn identity_at(path: &Path, _metadata: &Metadata) -> Option<(u64, u64)> {
    Handle::from_path(path).ok().map(|handle| identity(&handle))
}

pub(super) fn identity_of(file: &File, _metadata: &Metadata) -> io::Result<Option<(u64, u64)>> {
    Ok(Some(identity(&Handle::from_file(file.try_clone()?)?)))
}

/// A hash of the file's handle.
fn identity(handle: &Handle) -> (u64, u64) {
    let mut hasher = DefaultHasher::new();
    handle.hash(&mut hasher);
    (0, hasher.finish())
}

pub(crate) fn standard_input() -> io::Result<File> {
    same_stream(Handle::stdin()?)
}

pub(crate) fn standard_output() -> io::Result<File> {
    same_stream(Handle::stdout()?)
}

fn same_stream(handle: Handle) -> io::Result<File> {
    handle.as_file().try_clone()
}

/// Unknown here.
pub(crate) fn appends(_file: &File) -> bool {
    true
}

pub(crate) fn links(_metadata: &Metadata) -> u64 {
    1
}

/// Unknown here.
pub(crate) fn change_time(_metadata: &Metadata) -> (i64, i64) {
    (0, 0)
}

pub(crate) fn is_fifo(_metadata: &Metadata) -> bool {
    false
}

pub(crate) fn open_fifo(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Creates a file with the permissions of its folder.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// Mapped files cannot be shortened here.
pub(crate) fn explain_shortened(_path: &Path) {}

/// The path of these bytes, which must be UTF-8.
pub(crate) fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Always true: a lock would keep this process itself from reading the file under another handle.
pub(crate) fn try_lock(_file: &File) -> bool {
    true
}

pub(crate) fn enlarge_pipe(_pipe: &File) {}

pub(crate) fn closed_at_start(_stream: usize) -> bool {
    false
}

/// Calls `end` with each interrupt from now on, in a separate thread. No signal requests a report here.
pub(crate) fn listen(
    mut end: impl FnMut(i32) + Send + 'static,
    _report: impl FnMut() + Send + 'static,
) -> io::Result<()> {
    let mut flags = Vec::new();
    for signal in [SIGINT, SIGTERM] {
        let flag = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal, flag.clone())?;
        flags.push((signal, flag));
    }
    let work = move || {
        loop {
            thread::sleep(BETWEEN_LOOKS);
            for (signal, flag) in &flags {
                if flag.swap(false, Ordering::Relaxed) {
                    end(*signal);
                }
            }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(work).map(drop)
}

/// Ends the process at once.
pub(crate) fn die_by(signal: i32) {
    std::process::exit(128 + signal);
}

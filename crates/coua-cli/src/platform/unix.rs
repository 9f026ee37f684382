//! Files, pipes and signals of Unix-like systems.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{Errno, fcntl_getfd, retry_on_intr, write};
use rustix::process::{Resource, getrlimit};
use rustix::stdio;
use rustix::termios::tcgetwinsize;
use signal_hook::consts::{SIGBUS, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, exit, register};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The most symbolic links that are followed.
const MOST_LINKS: usize = 40;

/// Whether the first thread has less than `bytes` bytes of stack.
pub(crate) fn has_less_stack(bytes: u64) -> bool {
    getrlimit(Resource::Stack).current.is_some_and(|limit| limit < bytes)
}

/// Wakes a thread that waits for input.
#[derive(Debug)]
pub(crate) struct Waker {
    /// Readable when the thread must wake.
    receiver: UnixStream,
    sender: UnixStream,
}

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        let (receiver, sender) = UnixStream::pair()?;
        Ok(Self { receiver, sender })
    }

    /// Must be called only once.
    pub(crate) fn wake(&self) {
        // Cannot fail: both ends live, and one byte fits.
        (&self.sender).write_all(&[1]).ok();
    }

    /// Waits until `file` can be read, or the thread must wake.
    pub(crate) fn wait_readable(&self, file: &File) -> io::Result<()> {
        Ok(retry_on_intr(|| self.poll(file, None)).map(drop)?)
    }

    /// Whether `file` can be read, or the thread must wake, within this time.
    pub(crate) fn comes_within(&self, file: &File, time: Duration) -> bool {
        // If it cannot be told, the read will tell.
        self.poll(file, time.try_into().ok()) != Ok(0)
    }

    fn poll(&self, file: &File, time: Option<Timespec>) -> Result<usize, Errno> {
        let both = [PollFd::new(file, PollFlags::IN), PollFd::new(&self.receiver, PollFlags::IN)];
        poll(&mut { both }, time.as_ref())
    }
}

/// The number of columns, if standard error is a terminal.
pub(crate) fn terminal_width() -> Option<usize> {
    let size = tcgetwinsize(stdio::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Waits until a pipe or terminal takes more bytes.
pub(crate) fn wait_writable(file: &File) -> io::Result<()> {
    let wait = || poll(&mut [PollFd::new(file, PollFlags::OUT)], None);
    Ok(retry_on_intr(wait).map(drop)?)
}

/// The identity of a regular file, whatever its names: the device, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// The identity of the regular file at `path`, if there is one.
    pub(crate) fn at(path: &Path) -> Option<Self> {
        Self::found(&fs::metadata(path).ok()?)
    }

    /// The identity of an open file, if it is regular.
    pub(crate) fn of(file: &File) -> io::Result<Option<Self>> {
        Ok(Self::found(&file.metadata()?))
    }

    fn found(metadata: &Metadata) -> Option<Self> {
        let identity = Self { device: metadata.dev(), inode: metadata.ino() };
        metadata.is_file().then_some(identity)
    }
}

/// Standard input without the buffer and lock of [`io::Stdin`].
pub(crate) fn standard_input() -> io::Result<File> {
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Standard output without the buffer and lock of [`io::Stdout`].
pub(crate) fn standard_output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// The descriptor that a name such as `/dev/stdout` or `/dev/fd/3` leads to.
pub(crate) fn descriptor(path: &Path) -> Option<u32> {
    let open_files = fs::canonicalize("/dev/fd").ok()?;
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
        if folder == open_files {
            return path.file_name()?.to_str()?.parse().ok();
        }
        path = folder.join(fs::read_link(&path).ok()?);
    }
    None
}

/// Whether what is written goes to the present end of a file.
pub(crate) fn appends(file: &File) -> bool {
    fcntl_getfl(file).is_ok_and(|flags| flags.contains(OFlags::APPEND))
}

/// The time of the last change of a file's content or attributes, in seconds and nanoseconds.
pub(crate) fn change_time(metadata: &Metadata) -> (i64, i64) {
    (metadata.ctime(), metadata.ctime_nsec())
}

/// Opens a file to read it; a named pipe without waiting for a writer: a later wait can be ended by a signal.
pub(crate) fn open_input(path: &Path) -> io::Result<File> {
    let is_fifo = path.metadata().is_ok_and(|found| found.file_type().is_fifo());
    let flags = if is_fifo { OFlags::NONBLOCK } else { OFlags::empty() };
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// Creates a file that no other user may read.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).mode(0o600).open(path)
}

/// The path of these bytes.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// Locks a file as long as it is open; false if another process has locked it. Without locks, as on some network file
/// systems, it counts as locked.
pub(crate) fn try_lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Enlarges the buffer of a pipe, for fewer switches between its writer and reader: saves a tenth of a second per
/// gigabyte. Does nothing if this is not a pipe, or may not be larger.
#[cfg(target_os = "linux")]
pub(crate) fn enlarge_pipe(pipe: &File) {
    /// Bytes that a pipe should hold.
    const PIPE: usize = 1 << 20;
    rustix::pipe::fcntl_setpipe_size(pipe, PIPE).ok();
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn enlarge_pipe(_pipe: &File) {}

static CLOSED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Runs before `main`, and so before the runtime opens a standard stream that was closed (`>&-`) on
/// /dev/null. It makes three system calls and stores the results, which does not need the runtime.
#[ctor::ctor(unsafe)]
fn look_at_streams() {
    let streams = [stdio::stdin(), stdio::stdout(), stdio::stderr()];
    for (closed, stream) in CLOSED.iter().zip(streams) {
        closed.store(fcntl_getfd(stream).is_err(), Ordering::Relaxed);
    }
}

/// Whether standard input (0), output (1) or error (2) was closed when the program was started.
pub(crate) fn closed_at_start(stream: usize) -> bool {
    CLOSED[stream].load(Ordering::Relaxed)
}

/// Calls `end` for each SIGINT or SIGTERM from now on, and `report` for SIGUSR1, in a separate thread. Ignored signals
/// stay ignored.
pub(crate) fn listen(
    mut end: impl FnMut(i32) + Send + 'static,
    mut report: impl FnMut() + Send + 'static,
) -> io::Result<()> {
    let wanted = [SIGINT, SIGTERM, SIGUSR1].into_iter().filter(|signal| !is_ignored(*signal));
    let mut signals = Signals::new(wanted)?;
    let work = move || {
        for signal in signals.forever() {
            if signal == SIGUSR1 { report() } else { end(signal) }
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(work).map(drop)
}

/// Ends the process by the signal's default action; returns if that does not end it.
pub(crate) fn die_by(signal: i32) {
    emulate_default_handler(signal).ok();
}

/// Whether the program was started with a signal ignored: `nohup` and `trap '' INT` do, and shells
/// without job control do for what they start in the background.
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

/// Elsewhere only `unsafe` code can find out, so the signal is handled.
#[cfg(not(target_os = "linux"))]
fn is_ignored(_signal: i32) -> bool {
    false
}

/// The exit code for an error.
const ERROR: i32 = 2;

static REGISTERED: Once = Once::new();

/// From now on, ends the program with an error message if another program truncates a mapped filter file, or its disk
/// fails: the next read of such a page raises SIGBUS, which would end the program without a message.
#[expect(unsafe_code, reason = "what a signal handler may do cannot be checked by the compiler")]
pub(crate) fn explain_shortened(path: &Path) {
    REGISTERED.call_once(|| {
        let message = format!(
            "coua: {}: is no longer readable: another program truncated it, or its disk failed; restore it, \
             and run again\n",
            path.display()
        );
        let answer = move || {
            // Nothing else can be done.
            write(stdio::stderr(), message.as_bytes()).ok();
            exit(ERROR);
        };
        // SAFETY: the handler writes bytes that were prepared before and exits at once; both are async-signal-safe, and
        // it neither allocates nor takes a lock.
        let registered = unsafe { register(SIGBUS, answer) };
        // Without the handler the signal ends the program.
        registered.ok();
    });
}

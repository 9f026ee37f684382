//! Error messages (`coua: FILE: reason`, on standard error), exit codes, and the standard streams.
//!
//! Rust's runtime opens a stream that was closed at the start (`>&-`) on /dev/null, so that everything written to it
//! would be lost without an error.

use crate::platform;
use crate::terminal::report::printable;
use coua::{LoadError, OutOfMemory};
use coua_store::{Reason, StoreError};
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};

/// The first signal that asked the program to end. It is global because signals are.
static CAUGHT: AtomicI32 = AtomicI32::new(0);

/// Records that a signal asked the program to end.
pub(crate) fn catch_signal(signal: i32) {
    CAUGHT.store(signal, Ordering::Relaxed);
}

/// The signal that has asked the program to end, if one has.
pub(crate) fn caught_signal() -> Option<i32> {
    Some(CAUGHT.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// The end of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success (for `check`: something was found).
    Success,
    /// `check` found nothing.
    NothingFound,
    /// Something is wrong with the input, the output, the filter or the arguments.
    Error,
    /// The filter is full and may not grow.
    Full,
    /// The work is written and need not be repeated, but a power cut may still undo it.
    Unsynced,
    /// Stopped by this signal. The work so far is saved, and the program dies by the same signal,
    /// so that a shell loop around it stops too.
    Signal(i32),
}

impl Exit {
    /// Replaces this by the signal that asked the program to end, if one did.
    pub(crate) fn or_signal(self) -> Self {
        caught_signal().map_or(self, Self::Signal)
    }

    /// Ends the process, or returns the code to end it with.
    pub(crate) fn finish(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Success => 0,
            Self::NothingFound => 1,
            Self::Error => 2,
            Self::Full => 3,
            Self::Unsynced => 4,
            Self::Signal(signal) => {
                // Returns only if the signal's default action does not end the process.
                platform::die_by(signal);
                128_u8.saturating_add(u8::try_from(signal).unwrap_or(0))
            }
        })
    }
}

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something is wrong with a file, an argument or a filter of this name.
    At {
        /// The exit code: [`Error`](Exit::Error), unless some work was done.
        exit: Exit,
        name: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The reader of the output has closed it (`| head -1`): not an error, but there is nothing more to do.
    OutputClosed,
}

/// The result of a step that ends the command if it fails.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// A failure about `name`.
    pub(crate) fn at(name: impl Display, reason: impl Display) -> Self {
        Self::ending(Exit::Error, name, reason)
    }

    /// A failure about `name` with this exit code.
    pub(crate) fn ending(exit: Exit, name: impl Display, reason: impl Display) -> Self {
        let name = printable(&name.to_string());
        Self::At { exit, name, reason: reason.to_string() }
    }

    /// The operating system refused something about `name`.
    pub(crate) fn io(name: impl Display, error: &io::Error) -> Self {
        Self::at(name, reason(error))
    }

    /// Writing to `name` failed.
    pub(crate) fn write(name: impl Display, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::OutputClosed
        } else {
            Self::io(name, error)
        }
    }

    /// The reason, without the name.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::At { reason, .. } => reason,
            Self::OutputClosed => "the output was closed",
        }
    }

    /// Reports that fsync failed, if there is more to report. Other failures are returned.
    pub(crate) fn report_if_unsynced(self) -> Result<(), Self> {
        if matches!(self, Self::At { exit: Exit::Unsynced, .. }) {
            self.report();
            return Ok(());
        }
        Err(self)
    }

    /// Prints the failure, and returns the exit code.
    pub(crate) fn report(&self) -> Exit {
        let exit = match self {
            Self::At { exit, name, reason } => {
                say(format_args!("{name}: {reason}"));
                *exit
            }
            Self::OutputClosed => Exit::Success,
        };
        match exit {
            Exit::Error | Exit::Full => exit,
            // Report the signal instead: its sender checks the exit status.
            done => done.or_signal(),
        }
    }
}

/// Prints a message on standard error. If that is closed, nothing is printed.
pub(crate) fn say(text: impl Display) {
    writeln!(io::stderr().lock(), "coua: {}", printable(&text.to_string())).ok();
}

/// Whether notes and warnings are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    Normal,
    /// `--quiet`: only errors.
    Quiet,
}

impl Verbosity {
    /// Prints one line, unless the program is quiet.
    pub(crate) fn say(self, text: impl Display) {
        if self == Self::Normal {
            say(text);
        }
    }
}

/// The reason of a store error, with the operating system's text where the error is its own.
pub(crate) fn store_reason(error: &StoreError) -> String {
    let text = error.reason.to_string();
    match &error.reason {
        Reason::Folder(source) | Reason::Unsynced(source) => ending_with(source, text),
        Reason::Io { source, .. } => reason(source),
        Reason::Load(LoadError::OutOfMemory(lack)) => memory_reason(*lack),
        _ => text,
    }
}

/// The reason of a lack of memory, and what to do.
pub(crate) fn memory_reason(lack: OutOfMemory) -> String {
    format!("{lack}; free some memory, or raise the limit of this process (ulimit -v)")
}

/// The operating system's error text, without Rust's "(os error 2)".
pub(crate) fn reason(error: &io::Error) -> String {
    ending_with(error, error.to_string())
}

/// The same for a text that ends with the operating system's.
pub(crate) fn ending_with(error: &io::Error, text: String) -> String {
    match text.rfind(" (os error ") {
        Some(end) if error.raw_os_error().is_some() => text[..end].to_owned(),
        _ => text,
    }
}

/// A standard stream.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    Input,
    Output,
    Error,
}

impl Stream {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Input => "standard input",
            Self::Output => "standard output",
            Self::Error => "standard error",
        }
    }

    /// Returns an error if the stream was closed when the program was started.
    pub(crate) fn check_open(self) -> Result<()> {
        if platform::closed_at_start(self as usize) {
            return Err(Failure::at(self.name(), "is closed"));
        }
        Ok(())
    }
}

/// Prints a report on standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    Stream::Output.check_open()?;
    let mut stdout = io::stdout().lock();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    printed.map_err(|error| Failure::write(Stream::Output.name(), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_plain_words() {
        assert_eq!(reason(&io::Error::from_raw_os_error(2)), "No such file or directory");
        assert_eq!(reason(&io::Error::other("odd (os error 2) text")), "odd (os error 2) text");
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        let closed = Failure::write("out", &io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(closed.report(), Exit::Success);
    }
}

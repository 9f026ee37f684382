//! What the program says when something is wrong: `coua: FILE: reason`, on standard error.

use crate::terminal::exit::Exit;
use crate::terminal::text::{printable, printable_lines};
use coua_store::{Reason, StoreError};
use std::fmt::Display;
use std::io::{self, Write};

/// Why a command ended before its time.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something is wrong with a file, an argument or a filter of this name.
    At {
        /// How the program ends: [`Error`](Exit::Error), unless all was done that could be.
        exit: Exit,
        name: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The reader of the output has closed it (`| head -1`): not an error, but nothing more to do.
    OutputClosed,
}

/// What comes of a step that ends the command if it fails.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Something is wrong with `name`.
    pub(crate) fn at(name: impl Display, reason: impl Display) -> Self {
        Self::ending(Exit::Error, name, reason)
    }

    /// Something about `name` ends the program in this way.
    pub(crate) fn ending(exit: Exit, name: impl Display, reason: impl Display) -> Self {
        let name = printable(&name.to_string()).into_owned();
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

    /// What is wrong, without where.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::At { reason, .. } => reason,
            Self::OutputClosed => "the output was closed",
        }
    }

    /// Tells that fsync failed, where there is more to say. Others stay failures.
    pub(crate) fn report_if_unsynced(self) -> Result<(), Self> {
        if matches!(self, Self::At { exit: Exit::Unsynced, .. }) {
            self.report();
            return Ok(());
        }
        Err(self)
    }

    /// Tells the user, and gives the exit code.
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
    say_colored(printable_lines(&text.to_string()));
}

/// Prints a message that may have the colors of a terminal in it.
pub(crate) fn say_colored(text: impl Display) {
    writeln!(io::stderr().lock(), "coua: {text}").ok();
}

/// Whether people are told what they have not asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    Normal,
    /// `--quiet`: only errors.
    Quiet,
}

impl Verbosity {
    /// Prints one line, unless the program is to be quiet.
    pub(crate) fn say(self, text: impl Display) {
        if self == Self::Normal {
            say(text);
        }
    }
}

/// What is wrong with a filter file, in the operating system's words where they are its.
pub(crate) fn store_reason(error: &StoreError) -> String {
    let text = error.reason.to_string();
    match &error.reason {
        Reason::Folder(source) | Reason::Unsynced(source) => ending_with(source, text),
        Reason::Io { source, .. } => reason(source),
        _ => text,
    }
}

/// The operating system's words, without Rust's "(os error 2)" after them.
pub(crate) fn reason(error: &io::Error) -> String {
    ending_with(error, error.to_string())
}

/// A text that ends with the operating system's words, likewise.
pub(crate) fn ending_with(error: &io::Error, text: String) -> String {
    match text.rfind(" (os error ") {
        Some(end) if error.raw_os_error().is_some() => text[..end].to_owned(),
        _ => text,
    }
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

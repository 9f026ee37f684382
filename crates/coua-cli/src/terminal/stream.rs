//! The standard streams. One that was closed at the start (`>&-`) leads to /dev/null, by Rust's runtime, and
//! everything written to it would be lost without a word.

use crate::platform;
use crate::terminal::message::{Failure, Result};
use std::io::{self, Write};

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

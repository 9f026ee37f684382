//! What people are told about a filter on a server.

use std::fmt;

/// What a filter on a server needs of the program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Tells people what goes on, such as that a server is waited for.
    pub tell: fn(&str),
    /// Whether the program is to stop. Then a silent server is not waited for long.
    pub is_to_stop: fn() -> bool,
}

/// Why something was not done with a filter on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    name: String,
    reason: String,
}

impl Error {
    pub(crate) fn at(name: impl fmt::Display, reason: impl fmt::Display) -> Self {
        Self { name: name.to_string(), reason: reason.to_string() }
    }

    /// The address, without its password.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is wrong, and what to do.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.reason)
    }
}

impl std::error::Error for Error {}

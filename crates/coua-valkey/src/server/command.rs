//! Commands: what they need, and what they do.

use std::ffi::{CStr, c_int};

use super::call::Call;
use crate::refusal::Refusal;
use crate::reply::Reply;

/// What a command does to the memory and the keys of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reads.
    Read,
    /// Reads, and takes time in proportion to the key.
    ReadAll,
    /// Changes, and takes no memory.
    Shrink,
    /// Changes, and takes time in proportion to the key.
    Rebuild,
    /// Changes, and may take memory: refused when the server has none left.
    Grow,
}

impl Access {
    pub(super) fn flags(self) -> &'static CStr {
        match self {
            Self::Read => c"readonly fast",
            Self::ReadAll => c"readonly",
            Self::Shrink => c"write fast",
            Self::Rebuild => c"write",
            Self::Grow => c"write deny-oom",
        }
    }

    /// The server's own categories of access control: it does not draw them from the flags.
    pub(super) fn categories(self) -> &'static str {
        match self {
            Self::Read => "read fast",
            Self::ReadAll => "read slow",
            Self::Shrink => "write fast",
            Self::Rebuild | Self::Grow => "write slow",
        }
    }
}

/// A command of the module.
pub(crate) trait Command {
    /// Its name, in lower case.
    const NAME: &'static CStr;
    /// How many words it has; negative: as many at least.
    const ARITY: c_int;
    /// The words after its name, as `COMMAND DOCS` tells them: see [`arguments`](super::arguments).
    const WORDS: &'static CStr;
    /// What it does, in words.
    const SUMMARY: &'static CStr;
    /// What it does to its key, the first word after the name.
    const ACCESS: Access;
    /// Whether all further words are keys that it only reads.
    const HAS_SOURCES: bool = false;

    /// Does it.
    fn run(call: &Call<'_>) -> Result<Reply, Refusal>;
}

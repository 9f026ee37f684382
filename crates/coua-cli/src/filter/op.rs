//! What is done with keys, where their filter is, and why not all of it was done.

use crate::terminal::{Failure, Result};
use coua::{BatchFull, Full};
use coua_remote::Address;
use std::path::{Path, PathBuf};

/// What a run does with keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Insert what is not there, and tell which.
    Dedup,
    /// Insert one more copy.
    Add,
    /// Insert what is not there.
    AddNew,
    Remove,
    Check,
    Count,
}

impl Op {
    /// Then a filter is made that is not there.
    pub(crate) fn inserts(self) -> bool {
        matches!(self, Self::Dedup | Self::Add | Self::AddNew)
    }

    /// Whether the filter changes.
    pub(crate) fn changes(self) -> bool {
        self.inserts() || self == Self::Remove
    }
}

/// Where a filter is.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    File(PathBuf),
    Server(Address),
}

impl Location {
    /// As the command line says it.
    pub(crate) fn of(argument: &Path) -> Result<Self> {
        Ok(match Address::of(argument)? {
            Some(address) => Self::Server(address),
            None => Self::File(argument.to_owned()),
        })
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }
}

/// Why not all keys were answered for.
#[derive(Debug)]
pub(crate) enum Stop {
    /// There was no room for the `nth` key (from 0).
    Full { nth: usize, why: String },
    /// A server has left some open.
    Lost { failure: Failure, unanswered: u64 },
}

impl Stop {
    pub(super) fn full(stopped: BatchFull) -> Self {
        let BatchFull { done: nth, full, .. } = stopped;
        Self::Full { nth, why: Full::to_string(&full) }
    }
}

//! What is done with keys, and why not all of it was done.

use crate::terminal::Failure;
use coua::{BatchFull, Full};

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

/// Why not all keys were answered for.
#[derive(Debug)]
pub(crate) enum Stop {
    /// There was no room for the `nth` key (from 0).
    Full { nth: usize, why: String },
    /// A server has left some open.
    #[cfg_attr(not(feature = "server"), expect(dead_code, reason = "files answer"))]
    Lost { failure: Failure, unanswered: u64 },
}

impl Stop {
    pub(super) fn full(stopped: BatchFull) -> Self {
        let BatchFull { done: nth, full, .. } = stopped;
        Self::Full { nth, why: Full::to_string(&full) }
    }
}

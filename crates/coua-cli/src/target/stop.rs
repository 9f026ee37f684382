//! Why not all keys of a block were answered for.

use crate::terminal::message::Failure;
use coua::{BatchFull, Full};

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

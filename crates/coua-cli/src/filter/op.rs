//! Operations on keys, and why some keys were not done.

use crate::terminal::{Failure, counted, grouped};
use coua::{BatchFull, Full, FullReason, IfPresent};

/// An operation on keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Insert absent keys, and return which were absent.
    Dedup,
    /// Insert one more copy.
    Add,
    /// Insert absent keys.
    AddNew,
    Remove,
    Check,
    Count,
}

impl Op {
    /// Whether keys are inserted; then a missing filter is created.
    pub(crate) fn inserts(self) -> bool {
        matches!(self, Self::Dedup | Self::Add | Self::AddNew)
    }

    /// What an insert does with a key that is present.
    pub(super) fn if_present(self) -> IfPresent {
        if self == Self::Add { IfPresent::AddCopy } else { IfPresent::Skip }
    }

    /// Whether the filter changes.
    pub(crate) fn changes(self) -> bool {
        self.inserts() || self == Self::Remove
    }
}

/// Why some keys have no answer.
#[derive(Debug)]
pub(crate) enum Stop {
    /// There was no room for the key with index `nth`.
    Full { nth: usize, no_room: NoRoom },
    /// A server left some keys without an answer.
    Lost { failure: Failure, unanswered: u64 },
}

impl Stop {
    pub(super) fn full(stopped: BatchFull) -> Self {
        Self::Full { nth: stopped.done, no_room: NoRoom::of(&stopped.full) }
    }
}

/// Why a filter accepts no more items.
#[derive(Clone, Debug, Default)]
pub(crate) struct NoRoom {
    pub(crate) why: String,
    /// The advice for creating a filter with enough room.
    pub(crate) remedy: &'static str,
}

/// The advice for creating a filter that holds more items.
const LARGER: &str = "raise --capacity, or use --when-full grow";

impl NoRoom {
    /// There is no memory for more items.
    pub(crate) fn memory(items: u64) -> Self {
        Self {
            why: format!("cannot hold more than {}: out of memory", counted(items, "item")),
            remedy: "use --rate with --capacity, which needs less memory",
        }
    }

    pub(crate) fn of(full: &Full) -> Self {
        let Full { items, max_items, reason, .. } = full;
        let (items, limit) = (counted(*items, "item"), grouped(*max_items));
        match reason {
            FullReason::MaxItems => Self {
                why: format!("is full: it holds {items}, and its limit is {limit}"),
                remedy: LARGER,
            },
            FullReason::NoRoom => {
                Self { why: format!("is full: it holds {items}, and may not grow"), remedy: LARGER }
            }
            _ => Self::memory(full.items),
        }
    }
}

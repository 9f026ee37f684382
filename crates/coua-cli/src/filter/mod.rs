//! The filter of a run: in memory, in a file, or on a server. The callers do not know which.

pub(crate) mod copies;
mod counts;
pub(crate) mod filter_file;
pub(crate) mod memory;
pub(crate) mod server;
pub(crate) mod spec;

pub(crate) use counts::{
    Counts, FilterFigures, Summary, among_repeats, dropped_in_stream, write_limit,
};
pub(crate) use filter_file::{LockedFile, check_files};
pub(crate) use server::Address;
pub(crate) use spec::{FilterSpec, Location, OnFull, Secret, WindowLength, WindowSpec};

use crate::clock::moment_text;
use crate::key::{KeySpec, Wanted};
use crate::pipeline::{Batch, Prefetch};
use crate::record::BLOCK;
use crate::runs::Runs;
use crate::terminal::{Failure, ReportFormat, Result, counted, grouped};
use coua::window::{Generations, Window};
use coua::{BatchFull, Full, FullReason, IfPresent, KeyHasher};
use std::fmt::Debug;
use std::sync::Arc;

/// The filter of a run. Methods that only some filters need do nothing by default.
pub(crate) trait RunFilter: Debug {
    /// The properties that do not change during a run.
    fn profile(&self) -> Profile;

    /// The key options that the filter stores. A filter that can store them, and has no items, stores the `offered` ones.
    fn key_spec(&mut self, _offered: Option<&KeySpec>) -> Result<Option<KeySpec>> {
        Ok(None)
    }

    /// The runs that the filter remembers, if it can; [`commit`](Self::commit) saves their changes.
    fn runs(&mut self) -> Option<&mut Runs> {
        None
    }

    /// Does `op` with the keys of a block.
    fn answer(&mut self, op: Op, batch: &mut Batch) -> Result<(), Stop>;

    /// Whether the outputs must be synced because of keys recorded on a server.
    fn sync_is_due(&self) -> bool {
        false
    }

    /// Commits all changes so far, and those of the runs. The outputs contain everything that was answered.
    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    /// Removes keys from a server that were recorded, but cannot be written to the output.
    fn roll_back(&mut self) {}

    /// A message about doubtful answers.
    fn doubts(&self, _op: Op) -> Option<String> {
        None
    }

    /// Saves all changes. Returns an error if the file of a filter that is only read has changed. `figures` says whether
    /// figures are printed: a server is asked for them only then.
    fn finish(self: Box<Self>, counts: &Counts, figures: Option<ReportFormat>) -> Result<Summary>;
}

/// The properties of a filter that do not change during a run.
pub(crate) struct Profile {
    /// The name in messages.
    pub(crate) name: String,
    /// The hasher of keys.
    pub(crate) hasher: KeyHasher,
    /// The parts of a record that the filter needs.
    pub(crate) wanted: Wanted,
    pub(crate) window: Option<Window>,
    /// The items at the beginning.
    pub(crate) items: u64,
    /// Bytes per block. They do not depend on the number of threads: the file stores where a run stopped early.
    pub(crate) block_bytes: usize,
    /// Operations that may be done before a block's turn.
    pub(crate) prefetch: Arc<dyn Prefetch>,
    /// The filter is saved, so the outputs must contain everything that it records before the run ends.
    pub(crate) is_saved: bool,
}

impl Profile {
    /// The profile of an empty temporary filter.
    pub(super) fn new(hasher: KeyHasher) -> Self {
        Self {
            name: "filter".to_owned(),
            hasher,
            wanted: Wanted::Hash,
            window: None,
            items: 0,
            block_bytes: BLOCK,
            prefetch: Arc::new(()),
            is_saved: false,
        }
    }
}

/// The message about the records that arrived too late to be remembered.
pub(super) fn outdated_note(filter: &Generations) -> Option<String> {
    if filter.outdated() == 0 {
        return None;
    }
    let records = counted(filter.outdated(), "record");
    // A time that is wrong shows here: it has moved the window away from all others.
    let latest = moment_text(filter.clock());
    Some(format!("older than the window, which has come to {latest}, so not remembered: {records}"))
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

impl NoRoom {
    pub(crate) fn of(full: &Full) -> Self {
        let Full { items, max_items, reason, .. } = full;
        let (items, limit) = (counted(*items, "item"), grouped(*max_items));
        let end = match reason {
            FullReason::MaxItems => format!("its limit is {limit}"),
            FullReason::NoRoom => "may not grow".to_owned(),
            _ => {
                let remedy = "use --rate with --capacity, which needs less memory";
                return Self {
                    why: format!("cannot hold more than {items}: out of memory"),
                    remedy,
                };
            }
        };
        let remedy = "raise --capacity, or use --when-full grow";
        Self { why: format!("is full: it holds {items}, and {end}"), remedy }
    }
}

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

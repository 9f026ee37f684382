//! The interface between a run and its filter.

use crate::filter::collisions::Answered;
use crate::filter::op::{Op, Stop};
use crate::key::{BlockKeys, KeySpec, Wanted};
use crate::pipeline::{Batch, Prefetch, Unanswered};
use crate::record::BLOCK;
use crate::runs::Runs;
use crate::terminal::{FilterFigures, Result, Verbosity, counted};
use coua::KeyHasher;
use coua::window::{Generations, Window};
use std::fmt::Debug;
use std::sync::Arc;

/// The filter of a run. Methods that only some filters need do nothing by default.
pub(crate) trait RunFilter: Debug {
    /// The name in messages.
    fn name(&self) -> String {
        "filter".to_owned()
    }

    /// How keys are hashed.
    fn hasher(&self) -> KeyHasher;

    /// The parts of a record that the filter needs.
    fn wanted(&self) -> Wanted {
        Wanted::Hash
    }

    fn window(&self) -> Option<Window> {
        None
    }

    /// The load, if known without asking a server.
    fn load(&self) -> Option<f64>;

    /// Whether the filter knows which of the records so far are new.
    fn knows_new(&self) -> bool {
        true
    }

    /// Bytes per block. They do not depend on the number of threads: the file stores where a run stopped early.
    fn block_bytes(&self) -> usize {
        BLOCK
    }

    /// Operations that may be done before a block's turn.
    fn prefetch(&self) -> Arc<dyn Prefetch> {
        Arc::new(())
    }

    /// Sends the operation for a block, if answers take time.
    fn request(&mut self, _keys: &BlockKeys) {}

    /// The most bytes of input whose operations may be pending.
    fn max_pending_bytes(&self) -> usize {
        0
    }

    /// Does `op` with the keys of a block, except the first `known`, which were done before.
    fn answer(&mut self, op: Op, batch: &mut Batch, known: usize) -> Result<(), Stop>;

    /// Shards the filter for several threads, if that pays after a first block of `keys` keys.
    fn consider_sharding(&mut self, _keys: usize) {}

    /// Whether the answered changes can be committed. If not, the shards soon stop being ahead of the answers.
    fn can_commit(&mut self) -> bool {
        true
    }

    /// Rolls back changes of the shards for unanswered blocks. No block follows.
    fn end_of_blocks(&mut self, _unanswered: Vec<Unanswered>) {}

    /// Returns an error if the file of a filter that is only read has changed.
    fn check_unchanged(&self) -> Result<()> {
        Ok(())
    }

    /// Whether the outputs must contain everything that the filter records before the run ends.
    fn follows_outputs(&self) -> bool {
        false
    }

    /// Whether the outputs must be synced because of keys recorded on a server.
    fn sync_is_due(&self) -> bool {
        false
    }

    /// Records that the outputs contain everything that was answered.
    fn mark_synced(&mut self) {}

    /// Removes keys from a server that were recorded, but cannot be written to the output.
    fn roll_back(&mut self) {}

    /// Removes keys from a server that were recorded after the record for which there was no room.
    fn roll_back_after_full(&mut self) -> Result<()> {
        Ok(())
    }

    /// The runs that the filter remembers, if it can; [`commit`](Self::commit) saves their changes.
    fn runs(&mut self) -> Option<&mut Runs> {
        None
    }

    /// How its keys are made, if known.
    fn key_spec(&self) -> Result<Option<KeySpec>> {
        Ok(None)
    }

    /// Sets how its keys are made, if it can store that and has no items.
    fn set_key_spec(&mut self, _spec: &KeySpec) -> Result<()> {
        Ok(())
    }

    /// Records that the run resumes one whose records are partly in the file.
    fn mark_resumed(&mut self) {}

    /// Commits all changes so far, and those of the runs.
    fn commit(&mut self, _stage: Stage) -> Result<()> {
        Ok(())
    }

    /// Reports what is uncertain about the answers.
    fn report_doubts(&self, _op: Op, _verbosity: Verbosity) {}

    /// What a message about the filter's content has to add. `None` for a temporary filter.
    fn exceptions(&self) -> Option<&'static str> {
        None
    }

    /// The current figures.
    fn summary(&mut self, request: SummaryRequest) -> Summary;

    /// Saves all changes, at the end.
    fn finish(mut self: Box<Self>, request: SummaryRequest) -> Result<Summary> {
        Ok(self.summary(request))
    }
}

/// The state of a run that a commit records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The run has begun to write its outputs.
    Begin,
    /// The run's position.
    Checkpoint,
}

/// The data for a [`Summary`] that do not come from the filter.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "server"),
    expect(dead_code, reason = "local filters know all by themselves")
)]
pub(crate) struct SummaryRequest {
    pub(crate) answered: Answered,
    /// The expected number of new records among the repeats, as counted with the answers.
    pub(crate) expected: f64,
    /// Whether the figures are printed; otherwise no server is asked for them.
    pub(crate) has_report: bool,
}

/// The figures of a filter at the end of a run.
#[derive(Debug)]
pub(crate) struct Summary {
    /// An error if a server does not send them.
    pub(crate) figures: Result<FilterFigures>,
    /// The number of bits remembered of each hash, if known.
    pub(crate) hash_bits: Option<f64>,
    /// The expected number of new records among the repeats, if known.
    pub(crate) expected: Option<f64>,
}

impl Summary {
    /// The summary of a local filter.
    pub(super) fn of(figures: FilterFigures, request: SummaryRequest) -> Self {
        let hash_bits = figures.hash_bits;
        Self { figures: Ok(figures), hash_bits, expected: Some(request.expected) }
    }
}

/// Reports the records that arrived too late to be remembered.
pub(super) fn report_outdated(filter: &Generations, verbosity: Verbosity) {
    if filter.outdated() > 0 {
        let records = counted(filter.outdated(), "record");
        verbosity.say(format_args!("older than the window, so not remembered: {records}"));
    }
}

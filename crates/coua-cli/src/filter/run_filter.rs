//! What a run needs of its filter, wherever that lives.

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

/// The filter of a run. What only some filters need does nothing by default.
pub(crate) trait RunFilter: Debug {
    /// What messages call it.
    fn name(&self) -> String {
        "filter".to_owned()
    }

    /// How keys are hashed.
    fn hasher(&self) -> KeyHasher;

    /// What it needs of a record.
    fn wanted(&self) -> Wanted {
        Wanted::Hash
    }

    fn window(&self) -> Option<Window> {
        None
    }

    /// How full it is, if that is known without asking a server.
    fn load(&self) -> Option<f64>;

    /// Whether it knows which of the records so far are new.
    fn knows_new(&self) -> bool {
        true
    }

    /// Bytes of the blocks that it is asked about. They do not depend on the threads: where a run that stops early was
    /// is in the file.
    fn block_bytes(&self) -> usize {
        BLOCK
    }

    /// What may be asked of it before a block's turn.
    fn prefetch(&self) -> Arc<dyn Prefetch> {
        Arc::new(())
    }

    /// Sends the questions about a block, if answers take their time.
    fn request(&mut self, _keys: &BlockKeys) {}

    /// Bytes of input about which questions may have been sent, and not answered yet.
    fn max_pending_bytes(&self) -> usize {
        0
    }

    /// Does `op` with the keys of a block, apart from the first `known` of them, which were done before.
    fn answer(&mut self, op: Op, batch: &mut Batch, known: usize) -> Result<(), Stop>;

    /// Lets several threads change it, if that pays after a first block of `keys` keys.
    fn consider_sharding(&mut self, _keys: usize) {}

    /// Whether what was answered can be committed. If not yet, the shards will soon not be ahead of it any more.
    fn can_commit(&mut self) -> bool {
        true
    }

    /// Rolls back what shards did for blocks that were not answered. No block follows.
    fn end_of_blocks(&mut self, _unanswered: Vec<Unanswered>) {}

    /// Returns an error if the file of a filter that was asked is not what it was.
    fn check_unchanged(&self) -> Result<()> {
        Ok(())
    }

    /// Whether what it remembers must be in the outputs before the run ends.
    fn follows_outputs(&self) -> bool {
        false
    }

    /// Whether the outputs must be synced, for what a server has recorded.
    fn sync_is_due(&self) -> bool {
        false
    }

    /// All that was answered is in the outputs.
    fn mark_synced(&mut self) {}

    /// Removes from a server what was recorded, and cannot be brought into the output.
    fn roll_back(&mut self) {}

    /// Removes from a server what was recorded after the record for which there was no room.
    fn roll_back_after_full(&mut self) -> Result<()> {
        Ok(())
    }

    /// The runs that it remembers, if it can: [`commit`](Self::commit) keeps their changes.
    fn runs(&mut self) -> Option<&mut Runs> {
        None
    }

    /// How its keys are made, if it knows.
    fn key_spec(&self) -> Result<Option<KeySpec>> {
        Ok(None)
    }

    /// Remembers how its keys are made, if it can and has no items.
    fn set_key_spec(&mut self, _spec: &KeySpec) -> Result<()> {
        Ok(())
    }

    /// The run resumes one of which there are records in the file.
    fn mark_resumed(&mut self) {}

    /// Commits all changes so far, and those of the runs.
    fn commit(&mut self, _stage: Stage) -> Result<()> {
        Ok(())
    }

    /// Reports what is uncertain about the answers.
    fn report_doubts(&self, _op: Op, _verbosity: Verbosity) {}

    /// What a message that says what is in the filter has to add. `None` if it is forgotten at the end.
    fn exceptions(&self) -> Option<&'static str> {
        None
    }

    /// What there is to report about it now.
    fn summary(&mut self, request: SummaryRequest) -> Summary;

    /// Saves all changes: this is the end.
    fn finish(mut self: Box<Self>, request: SummaryRequest) -> Result<Summary> {
        Ok(self.summary(request))
    }
}

/// What a commit records of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// That it writes its outputs.
    Begin,
    /// How far it is.
    Checkpoint,
}

/// What a [`Summary`] is made of, beside the filter.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(feature = "server"),
    expect(dead_code, reason = "local filters know all by themselves")
)]
pub(crate) struct SummaryRequest {
    pub(crate) answered: Answered,
    /// How many of the repeats the answers themselves expected to be new records.
    pub(crate) expected: f64,
    /// Whether the figures are printed: otherwise no server is asked for them.
    pub(crate) has_report: bool,
}

/// What there is to report about a filter at the end of a run.
#[derive(Debug)]
pub(crate) struct Summary {
    /// An error if a server does not send them.
    pub(crate) figures: Result<FilterFigures>,
    /// How many bits of each hash are remembered, if that is known.
    pub(crate) hash_bits: Option<f64>,
    /// How many of the repeats are expected to be new records, if that is known.
    pub(crate) expected: Option<f64>,
}

impl Summary {
    /// Of a filter that is at hand.
    pub(super) fn of(figures: FilterFigures, request: SummaryRequest) -> Self {
        let hash_bits = figures.hash_bits;
        Self { figures: Ok(figures), hash_bits, expected: Some(request.expected) }
    }
}

/// Reports the records that came too late to be remembered.
pub(super) fn report_outdated(filter: &Generations, verbosity: Verbosity) {
    if filter.outdated() > 0 {
        let records = counted(filter.outdated(), "record");
        verbosity.say(format_args!("older than the window, so not remembered: {records}"));
    }
}

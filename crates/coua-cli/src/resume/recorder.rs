//! Records the progress of a run in the filter, block by block.

use super::positions::Positions;
use crate::filter::{Counts, RunFilter, Stage};
use crate::output::Synced;
use crate::record::{Block, RecordFormat};
use crate::runs::{Place, Run, Runs};
use crate::terminal::{Result, Verbosity};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// Everything is done, as far as is known.
    Whole,
    /// Something is left: a signal arrived, or the filter is full.
    Early,
}

/// The most ended runs that are remembered: so many with --resume, and so many others.
const MOST_ENDED: usize = 64;

/// The progress of a run with checkpoints, which is recorded in the filter's notes.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// The number of the run; `None` if it can neither be resumed nor has files as outputs.
    number: Option<u64>,
    /// The inputs can be read again.
    is_resumable: bool,
    /// The inputs have paused: nothing follows that could make a checkpoint due later.
    has_paused: bool,
    positions: Positions,
    /// The format of the inputs' records.
    format: RecordFormat,
    schedule: CheckpointTimer,
    after_end: AfterEnd,
    verbosity: Verbosity,
}

/// What to do with a run that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AfterEnd {
    #[default]
    Forgotten,
    /// Keep it: it could have been resumed, so the command may be repeated with --resume; or its outputs hold records
    /// that the filter remembers.
    Kept,
    /// Keep it, and print a note if it is forgotten later: it had --resume.
    Wanted,
}

/// The stored state of a run, apart from its places.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SavedState {
    /// The counters of the command.
    pub(super) counts: Counts,
    pub(super) after_end: AfterEnd,
}

impl SavedState {
    /// The state of a run; the default for one that stored none.
    pub(super) fn of(run: &Run) -> Self {
        serde_json::from_slice(&run.state).unwrap_or_default()
    }

    /// Adds the state of another run of the same job.
    pub(super) fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.after_end = self.after_end.max(other.after_end);
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Checkpoints take at most 1 / `SHARE` of the time, unless `--checkpoint-every` is 0: a large filter with changes
/// everywhere takes seconds to write.
const SHARE: u32 = 10;

/// Decides when a checkpoint is due.
#[derive(Debug)]
struct CheckpointTimer {
    every: Duration,
    /// When the last checkpoint began.
    began: Instant,
    /// When the last checkpoint ended.
    last: Instant,
}

impl CheckpointTimer {
    fn new(every: Duration) -> Self {
        let now = Instant::now();
        Self { every, began: now, last: now }
    }

    /// Makes a checkpoint.
    fn run(&mut self, checkpoint: impl FnOnce() -> Result<()>) -> Result<()> {
        self.began = Instant::now();
        checkpoint()?;
        self.last = Instant::now();
        Ok(())
    }

    fn is_due(&self) -> bool {
        let rest = if self.every.is_zero() { 0 } else { SHARE - 1 };
        let took = self.last.saturating_duration_since(self.began);
        self.last.elapsed() >= self.every.max(rest * took)
    }
}

impl Recorder {
    /// The recorder of the run with this number, whose inputs can be read again if there are `files`.
    pub(super) fn new(
        number: Option<u64>,
        files: &[Place],
        format: RecordFormat,
        every: Duration,
        after_end: AfterEnd,
        verbosity: Verbosity,
    ) -> Self {
        let (is_resumable, positions) = (!files.is_empty(), Positions::at(files));
        let schedule = CheckpointTimer::new(every);
        let has_paused = false;
        Self { number, is_resumable, has_paused, positions, format, schedule, after_end, verbosity }
    }

    /// Enters a block. Returns the number of its records that are already done.
    pub(crate) fn enter(&mut self, block: &Block) -> Result<usize> {
        self.has_paused = !self.is_resumable && block.ends.is_empty();
        self.positions.enter(block, &self.format)
    }

    /// Marks the records of the block from `place` on as not done.
    pub(crate) fn roll_back(&mut self, block: &Block, place: usize) {
        self.positions.roll_back(block, place);
    }

    /// Whether the run can be resumed.
    pub(crate) fn is_resumable(&self) -> bool {
        self.is_resumable
    }

    /// For inputs that may pause, the time after which earlier records are saved.
    pub(crate) fn pause(&self) -> Option<Duration> {
        (!self.is_resumable).then_some(self.schedule.every)
    }

    /// Whether records that were done before may follow.
    pub(crate) fn may_repeat(&self) -> bool {
        self.positions.may_repeat()
    }

    pub(crate) fn is_due(&self) -> bool {
        !self.positions.is_repeating() && (self.has_paused || self.schedule.is_due())
    }

    /// Commits the progress of the run. All answers must be in the outputs, and synced.
    pub(crate) fn commit(
        &mut self,
        filter: &mut dyn RunFilter,
        synced: Synced,
        counts: &Counts,
    ) -> Result<()> {
        if self.after_end == AfterEnd::Forgotten && self.positions.records() > 0 {
            self.after_end = AfterEnd::Kept;
        }
        if let Some(runs) = filter.runs() {
            self.record(runs, synced, counts);
        }
        self.schedule.run(|| filter.commit(Stage::Checkpoint))
    }

    /// Records the end of a run, for the next commit. Returns whether the run is left as it is, because it can be
    /// resumed; its progress is then committed.
    pub(crate) fn end(
        mut self,
        ending: RunEnd,
        filter: &mut dyn RunFilter,
        synced: Synced,
        counts: &Counts,
    ) -> Result<bool> {
        if ending == RunEnd::Whole {
            self.positions.end()?;
        }
        let name = filter.name();
        let Some(runs) = filter.runs() else { return Ok(false) };
        self.record(runs, synced, counts);
        if ending == RunEnd::Early && self.is_resumable {
            return filter.commit(Stage::Checkpoint).map(|()| true);
        }
        self.record_end(&name, runs);
        Ok(false)
    }

    /// Records the progress of the run, for the next commit.
    pub(super) fn record(&mut self, runs: &mut Runs, synced: Synced, counts: &Counts) {
        let Some(run) = self.number.and_then(|number| runs.get_mut(number)) else { return };
        run.places = self.positions.places().chain(synced).collect();
        let records = if self.is_resumable { self.positions.records() } else { counts.answered() };
        if run.records != records {
            (run.records, run.has_ended) = (records, !self.is_resumable);
        }
        run.state = SavedState { counts: *counts, after_end: self.after_end }.bytes();
    }

    /// Records that the run has ended, and forgets the oldest if there are too many.
    fn record_end(&self, filter: &str, runs: &mut Runs) {
        let Some(number) = self.number else { return };
        // If the run had ended before, there was nothing more to do.
        let is_done = |run: &Run| self.is_resumable && run.has_ended;
        let Some(run) = runs.get(number).filter(|run| !is_done(run)).cloned() else { return };
        runs.remove(number);
        let holds_records = run.outputs().any(|place| place.offset > 0);
        if self.after_end == AfterEnd::Forgotten || !self.is_resumable && !holds_records {
            return;
        }
        // Adds it as the newest.
        runs.add(Run { has_ended: true, ..run });
        let is_alike = |run: &Run| run.has_ended && SavedState::of(run).after_end == self.after_end;
        let ended = runs.iter().rev().filter(|(_, run)| is_alike(run)).skip(MOST_ENDED);
        let forgotten: Vec<u64> = ended.map(|(number, _)| number).collect();
        for run in forgotten.iter().filter_map(|number| runs.remove(*number)) {
            if self.after_end == AfterEnd::Wanted && run.job.counts() {
                self.verbosity.say(format_args!(
                    "{filter}: remembers only {MOST_ENDED} ended runs and forgot the oldest; do not repeat it, \
                     because its records would count twice: {}",
                    run.name()
                ));
            }
        }
    }
}

//! Records the progress of a run in the filter, block by block.

use super::counts::Counts;
use super::positions::Positions;
use super::remembered::Remembered;
use super::run_plan::ResumeJob;
use crate::filter::{RunFilter, Stage};
use crate::output::Synced;
use crate::record::{Block, RecordFormat};
use crate::runs::{Role, Run, Runs};
use crate::terminal::{Result, Verbosity};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// Everything is done, as far as is known.
    Whole,
    /// Something is left: a signal arrived, or the filter is full.
    Early,
}

/// The most ended runs that are remembered.
const MOST_ENDED: usize = 64;

/// The progress of a resumable run, which is recorded in the filter's notes.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// The number of the run.
    number: u64,
    positions: Positions,
    /// The format of the inputs' records.
    format: RecordFormat,
    schedule: CheckpointTimer,
    after_end: AfterEnd,
    verbosity: Verbosity,
    /// An input that has lost its name.
    lost: Option<PathBuf>,
}

/// What to do with a run that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AfterEnd {
    Forgotten,
    /// Keep it: it could have been resumed, so the command may be repeated with --resume.
    Kept,
    /// Keep it, and print a note if it is forgotten later: it had --resume from the beginning.
    Wanted,
}

/// The stored state of a run, apart from its places.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SavedState {
    /// The counters of the command.
    pub(super) counts: Counts,
    after_end: AfterEnd,
}

impl SavedState {
    pub(super) fn of(run: &Run) -> Option<Self> {
        serde_json::from_slice(&run.state).ok()
    }
}

/// Checkpoints take at most 1 / `SHARE` of the time, unless `--checkpoint-every` is 0: a large filter with changes
/// everywhere takes seconds to write.
const SHARE: u32 = 10;

/// Decides when a checkpoint is due.
#[derive(Debug)]
pub(crate) struct CheckpointTimer {
    every: Duration,
    /// When the last checkpoint began.
    began: Instant,
    /// When the last checkpoint ended.
    last: Instant,
}

impl CheckpointTimer {
    pub(crate) fn new(every: Duration) -> Self {
        let now = Instant::now();
        Self { every, began: now, last: now }
    }

    /// Makes a checkpoint.
    pub(crate) fn keep(&mut self, checkpoint: impl FnOnce() -> Result<()>) -> Result<()> {
        self.began = Instant::now();
        checkpoint()?;
        self.last = Instant::now();
        Ok(())
    }

    pub(crate) fn is_due(&self) -> bool {
        let rest = if self.every.is_zero() { 0 } else { SHARE - 1 };
        let took = self.last.saturating_duration_since(self.began);
        self.last.elapsed() >= self.every.max(rest * took)
    }
}

impl Recorder {
    /// The recorder of the run with this number.
    pub(super) fn new(
        runs: &Runs,
        number: u64,
        every: Duration,
        after_end: AfterEnd,
        job: &ResumeJob<'_>,
    ) -> Self {
        let places = runs.get(number).map_or(&[][..], |run| &run.places);
        let positions = Positions::at(places.iter().filter(|place| place.role == Role::Input));
        let (format, verbosity) = (job.output_spec.format.clone(), job.verbosity);
        let schedule = CheckpointTimer::new(every);
        Self { number, positions, format, schedule, after_end, verbosity, lost: None }
    }

    /// Enters a block. Returns the number of its records that are already done.
    pub(crate) fn enter(&mut self, block: &Block) -> Result<usize> {
        self.positions.enter(block, &self.format)
    }

    /// Marks the records of the block from `place` on as not done.
    pub(crate) fn roll_back(&mut self, block: &Block, place: usize) {
        self.positions.roll_back(block, place);
    }

    /// Whether the run can still be resumed.
    pub(crate) fn is_resumable(&self) -> bool {
        self.lost.is_none()
    }

    /// Whether records that were done before may follow.
    pub(crate) fn may_repeat(&self) -> bool {
        self.positions.may_repeat()
    }

    pub(crate) fn is_due(&self) -> bool {
        !self.positions.is_repeating() && self.lost.is_none() && self.schedule.is_due()
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
        if self.lost.is_some() {
            return Ok(());
        }
        self.schedule.keep(|| filter.commit(Stage::Checkpoint))
    }

    /// Records the end of a run, for the next commit; or commits its progress, if it can be resumed.
    pub(crate) fn end(
        mut self,
        ending: RunEnd,
        filter: &mut dyn RunFilter,
        synced: Synced,
        counts: &Counts,
    ) -> Result<()> {
        if ending == RunEnd::Whole {
            self.positions.end()?;
        }
        let name = filter.name();
        let Some(runs) = filter.runs() else { return Ok(()) };
        self.record(runs, synced, counts);
        if ending == RunEnd::Early {
            self.leave(runs);
            return filter.commit(Stage::Checkpoint);
        }
        self.record_end(&name, runs);
        Ok(())
    }

    /// Records the progress of the run, for the next commit.
    pub(super) fn record(&mut self, runs: &mut Runs, synced: Synced, counts: &Counts) {
        let Some(run) = runs.get_mut(self.number) else { return };
        if self.lost.is_none() {
            self.lost = self.positions.move_places().err();
        }
        run.places = self.positions.places().chain(synced).collect();
        if run.records != self.positions.records() {
            (run.records, run.has_ended) = (self.positions.records(), false);
        }
        let state = SavedState { counts: *counts, after_end: self.after_end };
        run.state = serde_json::to_vec(&state).unwrap_or_default();
    }

    /// Leaves the run before its end. If an input is lost, the run stays in the table, so that no run truncates its
    /// outputs by mistake, but it can never be resumed.
    fn leave(&self, runs: &mut Runs) {
        let Some((lost, run)) = self.lost.as_ref().zip(runs.get_mut(self.number)) else { return };
        for place in run.places.iter_mut().filter(|place| place.path == *lost) {
            // No file has this checksum.
            place.head = !place.head;
        }
        self.verbosity.say(format_args!(
            "{}: was removed or replaced while it was read, so this run cannot be resumed",
            lost.display()
        ));
    }

    /// Records that the run has ended, and forgets the oldest if there are too many.
    fn record_end(&self, filter: &str, runs: &mut Runs) {
        if runs.get(self.number).is_none_or(|run| run.has_ended && self.lost.is_none()) {
            // The run had ended before, and there was nothing more to do.
            return;
        }
        let Some(run) = runs.remove(self.number) else { return };
        if self.after_end == AfterEnd::Forgotten || self.lost.is_some() {
            return;
        }
        // Adds it as the newest.
        runs.add(Run { has_ended: true, ..run });
        let ended = Remembered::all(runs).filter(Remembered::has_ended).skip(MOST_ENDED);
        let told = ended.inspect(|run| self.report_forgotten(filter, run));
        let forgotten: Vec<u64> = told.map(|run| run.number).collect();
        for number in forgotten {
            runs.remove(number);
        }
    }

    /// Reports that a run is forgotten that must not be repeated.
    fn report_forgotten(&self, filter: &str, run: &Remembered<'_>) {
        let is_wanted =
            SavedState::of(run.run).is_none_or(|state| state.after_end == AfterEnd::Wanted);
        if is_wanted && run.job.counts() {
            self.verbosity.say(format_args!(
                "{filter}: remembers only {MOST_ENDED} ended runs and forgot the oldest; do not repeat it, because its \
                 records would count twice: {}",
                run.name()
            ));
        }
    }
}

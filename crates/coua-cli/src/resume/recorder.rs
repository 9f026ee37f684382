//! Records in the filter how far a run is, block by block.

use super::job::Job;
use super::positions::Positions;
use super::remembered::Remembered;
use super::schedule::Schedule;
use crate::output::Settled;
use crate::record::{Block, Format};
use crate::target::{Kept, Stage, Target};
use crate::terminal::{Notes, Result};
use coua_store::{Role, Run, Runs};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// All was done, as far as can be known.
    Whole,
    /// There is more: a signal came, or there was no room.
    Early,
}

/// Runs that have ended and are remembered.
const MOST_ENDED: usize = 64;

/// How far a run is, and where that is recorded.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    /// None if the run cannot be resumed.
    entry: Option<Entry>,
}

/// The run in the filter's table.
#[derive(Debug)]
struct Entry {
    number: u64,
    positions: Positions,
    /// Of the inputs' records.
    format: Format,
    schedule: Schedule,
    after_end: AfterEnd,
    notes: Notes,
    /// An input whose name has been lost.
    lost: Option<PathBuf>,
}

/// What becomes of a run that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AfterEnd {
    Forgotten,
    /// It could have been resumed, so whoever does not know that it has ended may do so.
    Kept,
    /// It was to be resumable from the beginning on, and whoever relies on it is told if it is forgotten.
    Wanted,
}

/// What is kept of a run, apart from its places.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct State {
    counts: Value,
    after_end: AfterEnd,
}

impl State {
    pub(super) fn of(run: &Run) -> Option<Self> {
        serde_json::from_slice(&run.state).ok()
    }

    /// What the command had counted.
    pub(super) fn counts<C: DeserializeOwned>(self) -> Option<C> {
        serde_json::from_value(self.counts).ok()
    }

    fn bytes(counts: &impl Serialize, after_end: AfterEnd) -> Vec<u8> {
        let counts = serde_json::to_value(counts).unwrap_or_default();
        serde_json::to_vec(&Self { counts, after_end }).unwrap_or_default()
    }
}

impl Recorder {
    /// Of the run of this number.
    pub(super) fn new(
        runs: &Runs,
        number: u64,
        (every, after_end): (Duration, AfterEnd),
        job: &Job<'_>,
    ) -> Self {
        let places = runs.get(number).map_or(&[][..], |run| &run.places);
        let positions = Positions::at(places.iter().filter(|place| place.role == Role::Input));
        let (schedule, format, notes) = (Schedule::new(every), job.opening.format, job.notes);
        let format = format.clone();
        let entry = Entry { number, positions, format, schedule, after_end, notes, lost: None };
        Self { entry: Some(entry) }
    }

    /// Takes a block in. Says how many of its records are done already.
    pub(crate) fn enter(&mut self, block: &Block) -> Result<usize> {
        let Some(entry) = &mut self.entry else { return Ok(0) };
        entry.positions.enter(block, &entry.format)
    }

    /// The records of the block from `place` on are not done after all.
    pub(crate) fn take_back(&mut self, block: &Block, place: usize) {
        if let Some(entry) = &mut self.entry {
            entry.positions.take_back(block, place);
        }
    }

    /// What to do about a full filter, to be said after what became of the records.
    pub(crate) fn remedy_if_full(&self) -> &'static str {
        if self.entry.as_ref().is_some_and(|entry| entry.lost.is_none()) {
            "; make room (`coua remove`), then give the same command with --resume"
        } else {
            "; make room (`coua remove`), then give the records from that one on"
        }
    }

    /// Whether records may come that were done before.
    pub(crate) fn may_repeat(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| entry.positions.may_repeat())
    }

    pub(crate) fn is_due(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| {
            !entry.positions.is_repeating() && entry.lost.is_none() && entry.schedule.is_due()
        })
    }

    /// Commits that the run begins, before anything is written to its outputs.
    pub(super) fn begin(
        &mut self,
        kept: &mut Kept,
        settled: Settled,
        counts: &impl Serialize,
    ) -> Result<()> {
        if let Some(entry) = &mut self.entry {
            entry.note(kept.store.runs_mut(), settled, counts);
        }
        kept.commit(Stage::Begin)
    }

    /// Commits how far the run is, if it can be resumed. All answers are in the outputs, and on the disk.
    pub(crate) fn commit(
        &mut self,
        kept: &mut Kept,
        settled: Settled,
        counts: &impl Serialize,
    ) -> Result<()> {
        let Some(entry) = &mut self.entry else { return Ok(()) };
        entry.schedule.begin();
        if entry.after_end == AfterEnd::Forgotten && entry.positions.records() > 0 {
            entry.after_end = AfterEnd::Kept;
        }
        entry.note(kept.store.runs_mut(), settled, counts);
        if entry.lost.is_some() {
            return Ok(());
        }
        kept.commit(Stage::Checkpoint)?;
        entry.schedule.done();
        Ok(())
    }

    /// Commits the end of the run, or if it can be resumed, where it was left. Gives the filter back.
    pub(crate) fn end(
        self,
        ending: Ending,
        target: Target,
        settled: Settled,
        counts: &impl Serialize,
    ) -> Result<Target> {
        let Target::File(mut kept) = target else { return Ok(target) };
        if let Some(mut entry) = self.entry {
            if ending == Ending::Whole {
                entry.positions.end()?;
            }
            entry.note(kept.store.runs_mut(), settled, counts);
            if ending == Ending::Early {
                entry.leave(kept.store.runs_mut());
                kept.commit(Stage::Checkpoint)?;
                return Ok(Target::File(kept));
            }
            let name = kept.name();
            entry.end(&name, kept.store.runs_mut());
        }
        Ok(Target::Done(Box::new(kept.finish()?)))
    }
}

impl Entry {
    /// Notes how far the run is, in the table that the next commit keeps.
    fn note(&mut self, runs: &mut Runs, settled: Settled, counts: &impl Serialize) {
        let Some(run) = runs.get_mut(self.number) else { return };
        if self.lost.is_none() {
            self.lost = self.positions.settle().err();
        }
        run.places = self.positions.places().chain(settled).collect();
        if run.records != self.positions.records() {
            (run.records, run.has_ended) = (self.positions.records(), false);
        }
        run.state = State::bytes(counts, self.after_end);
    }

    /// The run is left before its end. If an input is lost, it stays in the table, so that nobody empties its
    /// outputs unawares, but is never taken for one that can be resumed.
    fn leave(&self, runs: &mut Runs) {
        let Some((lost, run)) = self.lost.as_ref().zip(runs.get_mut(self.number)) else { return };
        for place in run.places.iter_mut().filter(|place| place.path == *lost) {
            // No file agrees with it.
            place.head = !place.head;
        }
        self.notes.say(format_args!(
            "{}: was removed or replaced while it was read, so this run cannot be resumed",
            lost.display()
        ));
    }

    /// The run has ended. Of more than are kept, the oldest are forgotten.
    fn end(&self, filter: &str, runs: &mut Runs) {
        if runs.get(self.number).is_none_or(|run| run.has_ended && self.lost.is_none()) {
            // It had ended before, and there was nothing more to do.
            return;
        }
        let Some(run) = runs.remove(self.number) else { return };
        if self.after_end == AfterEnd::Forgotten || self.lost.is_some() {
            return;
        }
        // As the youngest.
        runs.add(Run { has_ended: true, ..run });
        let ended = Remembered::all(runs).filter(Remembered::has_ended).skip(MOST_ENDED);
        let told = ended.inspect(|run| self.tell_forgotten(filter, run));
        let forgotten: Vec<u64> = told.map(|run| run.number).collect();
        for number in forgotten {
            runs.remove(number);
        }
    }

    /// Says that a run is forgotten that must not be done twice.
    fn tell_forgotten(&self, filter: &str, run: &Remembered<'_>) {
        let is_wanted = State::of(run.run).is_none_or(|state| state.after_end == AfterEnd::Wanted);
        if is_wanted && run.job.counts() {
            self.notes.say(format_args!(
                "{filter}: {MOST_ENDED} runs that have ended are remembered; the oldest is forgotten, and its \
                 records would count twice if it were done again: {}",
                run.name()
            ));
        }
    }
}

//! Records the progress of a run in the filter, block by block.
//!
//! In each input the first records are done, so any input may have grown when the run is resumed.

use super::run_plan::{Mode, Plan, ResumeJob, USUAL_TIME, counts_of};
use crate::filter::{Counts, RunFilter};
use crate::key::Done;
use crate::output::{Outputs, Synced};
use crate::record::{Block, BlockEnd, RecordFormat};
use crate::runs::{CHANGED, Place, Run, Runs};
use crate::terminal::{Failure, Result, Verbosity, counted, grouped};
use coua_store::Notes as FilterNotes;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// Everything is done, as far as is known.
    Whole,
    /// Something is left: a signal arrived, or the filter is full.
    Early,
}

/// The most ended runs of a kind that are remembered: those that count twice if they are repeated, and others.
const MOST_ENDED: usize = 64;

/// The progress of a run, which is recorded in the filter's notes.
#[derive(Debug)]
pub(crate) struct Recorder {
    /// The number of the run; `None` if it can neither be resumed nor has files as outputs.
    number: Option<u64>,
    /// The run is remembered after its end, so that the same command with --resume does nothing.
    pub(super) is_repeatable: bool,
    /// The counters at its beginning.
    pub(crate) counts: Counts,
    /// The inputs have paused: nothing follows that could make a checkpoint due later.
    has_paused: bool,
    /// The inputs, if they can be read again.
    inputs: Vec<Position>,
    /// The input that is being read.
    current: usize,
    /// The format of the inputs' records.
    format: RecordFormat,
    /// The time between checkpoints.
    every: Duration,
    /// When the next checkpoint is due.
    due: Instant,
    verbosity: Verbosity,
}

/// Checkpoints take at most 1 / `SHARE` of the time, unless `--checkpoint-every` is 0: a large filter with changes
/// everywhere takes seconds to write.
const SHARE: u32 = 10;

impl Recorder {
    /// The recorder of a run, which begins where an earlier run has come to. A run with a number was remembered before; it
    /// becomes the newest again, unless it had ended. Without inputs, the run cannot be resumed.
    pub(super) fn new(run: Run, number: Option<u64>, runs: &mut Runs, job: &ResumeJob<'_>) -> Self {
        let every = job.options.every.unwrap_or(USUAL_TIME);
        let inputs =
            run.inputs.iter().map(|place| Position { place: place.clone(), met: 0 }).collect();
        let counts = counts_of(&run);
        let has_files = !run.is_stream() || !run.outputs.is_empty();
        let is_noted = number.is_some() || has_files && excess(&run).is_none();
        Self {
            is_repeatable: job.options.mode == Mode::Resume || !run.outputs.is_empty(),
            number: is_noted.then(|| runs.add(number.filter(|_| run.has_ended), run)),
            counts,
            has_paused: false,
            inputs,
            current: 0,
            format: job.output_spec.format.clone(),
            every,
            due: Instant::now() + every,
            verbosity: job.verbosity,
        }
    }

    /// The records that the previous run has done.
    pub(crate) fn done(&self) -> Arc<[Done]> {
        self.inputs.iter().map(Position::done).collect()
    }

    /// Enters a block.
    pub(crate) fn enter(&mut self, block: &Block) -> Result<()> {
        self.has_paused = !self.is_resumable() && block.ends.is_empty();
        self.end_before(block.input)?;
        let Some(position) = self.inputs.get_mut(block.input) else { return Ok(()) };
        let done = position.done().before_end_of(block, &self.format);
        if done < position.place.records {
            let place = (done - block.records_before) as usize;
            if block.has_header_at(place) {
                return Err(ResumeJob::moved(&position.place, CHANGED));
            }
            self.verbosity.say(format_args!("{}: {GROWN}", block.record_name(place)));
            (position.place.records, position.place.note) = (done, 0);
        }
        position.met = block.records_before + block.len() as u64;
        if position.remaining() == 0 {
            position.pass(block, &self.format);
        }
        Ok(())
    }

    /// Marks the records of the block from `place` on as not done.
    pub(crate) fn roll_back(&mut self, block: &Block, place: usize) {
        if let Some(position) = self.inputs.get_mut(block.input) {
            position.met = block.records_before + place as u64;
            (position.place.records, position.place.note) = (position.met, 0);
        }
    }

    /// Ends the inputs before this one. Returns an error if one has fewer records than were done.
    fn end_before(&mut self, input: usize) -> Result<()> {
        while self.current < input.min(self.inputs.len()) {
            let position = &self.inputs[self.current];
            if position.remaining() > 0 {
                let found = counted(position.met, "record");
                let done = grouped(position.place.records);
                let reason = format!(
                    "--resume: has {found}, fewer than the {done} already processed; restore it"
                );
                return Err(Failure::at(position.place.path.display(), reason));
            }
            self.current += 1;
        }
        Ok(())
    }

    /// Whether the run can be resumed.
    pub(crate) fn is_resumable(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// For inputs that may pause, the time after which earlier records are saved.
    pub(crate) fn pause(&self) -> Option<Duration> {
        (!self.is_resumable()).then_some(self.every)
    }

    /// Whether a checkpoint is due: not while the previous run got farther in the current input.
    pub(crate) fn is_due(&self) -> bool {
        let is_repeating = self.inputs.get(self.current).is_some_and(|it| it.remaining() > 0);
        !is_repeating && (self.has_paused || Instant::now() >= self.due)
    }

    /// Commits the progress of the run. All answers must be in the outputs, and synced.
    pub(crate) fn commit(
        &mut self,
        filter: &mut dyn RunFilter,
        synced: Synced,
        counts: &Counts,
    ) -> Result<()> {
        if let Some(runs) = filter.runs() {
            self.record(runs, synced, counts);
        }
        self.is_repeatable = true;
        let began = Instant::now();
        filter.commit()?;
        let rest = if self.every.is_zero() { 0 } else { SHARE - 1 };
        self.due = Instant::now() + self.every.max(rest * began.elapsed());
        Ok(())
    }

    /// Records the end of a run, for the next commit. A run that ends early, and can be resumed, is left as it is.
    pub(crate) fn end(
        mut self,
        ending: RunEnd,
        filter: &mut dyn RunFilter,
        name: &str,
        synced: Synced,
        counts: &Counts,
    ) -> Result<()> {
        if ending == RunEnd::Whole {
            self.end_before(self.inputs.len())?;
        }
        let Some(runs) = filter.runs() else { return Ok(()) };
        self.record(runs, synced, counts);
        if ending == RunEnd::Whole || !self.is_resumable() {
            self.record_end(name, runs);
        }
        Ok(())
    }

    /// Records the progress of the run, for the next commit.
    pub(super) fn record(&self, runs: &mut Runs, synced: Synced, counts: &Counts) {
        let run = self.number.and_then(|number| runs.by_number.get_mut(&number));
        let Some(run) = run else { return };
        run.inputs = self.inputs.iter().map(|position| position.place.clone()).collect();
        (run.outputs, run.others_print) = (synced, false);
        let records = if self.is_resumable() {
            run.inputs.iter().map(|place| place.records).sum()
        } else {
            counts.new + counts.found
        };
        if run.records != records {
            (run.records, run.has_ended) = (records, false);
        }
        run.counts = json!(counts);
    }

    /// Records that the run has ended, and forgets the oldest if there are too many.
    fn record_end(&self, filter: &str, runs: &mut Runs) {
        // If the run had ended before, there was nothing more to do.
        let number = self.number.filter(|number| !runs.by_number[number].has_ended);
        let run = number.and_then(|number| runs.by_number.remove(&number));
        let Some(run) = run else { return };
        let holds_records = run.outputs.iter().any(|place| place.offset > 0);
        if !(holds_records || self.is_resumable() && self.is_repeatable) {
            return;
        }
        let counts_twice = run.job.counts();
        // Adds it as the newest.
        runs.add(None, Run { has_ended: true, ..run });
        let is_alike = |run: &Run| run.has_ended && run.job.counts() == counts_twice;
        let mut ended = runs.by_number.iter().rev().filter(|(_, run)| is_alike(run));
        let oldest = ended.nth(MOST_ENDED).map(|(number, _)| *number);
        let forgotten = oldest.and_then(|number| runs.by_number.remove(&number));
        if let Some(run) = forgotten.filter(|_| counts_twice) {
            self.verbosity.say(format_args!(
                "{filter}: remembers only {MOST_ENDED} ended runs and forgot the oldest; do not repeat it, because \
                 its records would count twice: {}",
                run.name()
            ));
        }
    }
}

/// The position of a run in an input.
#[derive(Debug)]
struct Position {
    /// The first records, which were done by this run or the one that it resumes. The note is 0; if the last
    /// of them had no separator, and so may have been cut off, it is its mark.
    place: Place,
    /// The number of records that this run has read.
    met: u64,
}

impl Position {
    /// The number of records that the previous run has done, and this one has not read.
    fn remaining(&self) -> u64 {
        self.place.records.saturating_sub(self.met)
    }

    /// The records that the previous run has done.
    fn done(&self) -> Done {
        let unended = Some(self.place.note).filter(|mark| *mark != 0);
        Done { records: self.place.records, unended }
    }

    /// Marks all records of a block as done.
    fn pass(&mut self, block: &Block, format: &RecordFormat) {
        let last = block.len().checked_sub(1).filter(|_| block.ending != BlockEnd::Separator);
        let last = last.and_then(|last| block.record(last));
        self.place.note = last.map_or(0, |record| Done::mark(record, format));
        self.place.records = self.met;
        self.place.offset = block.consumed - block.consumed_before;
        self.place.sum = block.sum;
    }
}

/// What is said of a record whose first part was processed before the rest had come.
const GROWN: &str = "has grown since it was processed; it counts as another record, which is a repeat if it has the same key";
/// The most bytes of a run's state and its framing in the file.
const REST: u64 = 4096;
/// The most files of a run. The position of each is a note, and other runs have notes too.
const MOST_PLACES: usize = FilterNotes::MOST / 2;

impl ResumeJob<'_> {
    /// Begins the run, or resumes the interrupted one, as planned. The filter then records that the outputs are being
    /// written.
    pub(crate) fn begin(
        &self,
        filter: &mut dyn RunFilter,
        plan: Plan,
        outputs: &mut Outputs,
    ) -> Result<Option<Recorder>> {
        let Some(runs) = filter.runs() else { return Ok(None) };
        let before = runs.clone();
        let Plan { mut run, is_continued, replaced, .. } = plan;
        let is_it = |number: &&u64| is_continued && before.by_number[number].has_files_of(&run);
        let number = replaced.iter().find(is_it).copied();
        if self.obstacle.is_some() || number.is_none() && !self.check_room(&run)? {
            run.inputs.clear();
        }
        let written = run.outputs.clone();
        if is_continued {
            outputs.resume(&written)?;
        } else {
            outputs.begin(self.output_spec.to)?;
        }
        runs.by_number.retain(|number, _| !replaced.contains(number));
        let prints_elsewhere = run.job.is_dedup() && written.is_empty();
        let unfinished = runs.by_number.values_mut().filter(|other| !other.has_ended);
        unfinished.for_each(|other| other.others_print |= prints_elsewhere);
        // Other commands would count a part twice if they cannot be resumed.
        let is_recorded = run.job.is_dedup() || !run.is_stream();
        let mut recorder = is_recorded.then(|| Recorder::new(run, number, runs, self));
        if let Some(recorder) = &mut recorder {
            recorder.is_repeatable |= !replaced.is_empty();
            if !is_continued && !written.is_empty() {
                recorder.record(runs, outputs.sync()?, &recorder.counts);
            }
        }
        if !written.is_empty() && before != *runs {
            filter.commit()?;
        }
        Ok(recorder)
    }

    /// Whether a run is small enough to be recorded. Says so if it is not, or returns an error with `--resume`.
    fn check_room(&self, run: &Run) -> Result<bool> {
        let Some(reason) = excess(run) else { return Ok(true) };
        if self.options.mode == Mode::Resume {
            return Err(Failure::at("--resume", reason));
        }
        let cannot = "this run cannot be resumed after an interruption";
        self.verbosity.say(format_args!("{cannot}: {reason}"));
        Ok(false)
    }
}

/// Why a run is too large to be recorded, if it is.
fn excess(run: &Run) -> Option<String> {
    let (bytes, files) =
        (run.fixed_note().len() as u64 + REST, run.inputs.len() + run.outputs.len());
    (files > MOST_PLACES || bytes > FilterNotes::MOST_BYTES).then(|| {
        format!(
            "it has {} with {} of names, more than a filter remembers of a run; use fewer at a time",
            counted(files as u64, "file"),
            counted(bytes, "byte")
        )
    })
}

//! Runs that can be resumed after an interruption.
//!
//! A checkpoint commits the filter together with the positions in inputs and outputs, which are in the filter's notes.
//! A resumed run reads its inputs again from the beginning, and skips the records that were done. So it works for
//! compressed inputs and all record formats, and inputs may have grown meanwhile.

mod counts;
mod job_spec;
mod positions;
mod recorder;
mod remembered;
mod run_plan;

pub(crate) use counts::Counts;
pub(crate) use job_spec::JobSpec;
pub(crate) use recorder::{CheckpointTimer, Recorder, RunEnd};
pub(crate) use remembered::{list, write_report};
pub(crate) use run_plan::{Mode, ResumeJob, Undo};

use crate::output::Outputs;
use crate::runs::{Place, Role, Run, Runs};
use crate::terminal::{Failure, Result, Verbosity, counted, grouped};
use coua_store::Notes as FilterNotes;
use recorder::{AfterEnd, SavedState};
use remembered::{JobFile, Remembered};
use run_plan::Plan;
use std::time::Duration;

/// A run that begins or is resumed.
pub(crate) struct Started {
    /// The recorder, if the run can be resumed.
    pub(crate) recorder: Option<Recorder>,
    pub(crate) outputs: Outputs,
    /// The counters so far.
    pub(crate) counts: Counts,
    /// The filter has records of the run that is resumed.
    pub(crate) has_records: bool,
    /// The runs must be committed before anything is written to the outputs.
    pub(crate) must_commit: bool,
}

impl Started {
    /// A run that cannot be resumed.
    pub(crate) fn new(outputs: Outputs) -> Self {
        let counts = Counts::default();
        Self { recorder: None, outputs, counts, has_records: false, must_commit: false }
    }
}

/// The most bytes of a run's state and its framing in the file.
const REST: u64 = 4096;
/// The most files of a run. The position of each is a note, and other runs have notes too.
const MOST_PLACES: usize = FilterNotes::MOST / 2;

/// The options for recording a run.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoints {
    /// The description of the run, which later versions understand.
    pub(crate) spec: JobSpec,
    pub(crate) mode: Mode,
    /// The time between two checkpoints.
    pub(crate) every: Duration,
}

impl Checkpoints {
    /// Begins a run, or resumes the interrupted one. `runs` are those that the filter remembers.
    pub(crate) fn begin(&self, runs: &mut Runs, job: &ResumeJob<'_>) -> Result<Started> {
        let plan = job.plan(self.mode, runs)?;
        match (plan.resumed, &job.files) {
            (Some(number), Ok(files)) => self.resume(runs, number, files, job),
            _ => self.begin_new(runs, plan, job),
        }
    }

    /// What to undo before the run begins.
    pub(crate) fn to_undo(&self, runs: &Runs, job: &ResumeJob<'_>) -> Result<Vec<Undo>> {
        if self.mode == Mode::Restart { job.to_undo(runs) } else { Ok(Vec::new()) }
    }

    fn begin_new(&self, runs: &mut Runs, plan: Plan, job: &ResumeJob<'_>) -> Result<Started> {
        let run = job.files.as_ref().ok().map(|files| {
            let places = files.iter().map(|(role, path)| Place::start(*role, path)).collect();
            Run { job: job.spec.bytes(), places, ..Run::default() }
        });
        let run = run.map(|run| self.check_room(run, job.verbosity)).transpose()?.flatten();
        let mut started = Started::new(Outputs::open(job.output_spec)?);
        for number in plan.replaced {
            runs.remove(number);
        }
        let Some(run) = run.filter(|_| started.outputs.are_files()) else {
            return Ok(started);
        };
        let is_wanted = self.mode != Mode::New || plan.has_ended;
        let has_outputs = !job.output_spec.to.paths().is_empty();
        let after_end = match is_wanted {
            true => AfterEnd::Wanted,
            // Otherwise the same command would truncate the outputs that it has written.
            false if has_outputs => AfterEnd::Kept,
            false => AfterEnd::Forgotten,
        };
        let number = runs.add(run);
        let mut recorder = Recorder::new(runs, number, self.every, after_end, job);
        if has_outputs {
            recorder.record(runs, started.outputs.sync()?, &started.counts);
            started.must_commit = true;
        }
        Ok(Started { recorder: Some(recorder), ..started })
    }

    fn resume(
        &self,
        runs: &mut Runs,
        number: u64,
        files: &[JobFile],
        job: &ResumeJob<'_>,
    ) -> Result<Started> {
        let run = runs.get_mut(number).expect("the plan is one for these runs");
        rename(run, files, job.verbosity);
        let state = SavedState::of(run).ok_or_else(|| {
            let reason = "the interrupted run's counters are unreadable; start over with --restart";
            Failure::at("--resume", reason)
        })?;
        let is_output = |place: &&Place| place.role == Role::Output;
        let places: Vec<Place> = run.places.iter().filter(is_output).cloned().collect();
        let outputs = Outputs::resume(&places, job.output_spec)?;
        let has_records = run.records > 0;
        let must_commit = !places.is_empty() && reopen(runs, number);
        let recorder = Some(Recorder::new(runs, number, self.every, AfterEnd::Wanted, job));
        Ok(Started { recorder, outputs, counts: state.counts, has_records, must_commit })
    }

    /// Returns `None` for a run that is too large to be recorded.
    fn check_room(&self, run: Run, verbosity: Verbosity) -> Result<Option<Run>> {
        let (bytes, files) = (run.bytes() + REST, run.places.len());
        let reason = if files > MOST_PLACES {
            format!(
                "a run records the positions of at most {} files, not of {}; use fewer at a time",
                grouped(MOST_PLACES as u64),
                grouped(files as u64)
            )
        } else if bytes > FilterNotes::MOST_BYTES {
            let inputs = run.places.iter().filter(|place| place.role == Role::Input);
            format!(
                "the positions and names of {} take up to {}, but the limit is {}; use fewer at a time, \
                 or a folder with a shorter name",
                counted(inputs.count() as u64, "input"),
                counted(bytes, "byte"),
                grouped(FilterNotes::MOST_BYTES)
            )
        } else {
            return Ok(Some(run));
        };
        if self.mode == Mode::Resume {
            return Err(Failure::at("--resume", reason));
        }
        verbosity.say(format_args!("this run cannot be resumed after an interruption: {reason}"));
        Ok(None)
    }
}

/// Updates the names of a run's files.
fn rename(run: &mut Run, files: &[JobFile], verbosity: Verbosity) {
    for (place, (_, path)) in
        run.places.iter_mut().zip(files).filter(|(place, (_, path))| place.path != *path)
    {
        let (new, old) = (path.display(), place.path.display());
        verbosity.say(format_args!("{new}: continues {old}, renamed since the interrupted run"));
        place.path.clone_from(path);
    }
}

/// Marks a run as not ended, if its inputs have grown.
fn reopen(runs: &mut Runs, number: u64) -> bool {
    let has_more = Remembered::all(runs)
        .any(|run| run.number == number && run.has_ended() && run.has_more_input());
    if let Some(run) = runs.get_mut(number).filter(|_| has_more) {
        run.has_ended = false;
    }
    has_more
}

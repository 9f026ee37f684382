//! Runs that can be resumed after they were interrupted.
//!
//! A checkpoint commits the filter together with how far inputs and outputs are, in the filter's table of runs.
//! To resume a run, its inputs are read again from their beginning, and the records that were done are passed
//! over: so it works for compressed inputs and every form of records, and inputs may have grown meanwhile.

mod describe;
mod job;
mod plan;
mod positions;
mod recorder;
mod remembered;
mod schedule;

pub(crate) use describe::{in_words, tell};
pub(crate) use job::{Job, JobSpec};
pub(crate) use plan::Mode;
pub(crate) use recorder::{Ending, Recorder};

use crate::output::Outputs;
use crate::target::{Kept, Stage};
use crate::terminal::{Failure, Notes, Result, counted, grouped};
use coua_store::{Place, Role, Run, Runs};
use plan::{Plan, Wanted};
use recorder::{AfterEnd, State};
use remembered::{JobFile, Remembered};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A run at its beginning, or where it is resumed; the last is what the command has counted so far.
pub(crate) type Begun<C> = (Recorder, Outputs, C);

/// Bytes of a run's state and of what surrounds it in the file, at most.
const REST: u64 = 4096;

/// How a run is kept from being lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checkpoints {
    pub(crate) mode: Mode,
    /// The time between two of them.
    pub(crate) every: Duration,
}

impl Checkpoints {
    /// Begins a run, or resumes the one that was interrupted. From here on the filter knows that the outputs are
    /// being written.
    pub(crate) fn begin<C: Default + Serialize + DeserializeOwned>(
        self,
        kept: &mut Kept,
        job: &Job<'_>,
    ) -> Result<Begun<C>> {
        let filter = kept.name();
        let wanted = Wanted::new(&filter, job);
        let plan = wanted.plan(self.mode, kept.store.runs())?;
        let files = wanted.files;
        match (plan.resumed, files) {
            (Some(number), Some(files)) => self.resume(kept, number, files, job),
            (_, files) => self.begin_new(kept, plan, files, job),
        }
    }

    fn begin_new<C: Default + Serialize>(
        self,
        kept: &mut Kept,
        plan: Plan,
        files: Option<Vec<JobFile>>,
        job: &Job<'_>,
    ) -> Result<Begun<C>> {
        let run = files.map(|files| {
            let inputs = files.iter().filter(|(role, _)| *role == Role::Input);
            let places = inputs.map(|(role, path)| Place::start(*role, path)).collect();
            Run { job: job.spec.bytes(), places, ..Run::default() }
        });
        let run = run.map(|run| self.check_room(run, job.notes)).transpose()?.flatten();
        let mut outputs = Outputs::open(job.opening)?;
        let counts = C::default();
        let runs = kept.store.runs_mut();
        for number in plan.replaced {
            runs.remove(number);
        }
        let Some(run) = run.filter(|_| outputs.are_files()) else {
            return Ok((Recorder::default(), outputs, counts));
        };
        let is_wanted = self.mode != Mode::New || plan.has_ended;
        let after_end = if is_wanted { AfterEnd::Wanted } else { AfterEnd::Forgotten };
        let number = runs.add(run);
        let has_outputs = !job.opening.to.paths().is_empty();
        let mut recorder = Recorder::new(runs, number, (self.every, after_end), job);
        if has_outputs {
            recorder.begin(kept, outputs.settle()?, &counts)?;
        }
        Ok((recorder, outputs, counts))
    }

    fn resume<C: DeserializeOwned>(
        self,
        kept: &mut Kept,
        number: u64,
        files: Vec<JobFile>,
        job: &Job<'_>,
    ) -> Result<Begun<C>> {
        let run = kept.store.runs_mut().get_mut(number).expect("the plan is one for these runs");
        rename(run, files, job.notes);
        let counts = State::of(run).and_then(State::counts).ok_or_else(|| {
            let reason =
                "what the interrupted run has counted cannot be understood: start over with --anew";
            Failure::at("--resume", reason)
        })?;
        let is_output = |place: &&Place| place.role == Role::Output;
        let places: Vec<Place> = run.places.iter().filter(is_output).cloned().collect();
        let outputs = Outputs::resume(&places, job.opening)?;
        if run.records > 0 {
            kept.resumes();
        }
        let runs = kept.store.runs_mut();
        // Before anything more is written to its outputs.
        if !places.is_empty() && reopen(runs, number) {
            kept.commit(Stage::Begin)?;
        }
        let timing = (self.every, AfterEnd::Wanted);
        let recorder = Recorder::new(kept.store.runs(), number, timing, job);
        Ok((recorder, outputs, counts))
    }

    /// What cannot be kept is not recorded.
    fn check_room(self, run: Run, notes: Notes) -> Result<Option<Run>> {
        let bytes = run.bytes() + REST;
        if bytes <= Run::MOST_BYTES {
            return Ok(Some(run));
        }
        let reason = format!(
            "how far a run is in {} takes up to {} with their names, of {} that are kept: give \
             fewer at a time, or begin in a folder with a shorter name",
            counted(run.places.len() as u64, "input"),
            counted(bytes, "byte"),
            grouped(Run::MOST_BYTES)
        );
        if self.mode == Mode::Resume {
            return Err(Failure::at("--resume", reason));
        }
        notes.say(format_args!("this run cannot be resumed if it is interrupted: {reason}"));
        Ok(None)
    }
}

/// Gives a run the names that its files have now.
fn rename(run: &mut Run, files: Vec<JobFile>, notes: Notes) {
    for (place, (_, path)) in
        run.places.iter_mut().zip(files).filter(|(place, (_, path))| place.path != *path)
    {
        let (new, old) = (path.display(), place.path.display());
        notes.say(format_args!("{new}: is what the run knows as {old}, which it continues"));
        place.path = path;
    }
}

/// Notes that a run has not ended after all, if its inputs have grown.
fn reopen(runs: &mut Runs, number: u64) -> bool {
    let has_more = Remembered::all(runs)
        .any(|run| run.number == number && run.has_ended() && run.has_more_input());
    if let Some(run) = runs.get_mut(number).filter(|_| has_more) {
        run.has_ended = false;
    }
    has_more
}

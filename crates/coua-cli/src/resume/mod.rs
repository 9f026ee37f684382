//! Runs that can be resumed after an interruption, and outputs whose records a filter remembers.
//!
//! A checkpoint commits the filter together with the positions in inputs and outputs, which are in the filter's notes.
//! A resumed run reads its inputs again from the beginning, and skips the records that were done. So it works for
//! compressed inputs and all record formats, and inputs may have grown meanwhile.

mod positions;
mod recorder;
mod remembered;
mod run_plan;

pub(crate) use recorder::{Recorder, RunEnd};
pub(crate) use remembered::{list, write_report};
pub(crate) use run_plan::{Mode, ResumeJob, Undo};

use crate::filter::Counts;
use crate::output::Outputs;
use crate::runs::{JobSpec, Place, Run, Runs};
use crate::terminal::{Failure, Result, Verbosity, counted, grouped};
use coua_store::Notes as FilterNotes;
use recorder::{AfterEnd, SavedState};
use run_plan::{EarlierWork, Plan};
use std::time::Duration;

/// A run that begins or is resumed.
pub(crate) struct Started {
    /// The recorder, if the run has checkpoints.
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
    /// A run without checkpoints.
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
    /// The description of the run.
    pub(crate) spec: JobSpec,
    pub(crate) mode: Mode,
    /// The time between two checkpoints.
    pub(crate) every: Duration,
}

impl Checkpoints {
    /// Begins a run, or resumes the interrupted one. `runs` are those that the filter remembers.
    pub(crate) fn begin(&self, runs: &mut Runs, job: &ResumeJob<'_>) -> Result<Started> {
        match job.plan(self.mode, runs)? {
            Plan::Continue(earlier) => self.resume(runs, earlier, job),
            Plan::Start { forgotten } => self.start(runs, &forgotten, job),
        }
    }

    /// What to undo before the run begins.
    pub(crate) fn to_undo(&self, runs: &Runs, job: &ResumeJob<'_>) -> Result<Undo> {
        if self.mode == Mode::Restart { job.undo(runs) } else { Ok(Undo::default()) }
    }

    fn start(&self, runs: &mut Runs, forgotten: &[u64], job: &ResumeJob<'_>) -> Result<Started> {
        let is_resumable = job.obstacle.is_none() && self.check_room(&job.run, job.verbosity)?;
        let mut started = Started::new(Outputs::open(job.output_spec)?);
        let has_outputs = job.run.outputs().next().is_some();
        // Otherwise the same command would empty the outputs that it has written.
        let mut after_end = if has_outputs { AfterEnd::Kept } else { AfterEnd::Forgotten };
        for run in forgotten.iter().filter_map(|number| runs.remove(*number)) {
            after_end = after_end.max(SavedState::of(&run).after_end);
        }
        if self.mode == Mode::Resume {
            after_end = AfterEnd::Wanted;
        }
        started.must_commit = has_outputs && (is_resumable || !forgotten.is_empty());
        if is_resumable {
            let number = runs.add(job.run.clone());
            let places = &job.run.places;
            let mut recorder = self.recorder(Some(number), places, after_end, job);
            if has_outputs {
                recorder.record(runs, started.outputs.sync()?, &started.counts);
            }
            started.recorder = Some(recorder);
        } else if job.run.job.is_dedup() {
            // Records that were printed to a pipe must not be printed again, even if this process is killed. Other
            // commands would count a part twice if they cannot be resumed.
            let outputs = job.run.outputs().cloned().collect();
            let run = Run { has_ended: true, places: outputs, ..job.run.clone() };
            let is_noted = has_outputs && excess(&run).is_none();
            let number = is_noted.then(|| runs.add(run));
            started.recorder = Some(self.recorder(number, &[], after_end, job));
        }
        Ok(started)
    }

    fn resume(
        &self,
        runs: &mut Runs,
        earlier: EarlierWork,
        job: &ResumeJob<'_>,
    ) -> Result<Started> {
        let EarlierWork { run, number, replaced } = earlier;
        if number.is_none() {
            self.check_room(&run, job.verbosity)?;
        }
        let places: Vec<_> = run.outputs().cloned().collect();
        let outputs = Outputs::resume(&places, job.output_spec)?;
        let SavedState { counts, after_end } = SavedState::of(&run);
        let after_end = if self.mode == Mode::New { after_end } else { AfterEnd::Wanted };
        let (has_records, files) = (run.records > 0, run.places.clone());
        let mut has_changed = true;
        if let Some(known) = number.and_then(|number| runs.get_mut(number)) {
            has_changed = known.has_ended != run.has_ended;
            known.has_ended = run.has_ended;
        }
        let number = number.unwrap_or_else(|| {
            for number in replaced {
                runs.remove(number);
            }
            runs.add(Run { has_ended: false, ..run })
        });
        let recorder = self.recorder(Some(number), &files, after_end, job);
        let must_commit = !places.is_empty() && has_changed;
        Ok(Started { recorder: Some(recorder), outputs, counts, has_records, must_commit })
    }

    /// The recorder of the run with this number, whose inputs can be read again if there are `files`.
    fn recorder(
        &self,
        number: Option<u64>,
        files: &[Place],
        after_end: AfterEnd,
        job: &ResumeJob<'_>,
    ) -> Recorder {
        let format = job.output_spec.format.clone();
        Recorder::new(number, files, format, self.every, after_end, job.verbosity)
    }

    /// Whether a run is small enough to be recorded. Says so if it is not, or returns an error with `--resume`.
    fn check_room(&self, run: &Run, verbosity: Verbosity) -> Result<bool> {
        let Some(reason) = excess(run) else { return Ok(true) };
        if self.mode == Mode::Resume {
            return Err(Failure::at("--resume", reason));
        }
        verbosity.say(format_args!("this run cannot be resumed after an interruption: {reason}"));
        Ok(false)
    }
}

/// Why a run is too large to be recorded, if it is.
fn excess(run: &Run) -> Option<String> {
    let (bytes, files) = (run.bytes() + REST, run.places.len());
    if files > MOST_PLACES {
        Some(format!(
            "a run records the positions of at most {} files, not of {}; use fewer at a time",
            grouped(MOST_PLACES as u64),
            grouped(files as u64)
        ))
    } else if bytes > FilterNotes::MOST_BYTES {
        Some(format!(
            "the positions and names of {} take up to {}, but the limit is {}; use fewer at a time, \
             or a folder with a shorter name",
            counted(run.inputs().count() as u64, "input"),
            counted(bytes, "byte"),
            grouped(FilterNotes::MOST_BYTES)
        ))
    } else {
        None
    }
}

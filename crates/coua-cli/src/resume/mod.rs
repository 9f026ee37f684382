//! Runs that can be resumed after an interruption, and outputs whose records a filter remembers.
//!
//! A checkpoint commits the filter together with the positions in inputs and outputs, which are in the filter's notes.
//! A resumed run reads its inputs again from the beginning, and skips the records that were done. So it works for
//! compressed inputs and all record formats, and inputs may have grown meanwhile.

mod recorder;
mod run_plan;

pub(crate) use recorder::{Recorder, RunEnd};
pub(crate) use run_plan::{Mode, ResumeJob, ResumeOptions, Undo};

use crate::filter::Counts;
use crate::output::Outputs;
use crate::runs::{Place, Role, Run, Runs};
use crate::terminal::{Failure, Report, Result, counted, grouped};
use coua_store::Notes as FilterNotes;
use run_plan::{Plan, counts_of};
use serde_json::{Value, json};

/// A run that begins or is resumed.
pub(crate) struct Started {
    /// The recorder, if the run has options.
    pub(crate) recorder: Option<Recorder>,
    pub(crate) outputs: Outputs,
    /// The counters so far.
    pub(crate) counts: Counts,
    /// The runs must be committed before anything is written to the outputs.
    pub(crate) must_commit: bool,
}

impl Started {
    /// A run without options.
    pub(crate) fn new(outputs: Outputs) -> Self {
        let counts = Counts::default();
        Self { recorder: None, outputs, counts, must_commit: false }
    }
}

/// The most bytes of a run's state and its framing in the file.
const REST: u64 = 4096;
/// The most files of a run. The position of each is a note, and other runs have notes too.
const MOST_PLACES: usize = FilterNotes::MOST / 2;

impl ResumeJob<'_> {
    /// Begins the run, or resumes the interrupted one, as planned. `runs` are those that the filter remembers.
    pub(crate) fn begin(&self, runs: &mut Runs, plan: Plan) -> Result<Started> {
        let Plan { mut run, is_continued, number, replaced } = plan;
        let is_resumable =
            self.obstacle.is_none() && (number.is_some() || self.check_room(&run)?);
        let places: Vec<_> = run.outputs().cloned().collect();
        let outputs = if is_continued {
            Outputs::resume(&places, self.output_spec)?
        } else {
            Outputs::open(self.output_spec)?
        };
        let mut started = Started::new(outputs);
        runs.is_resumed = run.records > 0;
        let before = number.and_then(|number| runs.by_number.get(&number).cloned());
        started.counts = counts_of(&run);
        run.is_repeatable |= self.options.mode == Mode::Resume || !places.is_empty();
        let replaced = replaced.iter().filter_map(|number| runs.by_number.remove(number));
        let has_replaced = replaced.fold(false, |_, old| {
            run.is_repeatable |= old.is_repeatable;
            true
        });
        // Other commands would count a part twice if they cannot be resumed.
        if !is_resumable && !run.job.is_dedup() {
            started.must_commit = has_replaced;
            return Ok(started);
        }
        if !is_resumable {
            run.places.clone_from(&places);
        }
        let files = if is_resumable { run.places.clone() } else { Vec::new() };
        // Records that were printed to a pipe must not be printed again, even if this process is killed.
        let is_noted = is_resumable || !places.is_empty() && excess(&run).is_none();
        let number = is_noted.then(|| runs.add(number, run));
        let recorder = Recorder::new(number, &files, self);
        if !is_continued && !places.is_empty() {
            recorder.record(runs, started.outputs.sync()?, &started.counts);
        }
        let is_changed =
            number.map_or(has_replaced, |it| before.as_ref() != runs.by_number.get(&it));
        started.must_commit = !places.is_empty() && is_changed;
        started.recorder = Some(recorder);
        Ok(started)
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
    let (bytes, files) = (run.fixed_note().len() as u64 + REST, run.places.len());
    (files > MOST_PLACES || bytes > FilterNotes::MOST_BYTES).then(|| {
        format!(
            "the positions and names of {} take up to {}, but a filter remembers at most {} files and {} bytes of a \
             run; use fewer at a time, or a folder with a shorter name",
            counted(files as u64, "file"),
            counted(bytes, "byte"),
            grouped(MOST_PLACES as u64),
            grouped(FilterNotes::MOST_BYTES)
        )
    })
}

/// The most runs that a message lists.
const MOST_LISTED: usize = 10;

/// Adds the runs: unfinished ones first, and the newest first. The field names are part of the interface.
pub(crate) fn write_report(runs: &Runs, report: &mut Report) {
    let (ended, unended): (Vec<_>, Vec<_>) = runs.newest().partition(|run| run.has_ended);
    let objects: Vec<_> = unended.iter().chain(&ended).map(|run| object(run)).collect();
    for (run, object) in unended.iter().zip(&objects) {
        report.row("unfinished run", done(run));
        let obstacle = object["obstacle"].as_str().map(|it| format!("not possible: {it}"));
        let remedy = obstacle.unwrap_or_else(|| "the same command with --resume".to_owned());
        report.row("to resume it", remedy);
    }
    report.field("unfinished_run", objects.first().filter(|_| !unended.is_empty()).cloned());
    report.field("runs", objects);
    let ended = (!ended.is_empty()).then(|| {
        format!("{}, remembered for --resume (--json lists them)", grouped(ended.len() as u64))
    });
    report.row_if_any("ended runs", ended);
}

fn done(run: &Run) -> String {
    format!("{}, {} done", run.name(), counted(run.records, "record"))
}

/// The JSON of a run.
fn object(run: &Run) -> Value {
    json!({
        "command": run.job.command,
        "has_ended": run.has_ended,
        "records": run.records,
        "inputs": run.inputs().map(position).collect::<Vec<_>>(),
        "outputs": run.outputs().map(position).collect::<Vec<_>>(),
        // The reason why it cannot be resumed.
        "obstacle": obstacle(run),
    })
}

/// The position of a run in a file.
fn position(place: &Place) -> Value {
    let mut position = json!({"file": place.path.display().to_string(), "offset": place.offset});
    let found = place.path.metadata().ok().filter(|_| place.role == Role::Input);
    if let Some(found) = found {
        position["size"] = found.len().into();
    }
    position
}

fn obstacle(run: &Run) -> Option<String> {
    let is_stream = run.inputs().next().is_none();
    let stream = is_stream.then(|| "its input is read only once".to_owned());
    stream.or_else(|| {
        run.places.iter().find_map(|place| {
            let moved = place.check_length().err()?;
            Some(format!("{}: {moved}", place.path.display()))
        })
    })
}

/// The names of a filter's runs, for a message. `None` without runs.
pub(crate) fn list(runs: &Runs) -> Option<String> {
    let mut words: Vec<_> = runs.newest().take(MOST_LISTED).map(Run::name).collect();
    if runs.by_number.len() > MOST_LISTED {
        words.push(format!("{} more", runs.by_number.len() - MOST_LISTED));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

//! Decides about the remembered runs when a run begins.
//!
//! A job is known by its command, its options, and the names of its outputs. Of each input, the filter remembers under
//! its name how much was read, and checksums of that. So a job may get more inputs.

use crate::filter::Counts;
use crate::input::is_compressed;
use crate::output::OutputSpec;
use crate::platform::Identity;
use crate::runs::{CHANGED, Checksum, JobSpec, Place, Role, Run, Runs};
use crate::terminal::{Failure, Result, Verbosity, counted};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The beginning of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Begin at the start, unless that would damage the work of an earlier run.
    New,
    /// Begin where the same job stopped, if it is remembered.
    Resume,
    /// Begin at the start, after undoing the work of the same job.
    Restart,
}

/// The time between two options, unless another is given.
pub(super) const USUAL_TIME: Duration = Duration::from_secs(5);

/// The options for recording a run.
#[derive(Clone, Debug)]
pub(crate) struct ResumeOptions {
    /// The description of the run.
    pub(crate) spec: JobSpec,
    pub(crate) mode: Mode,
    /// The time between two options, if it is given.
    pub(crate) every: Option<Duration>,
}

impl ResumeOptions {
    /// The given option that only a run with a filter in a file can have.
    pub(crate) fn option(&self) -> Option<&'static str> {
        match self.mode {
            Mode::Resume => Some("--resume"),
            Mode::Restart => Some("--restart"),
            Mode::New => self.every_option(),
        }
    }

    /// The option for the time between options, if it is given.
    pub(crate) fn every_option(&self) -> Option<&'static str> {
        self.every.map(|_| "--checkpoint-every")
    }
}

/// The stored state of a run, apart from its places.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SavedState {
    /// The counters of the command.
    pub(super) counts: Counts,
    /// It had --resume, or made a checkpoint: it is remembered after its end, so that the same command with --resume
    /// does nothing.
    pub(super) is_repeatable: bool,
}

impl SavedState {
    /// The state of a run; the default for one that stored none.
    pub(super) fn of(run: &Run) -> Self {
        Self::deserialize(&run.state).unwrap_or_default()
    }

    /// Adds the state of another run of the same job.
    pub(super) fn add(&mut self, other: &Self) {
        self.counts.add(&other.counts);
        self.is_repeatable |= other.is_repeatable;
    }

    pub(super) fn value(&self) -> Value {
        json!(self)
    }
}

/// The runs to undo.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// Their numbers.
    pub(crate) runs: Vec<u64>,
    /// The outputs with the records that they added to the filter, up to these places.
    pub(crate) outputs: Vec<Place>,
}

/// A decision about the remembered runs.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Continue what earlier runs have done.
    Continue(EarlierWork),
    /// Start anew, and forget the runs with these numbers.
    Start { forgotten: Vec<u64> },
}

/// The work of earlier runs of a job.
#[derive(Debug)]
pub(crate) struct EarlierWork {
    /// The run that continues them.
    pub(super) run: Run,
    /// The number of the only one of them, if it has the same files.
    pub(super) number: Option<u64>,
    /// Those without other inputs, which the run replaces.
    pub(super) replaced: Vec<u64>,
}

/// A run that begins, for comparison with remembered runs.
#[derive(Debug)]
pub(crate) struct ResumeJob<'a> {
    /// The filter's name, for messages.
    filter: String,
    /// The run at its start.
    pub(super) run: Run,
    /// Why it can never be resumed, if so. It then has no inputs.
    pub(super) obstacle: Option<&'static str>,
    /// The options of the outputs.
    pub(super) output_spec: OutputSpec<'a>,
    pub(super) options: &'a ResumeOptions,
    pub(super) verbosity: Verbosity,
}

impl<'a> ResumeJob<'a> {
    /// `inputs` is `None` if one of them is not a file with a name.
    pub(crate) fn new(
        filter: String,
        options: &'a ResumeOptions,
        inputs: Option<Vec<PathBuf>>,
        output_spec: OutputSpec<'a>,
        verbosity: Verbosity,
    ) -> Self {
        let obstacle = if inputs.is_none() {
            Some("every input must be a named file, because it is read again")
        } else if !output_spec.to.are_files() {
            Some("every output must be a named file (-o), because it is truncated")
        } else {
            None
        };
        let inputs = inputs.filter(|_| obstacle.is_none()).unwrap_or_default();
        let inputs = inputs.iter().map(|path| Place::start(Role::Input, path));
        let places = inputs.chain(output_spec.to.file_places()).collect();
        let run = Run { job: options.spec.clone(), places, ..Run::default() };
        Self { filter, run, obstacle, output_spec, options, verbosity }
    }

    pub(crate) fn plan(&self, runs: &Runs) -> Result<Plan> {
        match self.options.mode {
            Mode::New => {
                if let Some(finished) = self.finished(runs) {
                    return Ok(Plan::Continue(finished));
                }
                self.check_start(runs)?;
            }
            Mode::Resume => {
                if let Some(reason) = self.obstacle {
                    return Err(Failure::at("--resume", reason));
                }
                if let Some(earlier) = self.earlier_work(runs)? {
                    return Ok(Plan::Continue(earlier));
                }
                runs.newest().try_for_each(|run| self.check_options(run))?;
                let mut outputs = self.run.outputs();
                outputs.try_for_each(|output| self.check_unknown(output, runs))?;
                self.check_start(runs)?;
            }
            Mode::Restart => {}
        }
        // If a run that has committed nothing were resumed later, it would cut what this run writes. The same run is
        // done anew, unless this one appends to what that one wrote.
        let is_same = |run: &Run| run.job == self.run.job && run.has_files_of(&self.run);
        let is_anew = |run: &Run| is_same(run) && !self.output_spec.to.appends;
        let is_forgotten = |run: &Run| is_anew(run) || self.begun_output(run).is_some();
        let forgotten = runs.by_number.iter().filter(|(_, run)| is_forgotten(run));
        Ok(Plan::Start { forgotten: forgotten.map(|(number, _)| *number).collect() })
    }

    /// Returns an error if a new run would do harm.
    fn check_start(&self, runs: &Runs) -> Result<()> {
        let filled = self.filled_outputs();
        runs.newest().find_map(|run| self.obstacle_to_start(run, &filled)).map_or(Ok(()), Err)
    }

    /// The outputs of new records with content that the run will empty.
    pub(crate) fn emptied(&self, plan: &Plan) -> Vec<PathBuf> {
        let run = match plan {
            Plan::Continue(earlier) => &earlier.run,
            Plan::Start { .. } if self.output_spec.to.appends => return Vec::new(),
            Plan::Start { .. } => &self.run,
        };
        let is_emptied = |place: &&Place| {
            place.role == Role::Output && place.offset == 0 && has_content(&place.path)
        };
        run.outputs().filter(is_emptied).map(|place| place.path.clone()).collect()
    }

    /// The refusal to empty an output because the filter remembers its records.
    pub(crate) fn refusal_to_empty(&self, output: &Path) -> Failure {
        let (filter, other) = (&self.filter, self.other_place());
        let reason = format!(
            "holds records that {filter} remembers, and would be emptied; append with --append, or {other}"
        );
        Failure::at(output.display(), reason)
    }

    /// The work of earlier runs of this job, if they are known. Returns an error if it cannot be continued.
    fn earlier_work(&self, runs: &Runs) -> Result<Option<EarlierWork>> {
        let has_job = |run: &Run| {
            run.job == self.run.job
                && paths(shared_outputs(run)).eq(paths(shared_outputs(&self.run)))
        };
        let same = runs.by_number.iter().rev();
        let same = same.filter(|(_, run)| has_job(run) && !has_come_to_nothing(run));
        let same: Vec<_> = same.map(|(number, run)| (*number, run)).collect();
        let mut known = HashMap::new();
        for (age, (_, run)) in same.iter().enumerate() {
            for (name, step) in steps(run) {
                known.entry(name).or_insert((age, step));
            }
        }
        let (mut inputs, mut outputs, mut used) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (name, step) in steps(&self.run) {
            let step = if let Some((age, step)) = known.get(&name) {
                used.insert(*age);
                self.check_step(step, same[*age].1)?;
                *step
            } else {
                step.1.map_or(Ok(()), |output| self.check_unknown(output, runs))?;
                step
            };
            inputs.push(step.0.clone());
            outputs.extend(step.1.cloned());
        }
        if used.is_empty() {
            return Ok(None);
        }
        let (_, newest) = same[0];
        for output in shared_outputs(newest) {
            self.check_output(output, newest)?;
            outputs.push(output.clone());
        }
        Ok(Some(self.continued(inputs, outputs, &used, &same)))
    }

    /// The progress to these places, which some of the runs of the same job have made.
    fn continued(
        &self,
        inputs: Vec<Place>,
        outputs: Vec<Place>,
        used: &BTreeSet<usize>,
        same: &[(u64, &Run)],
    ) -> EarlierWork {
        let mut states = used.iter().map(|age| SavedState::of(same[*age].1));
        let mut state = states.next().unwrap_or_default();
        states.for_each(|other| state.add(&other));
        let records = inputs.iter().map(|input| input.records).sum();
        let has_more = inputs.iter().any(|input| input.bytes_after() > 0);
        let run = Run {
            has_ended: !has_more && used.iter().all(|age| same[*age].1.has_ended),
            records,
            state: state.value(),
            places: inputs.into_iter().chain(outputs).collect(),
            ..self.run.clone()
        };
        let is_only = used.iter().eq(&[0_usize]) && same[0].1.has_files_of(&run);
        let ours: HashSet<_> = steps(&run).map(|(name, _)| name).collect();
        let is_covered = |other: &Run| steps(other).all(|(name, _)| ours.contains(&name));
        let replaced = same.iter().filter(|(_, other)| is_covered(other));
        let replaced = replaced.map(|(number, _)| *number).collect();
        EarlierWork { number: is_only.then_some(same[0].0), replaced, run }
    }

    /// The progress of the same job, if nothing is left to do, and its outputs hold the results.
    fn finished(&self, runs: &Runs) -> Option<EarlierWork> {
        let has_outputs = self.run.outputs().next().is_some();
        if self.obstacle.is_some() || self.output_spec.to.appends || !has_outputs {
            return None;
        }
        let done = self.earlier_work(runs).ok()??;
        done.number.filter(|_| done.run.has_ended)?;
        let again = if self.run.job.is_dedup() { " (--restart does it again)" } else { "" };
        let name = done.run.name();
        self.verbosity.say(format_args!("{name}: is finished already; nothing to do{again}"));
        Some(done)
    }

    /// The first of the outputs that a run has begun to write without committing anything.
    fn begun_output<'r>(&self, run: &'r Run) -> Option<&'r Place> {
        let mut outputs = run.outputs().filter(|_| run.has_only_begun()).peekable();
        outputs.peek()?;
        let ours: HashSet<_> = paths(self.run.outputs()).collect();
        outputs.find(|place| ours.contains(&*place.path))
    }

    /// The outputs with content.
    fn filled_outputs(&self) -> Filled<'_> {
        let filled = paths(self.run.outputs()).filter(|path| has_content(path));
        filled.filter_map(|path| Some((Identity::at(path)?, path))).collect()
    }

    /// The harm that a new run would do: it would empty an output whose records the filter remembers, append to one
    /// whose run can be resumed, or count records twice.
    fn obstacle_to_start(&self, run: &Run, filled: &Filled<'_>) -> Option<Failure> {
        let (name, appends) = (run.name(), self.output_spec.to.appends);
        let is_kept = run.is_interrupted() || run.job.is_dedup() && !appends;
        let held = held_output(run, filled).filter(|_| is_kept);
        let begun = self.begun_output(run).filter(|it| appends && it.bytes_after() > 0);
        if let Some(path) = held.or(begun.map(|place| &*place.path)) {
            let (what, way) = match () {
                () if !run.has_ended => ("an interrupted ", "continue that run with --resume, or "),
                () if self.is_folder() => ("", "choose another folder, or "),
                () if self.run.job.is_dedup() => ("", "append with --append, or "),
                () => ("", ""),
            };
            let reason = format!("holds the output of {what}{name}; {way}{}", self.other_way());
            return Some(Failure::at(path.display(), reason));
        }
        let is_same = run.job == self.run.job && run.has_files_of(&self.run);
        let is_again = is_same && run.is_interrupted() && run.job.counts();
        (is_again && run.inputs().all(|input| check_input(input).is_ok())).then(|| {
            let records = counted(run.records, "record");
            let reason = format!(
                "an interrupted {name} has done {records}, which would count twice; continue with --resume"
            );
            Failure::at(&self.filter, reason)
        })
    }

    fn other_place(&self) -> &'static str {
        if self.is_folder() { "choose another folder" } else { "choose another output" }
    }

    fn is_folder(&self) -> bool {
        self.run.job.has("output-dir")
    }

    /// The advice for starting the job over.
    fn other_way(&self) -> &'static str {
        if self.run.job.is_dedup() && !self.output_spec.to.appends {
            "start over with --restart"
        } else if self.run.outputs().next().is_some() {
            "choose another output"
        } else {
            "leave out --resume to process all records"
        }
    }

    /// The work to undo before the run begins. Returns an error if the effects on the filter are uncertain.
    pub(crate) fn to_undo(&self, runs: &Runs) -> Result<Undo> {
        let (mut undo, mut last) = (Undo::default(), BTreeMap::new());
        if self.options.mode != Mode::Restart {
            return Ok(undo);
        }
        let is_same =
            |run: &Run| run.job.command == self.run.job.command && run.has_files_of(&self.run);
        let failed = |run: &Run, obstacle: &str| {
            let reason = format!("--restart: cannot undo {}: {obstacle}", run.name());
            Failure::at(&self.filter, reason)
        };
        let filled = self.filled_outputs();
        for (number, run) in &runs.by_number {
            if !is_same(run) && held_output(run, &filled).is_none() {
                continue;
            }
            self.check_undoable(run).map_err(|obstacle| failed(run, obstacle))?;
            undo.runs.push(*number);
            // Of several runs with one output, the last one has it all.
            let outputs = run.outputs().filter(|place| place.role == Role::Output);
            for place in outputs.filter(|place| place.offset > 0 && run.records > 0) {
                last.insert(&place.path, (run, place));
            }
        }
        for (run, place) in last.into_values() {
            let path = place.path.display();
            place.check().map_err(|moved| failed(run, &format!("{path}: {moved}")))?;
            let added = place.bytes_after();
            if run.has_ended && added > 0 {
                let added = counted(added, "byte");
                let reason = format!("{path} has {added} more than the run wrote");
                return Err(failed(run, &reason));
            }
            undo.outputs.push(place.clone());
        }
        Ok(undo)
    }

    fn check_undoable(&self, run: &Run) -> Result<(), &'static str> {
        let is_in_output = run.outputs().any(|place| place.role == Role::Output);
        if run.records == 0 {
            Ok(())
        } else if run.job != self.run.job {
            Err("it had other options; use the same, or choose another output")
        } else if is_in_output && run.job.is_dedup() && !run.job.has("repeats") {
            Ok(())
        } else {
            Err("no output holds the records that it changed")
        }
    }

    /// Returns an error if an input, or its own output, no longer begins with what was processed. Reads compressed
    /// inputs completely.
    fn check_step(&self, step: &JobStep<'_>, of: &Run) -> Result<()> {
        let (input, output) = *step;
        check_input(input).map_err(|moved| self.moved(input, &moved))?;
        output.map_or(Ok(()), |output| self.check_output(output, of))
    }

    /// Returns an error if an output does not hold what was written, or others have added to it.
    fn check_output(&self, output: &Place, of: &Run) -> Result<()> {
        output.check().map_err(|moved| self.moved(output, &moved))?;
        // An interrupted run may have written more, which is written again. An ended run has not.
        let added = output.bytes_after();
        if !of.has_ended || added == 0 {
            return Ok(());
        }
        let reason = format!(
            "--resume: has {} more than the finished run wrote, which would be lost; choose another output",
            counted(added, "byte")
        );
        Err(Failure::at(output.path.display(), reason))
    }

    fn moved(&self, place: &Place, moved: &str) -> Failure {
        let reason = format!("--resume: {moved}; restore it, or {}", self.other_way());
        Failure::at(place.path.display(), reason)
    }

    /// Returns an error if an interrupted run of the same files had other options: that run is probably meant.
    fn check_options(&self, run: &Run) -> Result<()> {
        if !run.is_interrupted() || !run.has_files_of(&self.run) {
            return Ok(());
        }
        run.job.first_difference(&self.run.job).map_or(Ok(()), |option| {
            let reason = format!(
                "--{option} differs from the interrupted {}; use the same options",
                run.name()
            );
            Err(Failure::at("--resume", reason))
        })
    }

    /// Returns an error if an output has content of which no run is known: it may be of this job, but was done with
    /// another filter.
    fn check_unknown(&self, output: &Place, runs: &Runs) -> Result<()> {
        let is_begun = |run: &Run| {
            run.has_only_begun() && run.outputs().any(|place| place.path == output.path)
        };
        if self.output_spec.to.appends || !has_content(&output.path) || runs.newest().any(is_begun)
        {
            return Ok(());
        }
        let way = if self.is_folder() {
            "choose another folder"
        } else {
            "append with --append, or choose another output"
        };
        let reason = format!(
            "--resume: the filter remembers no run with these inputs and options that wrote this file; {way}"
        );
        Err(Failure::at(output.path.display(), reason))
    }
}

/// Outputs with content.
type Filled<'p> = HashMap<Identity, &'p Path>;

/// The first of these outputs that holds what a run has written, whatever its name.
fn held_output<'p>(run: &Run, filled: &Filled<'p>) -> Option<&'p Path> {
    let written = run.outputs().filter(|place| place.offset > 0 && run.records > 0);
    let mut files = written.filter(|_| !filled.is_empty()).filter_map(|it| Identity::at(&it.path));
    files.find_map(|file| filled.get(&file).copied())
}

/// Returns the reason if an input does not begin with what was processed.
fn check_input(input: &Place) -> Result<(), String> {
    input.check()?;
    // The text was too short to be recognized as the beginning of compressed data.
    let was_text = matches!(input.sum, Checksum::Ends(_)) && input.offset > 0;
    let is_compressed = was_text && is_compressed(&input.path).unwrap_or(false);
    if is_compressed { Err(CHANGED.to_owned()) } else { Ok(()) }
}

/// An input, and the output that belongs to it alone, if there is one.
type JobStep<'r> = (&'r Place, Option<&'r Place>);

/// The names of its files, and how often the same input was named before.
type JobStepName<'r> = (&'r Path, Option<&'r Path>, usize);

fn steps(run: &Run) -> impl Iterator<Item = (JobStepName<'_>, JobStep<'_>)> {
    let mut outputs = run.outputs().filter(|_| run.job.has("output-dir"));
    let mut times = HashMap::new();
    run.inputs().map(move |input| {
        let (output, time) = (outputs.next(), times.entry(&*input.path).or_insert(0));
        *time += 1;
        ((&*input.path, output.map(|place| &*place.path), *time), (input, output))
    })
}

/// The outputs that do not belong to one input.
fn shared_outputs(run: &Run) -> impl Iterator<Item = &Place> {
    let own = if run.job.has("output-dir") { run.inputs().count() } else { 0 };
    run.outputs().skip(own)
}

fn paths<'r>(places: impl Iterator<Item = &'r Place>) -> impl Iterator<Item = &'r Path> {
    places.map(|place| &*place.path)
}

/// Whether a run has committed nothing, and its files have changed since.
fn has_come_to_nothing(run: &Run) -> bool {
    run.has_only_begun() && run.places.iter().any(|place| place.check().is_err())
}

fn has_content(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0)
}

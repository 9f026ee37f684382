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
use serde::Deserialize;
use serde_json::json;
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

/// The runs to undo.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    /// Their numbers.
    pub(crate) runs: Vec<u64>,
    /// The outputs with the records that these runs added to the filter, up to these places.
    pub(crate) outputs: Vec<(Run, Place)>,
}

/// How the run begins.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The run at its start, or where earlier runs of the job have come to.
    pub(crate) run: Run,
    /// It continues what earlier runs have done.
    pub(crate) is_continued: bool,
    /// The number of the only one of them, if it has the same files.
    pub(super) number: Option<u64>,
    /// The numbers of runs that it replaces.
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
                    return Ok(finished);
                }
                self.check_start(runs)?;
            }
            Mode::Resume => {
                if let Some(reason) = self.obstacle {
                    return Err(Failure::at("--resume", reason));
                }
                if let Some(earlier) = self.earlier_work(runs)? {
                    return Ok(earlier);
                }
                runs.newest().try_for_each(|run| self.check_options(run))?;
                let mut outputs = self.run.outputs();
                outputs.try_for_each(|output| self.check_unknown(output))?;
                self.check_start(runs)?;
            }
            Mode::Restart => {}
        }
        // The same run is done anew, unless this one appends to what that one wrote. If an unfinished run were resumed
        // later, it would cut what this run writes.
        let is_anew = |run: &Run| self.is_same(run) && !self.output_spec.to.appends;
        let is_replaced =
            |run: &Run| is_anew(run) || !run.has_ended && self.shared(run).next().is_some();
        let replaced = runs.by_number.iter().filter(|(_, run)| is_replaced(run));
        let replaced = replaced.map(|(number, _)| *number).collect();
        Ok(Plan { run: self.run.clone(), is_continued: false, number: None, replaced })
    }

    /// Whether a run has the job and the files of this one.
    fn is_same(&self, run: &Run) -> bool {
        run.job == self.run.job && run.has_files_of(&self.run)
    }

    /// The outputs of a run that are also outputs of this one, whatever their names.
    fn shared<'r>(&self, run: &'r Run) -> impl Iterator<Item = &'r Place> {
        let file = |place: &Place| Identity::at(&place.path).ok_or_else(|| place.path.clone());
        let ours: HashSet<_> = self.run.outputs().map(file).collect();
        run.outputs().filter(move |place| ours.contains(&file(place)))
    }

    /// Returns an error if a new run would do harm to an unfinished one, or empty what another one has written.
    fn check_start(&self, runs: &Runs) -> Result<()> {
        let mut unfinished = runs.newest().filter(|run| !run.has_ended);
        unfinished
            .try_for_each(|run| self.check_output_of(run).and_then(|()| self.check_again(run)))?;
        let ended = runs.newest().filter(|run| run.has_ended && run.job.is_dedup());
        let is_whole = |place: &&Place| place.offset > 0 && place.check_length().is_ok();
        let held = ended.flat_map(|run| self.shared(run)).find(is_whole);
        let emptied = held.filter(|_| !self.output_spec.to.appends);
        emptied.map_or(Ok(()), |place| Err(self.refusal_to_empty(&place.path)))
    }

    /// Returns an error if this run would empty or continue the output of an unfinished one.
    fn check_output_of(&self, run: &Run) -> Result<()> {
        let (appends, is_stream) = (self.output_spec.to.appends, run.inputs().next().is_none());
        let is_harmed = |place: &&Place| {
            let goes_on = appends && is_stream || place.offset == 0;
            has_content(&place.path) && !goes_on || appends && place.bytes_after() > 0
        };
        let Some(place) = self.shared(run).find(is_harmed) else { return Ok(()) };
        let name = run.name();
        let reason = if is_stream && appends {
            format!(
                "the filter does not know {} at its end, which an interrupted {name} wrote; cut them off with \
                 `truncate -s {} FILE` and process their records again, or choose another output",
                counted(place.bytes_after(), "byte"),
                place.offset
            )
        } else {
            let way =
                if is_stream { "append with --append" } else { "continue that run with --resume" };
            let other = self.other_way();
            format!("holds the output of an interrupted {name}; {way}, or {other}")
        };
        Err(Failure::at(place.path.display(), reason))
    }

    /// Returns an error if this run would count records twice that the same run has done.
    fn check_again(&self, run: &Run) -> Result<()> {
        let is_again = self.is_same(run) && run.records > 0 && run.job.counts();
        if !is_again || run.inputs().any(|input| check_input(input).is_err()) {
            return Ok(());
        }
        let (name, records) = (run.name(), counted(run.records, "record"));
        let reason = format!(
            "an interrupted {name} has done {records}, which would count twice; continue with --resume"
        );
        Err(Failure::at(&self.filter, reason))
    }

    /// The outputs with content that the run will empty. Those of repeats hold nothing that a run which starts over
    /// takes out of the filter.
    pub(crate) fn emptied(&self, plan: &Plan) -> Vec<Place> {
        if self.output_spec.to.appends && !plan.is_continued {
            return Vec::new();
        }
        let restarts = self.options.mode == Mode::Restart;
        let is_kept = |place: &&Place| !(restarts && place.role == Role::Repeats);
        let is_emptied = |place: &&Place| place.offset == 0 && has_content(&place.path);
        plan.run.outputs().filter(is_kept).filter(is_emptied).cloned().collect()
    }

    /// The refusal to empty an output because the filter remembers its records.
    pub(crate) fn refusal_to_empty(&self, output: &Path) -> Failure {
        let way = if self.options.mode == Mode::Restart || !self.run.job.is_dedup() {
            "choose another output".to_owned()
        } else if self.is_folder() {
            format!("choose another folder, or {}", self.other_way())
        } else {
            format!("append with --append, or {}", self.other_way())
        };
        let reason =
            format!("holds records that {} remembers, and would be emptied; {way}", self.filter);
        Failure::at(output.display(), reason)
    }

    /// The work of earlier runs of this job, if they are known. Returns an error if it cannot be continued.
    fn earlier_work(&self, runs: &Runs) -> Result<Option<Plan>> {
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
            let step = if let Some((age, earlier)) = known.get(&name) {
                used.insert(*age);
                self.check_step(&step, earlier, same[*age].1)?;
                *earlier
            } else {
                step.1.map_or(Ok(()), |output| self.check_unknown(output))?;
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
    ) -> Plan {
        let used_runs = || used.iter().map(|age| same[*age].1);
        let counts = used_runs().map(counts_of).reduce(|mut sum, counts| {
            sum.add(&counts);
            sum
        });
        let records = inputs.iter().map(|input| input.records).sum();
        let has_more = inputs.iter().any(|input| input.bytes_after() > 0);
        let mut run = Run {
            has_ended: false,
            records,
            is_repeatable: used_runs().any(|run| run.is_repeatable),
            counts: json!(counts),
            places: inputs.into_iter().chain(outputs).collect(),
            ..self.run.clone()
        };
        let is_only = used.iter().eq(&[0_usize]) && same[0].1.has_files_of(&run);
        run.has_ended = is_only && !has_more && same[0].1.has_ended;
        let ours: HashSet<_> = steps(&run).map(|(name, _)| name).collect();
        let is_covered = |other: &Run| steps(other).all(|(name, _)| ours.contains(&name));
        let replaced = same.iter().filter(|(_, other)| is_covered(other));
        let replaced = replaced.map(|(number, _)| *number).collect();
        Plan { number: is_only.then_some(same[0].0), is_continued: true, replaced, run }
    }

    /// The progress of the same job, if nothing is left to do, and its outputs hold the results.
    fn finished(&self, runs: &Runs) -> Option<Plan> {
        let has_outputs = self.run.outputs().next().is_some();
        if self.obstacle.is_some() || self.output_spec.to.appends || !has_outputs {
            return None;
        }
        let Ok(earlier) = self.earlier_work(runs) else {
            self.tell_of_lost_output(runs);
            return None;
        };
        let done = earlier.filter(|done| done.run.has_ended)?;
        let again = if self.run.job.is_dedup() { " (--restart does it again)" } else { "" };
        let name = done.run.name();
        self.verbosity.say(format_args!("{name}: is finished already; nothing to do{again}"));
        Some(done)
    }

    /// Says so if this run has finished before, and its output is gone: nothing will be printed again.
    fn tell_of_lost_output(&self, runs: &Runs) {
        let mut finished = runs.newest().filter(|run| run.has_ended && self.is_same(run));
        let Some(run) = finished.next() else { return };
        let is_done = |input: &Place| input.bytes_after() == 0 && check_input(input).is_ok();
        if !run.inputs().all(is_done) {
            return;
        }
        let is_lost = |place: &&Place| place.offset > 0 && !has_content(&place.path);
        if let Some(lost) = run.outputs().find(is_lost) {
            let (name, filter, lost) = (run.name(), &self.filter, lost.path.display());
            self.verbosity.say(format_args!(
                "{name}: has finished before, and its output {lost} is gone; what {filter} remembers of it is not \
                 printed again"
            ));
        }
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
        let failed = |run: &Run, obstacle: &str| {
            let reason = format!("--restart: cannot undo {}: {obstacle}", run.name());
            Failure::at(&self.filter, reason)
        };
        for (number, run) in &runs.by_number {
            let is_filled = self.shared(run).any(|place| has_content(&place.path));
            if !is_filled && !run.has_files_of(&self.run) {
                continue;
            }
            self.check_undoable(run).map_err(|obstacle| failed(run, obstacle))?;
            undo.runs.push(*number);
            // Of several runs with one output, the last one has it all.
            for place in run.outputs().filter(|place| place.role == Role::Output) {
                if place.offset > 0 && run.records > 0 {
                    last.insert(&place.path, (run, place));
                } else if !run.has_ended && has_content(&place.path) {
                    // It has no checkpoint, and nothing in the filter.
                    last.entry(&place.path).or_insert((run, place));
                }
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
            undo.outputs.push((run.clone(), place.clone()));
        }
        Ok(undo)
    }

    fn check_undoable(&self, run: &Run) -> Result<(), &'static str> {
        let is_in_output = run.outputs().any(|place| place.role == Role::Output);
        if run.records == 0 {
            Ok(())
        } else if run.job != self.run.job {
            Err("it had other options; use the same, or choose another output")
        } else if is_in_output && run.prints_new() {
            Ok(())
        } else {
            Err("no output holds the records that it changed")
        }
    }

    /// Returns an error if an input, or its own output, no longer begins with what an earlier run processed, or has
    /// another output now. Reads compressed inputs completely.
    fn check_step(&self, step: &JobStep<'_>, earlier: &JobStep<'_>, of: &Run) -> Result<()> {
        let (input, output) = *earlier;
        check_input(input).map_err(|moved| self.moved(input, &moved))?;
        let Some((output, new)) = output.zip(step.1) else { return Ok(()) };
        if output.path == new.path {
            return self.check_output(output, of);
        }
        let reason = format!(
            "--resume: its output was {}, and would be {} with these inputs; choose another folder for those of \
             other folders",
            output.path.display(),
            new.path.display()
        );
        Err(Failure::at(input.path.display(), reason))
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
        if run.has_ended || run.records == 0 || !run.has_files_of(&self.run) {
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
    fn check_unknown(&self, output: &Place) -> Result<()> {
        if self.output_spec.to.appends || !has_content(&output.path) {
            return Ok(());
        }
        let way = if self.is_folder() {
            "choose another folder"
        } else {
            "append with --append, choose another output, or give an interrupted --restart again"
        };
        let reason = format!(
            "--resume: the filter remembers no run with these inputs and options that wrote this file; {way}"
        );
        Err(Failure::at(output.path.display(), reason))
    }
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

/// The name of its input, and how often the same input was named before.
type JobStepName<'r> = (&'r Path, usize);

fn steps(run: &Run) -> impl Iterator<Item = (JobStepName<'_>, JobStep<'_>)> {
    let mut outputs = run.outputs().filter(|_| run.job.has("output-dir"));
    let mut times = HashMap::new();
    run.inputs().map(move |input| {
        let (output, time) = (outputs.next(), times.entry(&*input.path).or_insert(0));
        *time += 1;
        ((&*input.path, *time), (input, output))
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

/// The counters of a run.
pub(super) fn counts_of(run: &Run) -> Counts {
    Counts::deserialize(&run.counts).unwrap_or_default()
}

/// Whether a run has committed nothing, and its files have changed since.
fn has_come_to_nothing(run: &Run) -> bool {
    !run.has_ended && run.records == 0 && run.places.iter().any(|place| place.check().is_err())
}

fn has_content(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.len() > 0)
}

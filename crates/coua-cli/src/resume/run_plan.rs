//! Decides about the remembered runs when a run begins.
//!
//! A job is known by its command, its options, and the names of its outputs. Of each input, the filter remembers under
//! its name how much was read, and checksums of that. So a job may get more inputs.

use crate::filter::{Counts, Profile};
use crate::input::{Coding, Means, bytes_from, compression_of};
use crate::output::{OutputSpec, STANDARD_OUTPUT, has_content};
use crate::platform::Identity;
use crate::runs::{CHANGED, Checksum, JobSpec, Place, Run, Runs, have_same_paths};
use crate::terminal::{Failure, Result, Verbosity, counted};
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The beginning of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Begin at the start, unless that would damage the work of an earlier run.
    New,
    /// Begin where the same job stopped, if it is remembered.
    Resume,
}

/// The time between two checkpoints, unless another is given.
pub(super) const USUAL_TIME: Duration = Duration::from_secs(5);

/// The options for recording a run.
#[derive(Clone, Debug)]
pub(crate) struct ResumeOptions {
    /// The description of the run.
    pub(crate) spec: JobSpec,
    pub(crate) mode: Mode,
    /// The time between two checkpoints, if it is given.
    pub(crate) every: Option<Duration>,
}

impl ResumeOptions {
    /// The given option that only a run with a filter in a file can have.
    pub(crate) fn option(&self) -> Option<&'static str> {
        match self.mode {
            Mode::Resume => Some("--resume"),
            Mode::New => self.every.map(|_| "--checkpoint-every"),
        }
    }
}

/// How the run begins.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// The run at its start, or where earlier runs of the job have come to.
    pub(crate) run: Run,
    /// The run continues what earlier runs have done.
    pub(crate) is_continued: bool,
    /// The numbers of runs that it replaces.
    pub(super) replaced: Vec<u64>,
}

/// A run that begins, for comparison with remembered runs.
pub(crate) struct ResumeJob<'a> {
    filter: &'a Profile,
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
        filter: &'a Profile,
        options: &'a ResumeOptions,
        inputs: Option<Vec<PathBuf>>,
        output_spec: OutputSpec<'a>,
        verbosity: Verbosity,
    ) -> Self {
        let are_files = output_spec.to.are_files();
        let obstacle = match inputs {
            None => Some("every input must be a named file, because it is read again"),
            _ if are_files => None,
            _ => Some("every output must be a named file (-o), because it is truncated"),
        };
        let inputs = inputs.filter(|_| obstacle.is_none()).unwrap_or_default();
        let inputs = inputs.iter().map(|path| Place::start(path)).collect();
        let (job, outputs) = (options.spec.clone(), output_spec.to.file_places());
        let run = Run { job, inputs, outputs, ..Run::default() };
        Self { filter, run, obstacle, output_spec, options, verbosity }
    }

    /// How the run begins. Returns an error if it must not begin.
    pub(crate) fn plan(&self, runs: &Runs) -> Result<Plan> {
        let earlier = match self.options.mode {
            Mode::New => self.finished(runs),
            Mode::Resume => self.earlier_work(runs)?,
        };
        if let Some(earlier) = earlier {
            return Ok(earlier);
        }
        runs.newest().try_for_each(|run| self.check_again(run))?;
        self.check_outputs(runs)?;
        // The same run is done anew, unless this one appends to what that one wrote. If an unfinished run were resumed
        // later, it would cut what this run writes.
        let is_anew = |run: &Run| self.is_same(run) && !self.output_spec.to.appends;
        let ours: HashSet<_> = self.run.outputs.iter().map(file).collect();
        let shares = |run: &Run| run.outputs.iter().any(|place| ours.contains(&file(place)));
        let is_replaced = |run: &Run| is_anew(run) || !run.has_ended && shares(run);
        let replaced = runs.by_number.iter().filter(|(_, run)| is_replaced(run));
        replaced
            .clone()
            .filter(|(_, run)| !run.has_ended)
            .for_each(|(_, run)| self.tell_of_lost(run));
        let replaced = replaced.map(|(number, _)| *number).collect();
        Ok(Plan { run: self.run.clone(), is_continued: false, replaced })
    }

    /// Whether a run has the job and the files of this one.
    fn is_same(&self, run: &Run) -> bool {
        run.job == self.run.job && run.has_files_of(&self.run)
    }

    /// Returns an error if a new run would empty an output, or append to that of an interrupted run.
    pub(crate) fn check_outputs(&self, runs: &Runs) -> Result<()> {
        let standard = Place::start(Path::new(STANDARD_OUTPUT));
        let mut outputs = self.run.outputs.iter().chain([&standard]);
        outputs.try_for_each(|output| self.check_content(output, runs))
    }

    /// Whether the run keeps the content of an output. If standard output has content, the shell has opened it with `>>`.
    fn appends_to(&self, output: &Place) -> bool {
        self.output_spec.to.appends || output.path == Path::new(STANDARD_OUTPUT)
    }

    /// Returns an error if an output has content that must be kept.
    fn check_content(&self, output: &Place, runs: &Runs) -> Result<()> {
        let place_in = |run: &Run| run.outputs.iter().find(|it| file(it) == file(output)).cloned();
        let mut unfinished = runs.newest().filter(|run| !run.has_ended);
        let interrupted = unfinished.find_map(|run| Some((run, place_in(run)?)));
        let is_kept = match (&interrupted, self.appends_to(output)) {
            (Some((run, place)), true) => !run.is_stream() || place.bytes_after() > 0,
            (None, true) => false,
            // With --resume, the output may be of this job, but with another filter.
            (_, false) => self.filter.items > 0 || self.options.mode == Mode::Resume,
        };
        let is_harmed = is_kept && has_content(&output.path);
        if is_harmed { Err(self.kept(output, interrupted)) } else { Ok(()) }
    }

    /// The failure for an output with content that must be kept. `interrupted` is the run that wrote it, up to a place.
    fn kept(&self, output: &Place, interrupted: Option<(&Run, Place)>) -> Failure {
        let (filter, job) = (&self.filter.name, &self.run.job);
        let appends = self.appends_to(output);
        let resumes = interrupted.as_ref().is_some_and(|(run, _)| !run.is_stream());
        let (what, mut ways) = match interrupted {
            Some((run, place)) if appends && !resumes => {
                let (bytes, run) = (counted(place.bytes_after(), "byte"), run.name());
                let cut = format!(
                    "cut them off with `truncate -s {} FILE` and process their records again, ",
                    place.offset
                );
                let what = "at its end, which an interrupted";
                (format!("{filter} does not know {bytes} {what} {run} wrote"), cut)
            }
            Some((run, _)) => {
                (format!("holds the output of an interrupted {}", run.name()), String::new())
            }
            None if self.options.mode == Mode::Resume => {
                let what = "--resume: no run with these inputs and options wrote this file";
                (what.to_owned(), String::new())
            }
            None => (format!("is not emptied, because {filter} holds items"), String::new()),
        };
        if resumes {
            ways += "continue that run with --resume, ";
        } else if !appends && !job.has("output-dir") {
            ways += "append with --append, ";
        }
        let or = if ways.is_empty() { "" } else { "or " };
        Failure::at(output.path.display(), format!("{what}; {ways}{or}move the file away"))
    }

    /// Returns an error if this run would count records twice that the same run has done.
    fn check_again(&self, run: &Run) -> Result<()> {
        let is_again = !run.has_ended && self.is_same(run) && run.records > 0 && run.job.counts();
        if !is_again || run.inputs.iter().any(|input| check_input(input).is_err()) {
            return Ok(());
        }
        let (name, records) = (run.name(), counted(run.records, "record"));
        let reason = format!(
            "an interrupted {name} has done {records}, which would count twice; continue with --resume"
        );
        Err(Failure::at(&self.filter.name, reason))
    }

    /// The work of earlier runs of this job, if they are known. Returns an error if it cannot be continued.
    fn earlier_work(&self, runs: &Runs) -> Result<Option<Plan>> {
        if let Some(reason) = self.obstacle {
            return Err(Failure::at("--resume", reason));
        }
        let same = self.same_job(runs);
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
                Self::check_step(&step, earlier, same[*age].1)?;
                *earlier
            } else {
                step.1.map_or(Ok(()), |output| self.check_content(output, runs))?;
                step
            };
            inputs.push(step.0.clone());
            outputs.extend(step.1.cloned());
        }
        if used.is_empty() {
            runs.newest().try_for_each(|run| self.check_options(run))?;
            return Ok(None);
        }
        let (_, newest) = same[0];
        for output in shared_outputs(newest) {
            // Other jobs may have written to it after this one.
            let all = runs.newest().flat_map(|run| run.outputs.iter().map(move |it| (it, run)));
            let last = all.filter(|(it, _)| is_behind(output, it)).max_by_key(|(it, _)| it.offset);
            let (last, run) = last.unwrap_or((output, newest));
            Self::check_output(last, run)?;
            outputs.push(Place { path: output.path.clone(), ..last.clone() });
        }
        Ok(Some(self.continued(inputs, outputs, &used, &same)))
    }

    /// The runs of this job, the newest first: outputs that belong to one input may be others.
    fn same_job<'r>(&self, runs: &'r Runs) -> Vec<(&'r u64, &'r Run)> {
        let has_job = |run: &Run| {
            let [ours, theirs] = [&self.run, run].map(shared_outputs);
            run.job == self.run.job && have_same_paths(ours, theirs)
        };
        runs.by_number.iter().rev().filter(|(_, run)| has_job(run)).collect()
    }

    /// The progress to these places, which some of the runs of the same job have made.
    fn continued(
        &self,
        inputs: Vec<Place>,
        outputs: Vec<Place>,
        used: &BTreeSet<usize>,
        same: &[(&u64, &Run)],
    ) -> Plan {
        let counts = used.iter().map(|age| counts_of(same[*age].1)).reduce(Counts::and);
        let records = inputs.iter().map(|input| input.records).sum();
        let has_more = inputs.iter().any(|input| input.bytes_after() > 0);
        let mut run = Run { records, counts: json!(counts), inputs, outputs, ..self.run.clone() };
        run.others_print = used.iter().any(|age| same[*age].1.others_print);
        let newest = same[0].1;
        run.has_ended = newest.has_ended && newest.has_files_of(&run) && !has_more;
        let ours: HashSet<_> = steps(&run).map(|(name, _)| name).collect();
        let is_covered = |other: &Run| steps(other).all(|(name, _)| ours.contains(&name));
        let replaced = same.iter().filter(|(_, other)| is_covered(other));
        let replaced = replaced.map(|(number, _)| **number).collect();
        Plan { run, is_continued: true, replaced }
    }

    /// The same run, if it has ended, nothing is left to do, and its outputs hold the results. Says so, or that an output
    /// is gone.
    fn finished(&self, runs: &Runs) -> Option<Plan> {
        let has_outputs = !self.run.outputs.is_empty();
        if self.obstacle.is_some() || self.output_spec.to.appends || !has_outputs {
            return None;
        }
        let is_at_end = |input: &Place| input.bytes_after() == 0 || is_empty(input);
        let is_done = |input: &Place| is_at_end(input) && check_input(input).is_ok();
        let mut ended = runs.by_number.iter().rev();
        let (number, run) = ended.find(|(_, run)| {
            run.has_ended && self.is_same(run) && run.inputs.iter().all(is_done)
        })?;
        if run.outputs.iter().all(|output| check_written(run, output).is_ok()) {
            self.verbosity.say(format_args!("{}: is finished already; nothing to do", run.name()));
            let (run, replaced) = (run.clone(), vec![*number]);
            return Some(Plan { run, is_continued: true, replaced });
        }
        self.tell_of_lost(run);
        None
    }

    /// Says if an output of an earlier run is gone: this run will not print its records again.
    fn tell_of_lost(&self, earlier: &Run) {
        let (name, filter) = (earlier.name(), &self.filter.name);
        let is_lost = |place: &&Place| place.offset > 0 && !has_content(&place.path);
        let Some(lost) = earlier.outputs.iter().find(is_lost) else { return };
        self.verbosity.say(format_args!(
            "{name}: its output {} is gone; what {filter} remembers of it is not printed again, except with \
             another filter",
            lost.path.display()
        ));
    }

    /// Returns an error if an input, or its own output, no longer begins with what an earlier run processed, or has
    /// another output now. Reads compressed inputs completely.
    fn check_step(step: &JobStep<'_>, earlier: &JobStep<'_>, of: &Run) -> Result<()> {
        let (input, output) = *earlier;
        check_input(input).map_err(|moved| Self::moved(input, &moved))?;
        let Some((output, new)) = output.zip(step.1) else { return Ok(()) };
        if output.path == new.path {
            return Self::check_output(output, of);
        }
        let reason = format!(
            "--resume: its output was {}, and would be {} now; use the same inputs and folder, or another filter",
            output.path.display(),
            new.path.display()
        );
        Err(Failure::at(input.path.display(), reason))
    }

    /// Returns an error if an output does not hold what was written, or others have added to it.
    fn check_output(output: &Place, of: &Run) -> Result<()> {
        check_written(of, output).map_err(|moved| Self::moved(output, &moved))
    }

    pub(super) fn moved(place: &Place, moved: &str) -> Failure {
        let reason = format_args!("--resume: {moved}; restore it, or leave out --resume");
        Failure::at(place.path.display(), reason)
    }

    /// Returns an error if an interrupted run of the same files had other options: that run is probably meant.
    fn check_options(&self, run: &Run) -> Result<()> {
        let is_meant = run.job.command == self.run.job.command && run.has_files_of(&self.run);
        if run.has_ended || run.records == 0 || !is_meant {
            return Ok(());
        }
        let reason = format!("an interrupted {} had other options; use the same", run.name());
        Err(Failure::at("--resume", reason))
    }
}

/// Returns the reason if an output does not hold what a run has written, or others have added to it.
fn check_written(run: &Run, output: &Place) -> Result<(), String> {
    output.check()?;
    // An interrupted run may have written more, which is written again.
    let added = output.bytes_after();
    if run.has_ended && added > 0 {
        let added = counted(added, "byte");
        return Err(format!("has {added} more than the finished run wrote"));
    }
    Ok(())
}

/// Whether an input has bytes only until it is decompressed: no record tells its position.
fn is_empty(input: &Place) -> bool {
    let read = |means| bytes_from(&input.path, 0, Coding::Recognized, &means)?.read(&mut [0]);
    input.offset == 0 && matches!(Means::new().map(read), Ok(Ok(0)))
}

/// Returns the reason if an input does not begin with what was processed.
fn check_input(input: &Place) -> Result<(), String> {
    input.check()?;
    // The text was too short to be recognized as the beginning of compressed data.
    let was_text = matches!(input.sum, Checksum::Ends(_)) && input.offset > 0;
    let is_compressed = was_text && matches!(compression_of(&input.path), Ok(Some(_)));
    if is_compressed { Err(CHANGED.to_owned()) } else { Ok(()) }
}

/// An input, and the output that belongs to it alone, if there is one.
type JobStep<'r> = (&'r Place, Option<&'r Place>);

/// The name of its input, and how often the same input was named before.
type JobStepName<'r> = (&'r Path, usize);

fn steps(run: &Run) -> impl Iterator<Item = (JobStepName<'_>, JobStep<'_>)> {
    let mut outputs = run.outputs.iter().filter(|_| run.job.has("output-dir"));
    let mut times = HashMap::new();
    run.inputs.iter().map(move |input| {
        let (output, time) = (outputs.next(), times.entry(&*input.path).or_insert(0));
        *time += 1;
        ((&*input.path, *time), (input, output))
    })
}

/// The outputs that do not belong to one input.
fn shared_outputs(run: &Run) -> &[Place] {
    let own = if run.job.has("output-dir") { run.inputs.len() } else { 0 };
    run.outputs.get(own..).unwrap_or_default()
}

/// The counters of a run.
pub(super) fn counts_of(run: &Run) -> Counts {
    Counts::deserialize(&run.counts).unwrap_or_default()
}

/// Whether `other` is farther in the same file, and the file still begins with what was written up to there.
fn is_behind(output: &Place, other: &Place) -> bool {
    output.offset < other.offset && file(output) == file(other) && other.check().is_ok()
}

/// The file of an output, whatever its names.
fn file(place: &Place) -> Result<Identity, &Path> {
    Identity::at(&place.path).ok_or(&place.path)
}

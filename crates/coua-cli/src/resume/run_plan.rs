//! The plan for the remembered runs when a run begins: one may be resumed, others replaced.

use super::job_spec::{JobSpec, StoredJob};
use super::remembered::{JobFile, Remembered, bytes_after, has_content};
use crate::output::OutputSpec;
use crate::runs::{Place, Role, Runs};
use crate::terminal::{Failure, Result, Verbosity, counted};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// How a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// From the start, unless that would damage an interrupted run.
    New,
    /// Where the same run stopped, if it is remembered.
    Resume,
    /// From the start, after undoing what the same run has done.
    Restart,
    /// From the start, with emptied outputs, while the filter keeps what the run has done.
    Overwrite,
}

/// A run to undo.
#[derive(Debug)]
pub(crate) struct Undo {
    /// The number of the run.
    pub(crate) number: u64,
    /// The outputs with the records that the run added to the filter, up to these places.
    pub(crate) outputs: Vec<Place>,
}

/// What to do with the remembered runs.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// The run to resume, by its number.
    pub(super) resumed: Option<u64>,
    /// Runs that the new one replaces.
    pub(super) replaced: Vec<u64>,
    /// Whether one of them was remembered after its end.
    pub(super) has_ended: bool,
}

/// A new run and its files, for comparison with remembered runs.
#[derive(Debug)]
pub(crate) struct ResumeJob<'a> {
    /// The filter's name, for messages.
    filter: String,
    pub(super) spec: &'a JobSpec,
    /// The options of the outputs.
    pub(super) output_spec: OutputSpec<'a>,
    pub(super) verbosity: Verbosity,
    /// Its inputs and outputs, or why it cannot be resumed.
    pub(super) files: Result<Vec<JobFile>, &'static str>,
    outputs: Vec<PathBuf>,
}

impl<'a> ResumeJob<'a> {
    /// `inputs` is `None` if one of them is not a file with a name.
    pub(crate) fn new(
        filter: String,
        spec: &'a JobSpec,
        inputs: Option<Vec<PathBuf>>,
        output_spec: OutputSpec<'a>,
        verbosity: Verbosity,
    ) -> Self {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let outputs: Vec<_> = output_spec.to.paths().into_iter().map(absolute).collect();
        let of_role = |role, paths: Vec<_>| paths.into_iter().map(move |path| (role, path));
        let files = match inputs {
            None => Err("every input must be a named file, because it is read again"),
            Some(_) if !output_spec.to.are_files() => {
                Err("every output must be a named file (-o), because it is truncated")
            }
            Some(inputs) => {
                let outputs = of_role(Role::Output, outputs.clone());
                Ok(of_role(Role::Input, inputs).chain(outputs).collect())
            }
        };
        Self { filter, spec, output_spec, verbosity, files, outputs }
    }

    pub(super) fn plan(&self, mode: Mode, runs: &Runs) -> Result<Plan> {
        let mut plan = match mode {
            Mode::New => self.plan_new(runs)?,
            Mode::Restart | Mode::Overwrite => self.plan_to_start_over(runs),
            Mode::Resume => self.plan_to_resume(runs)?,
        };
        if plan.resumed.is_none() {
            // If they were resumed later, they would cut what this run writes.
            let begun = Remembered::all(runs).filter(|run| self.begun_place(run).is_some());
            plan.replaced.extend(begun.map(|run| run.number));
        }
        Ok(plan)
    }

    /// The first of the outputs that a run has begun to write without committing anything.
    fn begun_place<'r>(&self, run: &Remembered<'r>) -> Option<&'r Place> {
        if run.run.records > 0 || run.has_ended() {
            return None;
        }
        let ours: HashSet<_> = self.outputs.iter().collect();
        run.places(Role::Output).find(|place| ours.contains(&place.path))
    }

    fn plan_new(&self, runs: &Runs) -> Result<Plan> {
        if let Some(obstacle) = Remembered::all(runs).find_map(|run| self.obstacle(&run)) {
            return Err(obstacle);
        }
        Ok(self.replacing(runs, |run| run.has_job(self.spec)))
    }

    fn plan_to_start_over(&self, runs: &Runs) -> Plan {
        let command = |run: &Remembered<'_>| match &run.job {
            StoredJob::Known(known) => known.has_command_of(self.spec) && !run.has_ended(),
            // A later version's options are unknown, but the files are the same.
            StoredJob::Later => true,
        };
        let mut plan = self.replacing(runs, |run| run.has_job(self.spec) || command(run));
        let is_overwritten = |run: &Remembered<'_>| run.written_of(&self.outputs).is_some();
        let overwritten = Remembered::all(runs).filter(is_overwritten).map(|run| run.number);
        plan.replaced.extend(overwritten);
        plan
    }

    /// The runs to undo before a run starts over. Returns an error if their effects on the filter are uncertain.
    pub(super) fn to_undo(&self, runs: &Runs) -> Result<Vec<Undo>> {
        let replaced = self.plan_to_start_over(runs).replaced;
        let undo = |run: Remembered<'_>| match self.added_by(&run) {
            Ok(outputs) => {
                Ok(Undo { number: run.number, outputs: outputs.into_iter().cloned().collect() })
            }
            Err(obstacle) => {
                let reason = format!(
                    "--restart: cannot undo {}: {obstacle}; --overwrite starts over, and keeps what the run has done \
                     to the filter",
                    run.name()
                );
                Err(Failure::at(&self.filter, reason))
            }
        };
        Remembered::all(runs).filter(|run| replaced.contains(&run.number)).map(undo).collect()
    }

    /// The places up to which outputs hold what the run has added to the filter, or why that is uncertain.
    fn added_by<'r>(&self, run: &'r Remembered<'_>) -> Result<Vec<&'r Place>, String> {
        if run.run.records == 0 {
            return Ok(Vec::new());
        }
        match run.job.command() {
            None => return Err("a later version of coua began it".to_owned()),
            Some(_) if !run.has_job(self.spec) => return Err("it had other options".to_owned()),
            // Inserting them again changes nothing.
            Some("add") if self.spec.has("unique") => return Ok(Vec::new()),
            Some("dedup") if !self.spec.has("repeats") => {}
            Some(_) => return Err("no output holds the records that it changed".to_owned()),
        }
        // A second output contains repeats.
        let each = self.spec.has("output-dir");
        let main = if each { run.places(Role::Input).count() } else { 1 };
        let places = run.places(Role::Output).take(main).filter(|place| place.offset > 0);
        let checked = places.map(|place| {
            let path = place.path.display();
            place.check().map_err(|moved| format!("{path}: {moved}"))?;
            let added = if run.has_ended() { bytes_after(&place.path, place) } else { 0 };
            if added > 0 {
                return Err(format!(
                    "{path} has {} more than the run wrote",
                    counted(added, "byte")
                ));
            }
            Ok(place)
        });
        checked.collect()
    }

    /// The command that starts a run over.
    fn remedy(&self, run: &Remembered<'_>) -> &'static str {
        match self.added_by(run) {
            Ok(_) => "start over with --restart",
            Err(_) => {
                "start over with --overwrite, which keeps what the run has done to the filter"
            }
        }
    }

    /// An output that an interrupted run has written.
    fn overwritten(&self, run: &Remembered<'_>) -> Option<&PathBuf> {
        run.is_interrupted().then(|| run.written_of(&self.outputs)).flatten()
    }

    /// An output of the same run, if that run has ended and no input is left.
    fn done_before(&self, run: &Remembered<'_>) -> Option<&PathBuf> {
        let files = self.files.as_ref().ok()?;
        let is_it = run.has_ended() && run.has_job(self.spec) && run.has_files(files);
        let is_same = is_it && run.places(Role::Input).all(|place| place.check().is_ok());
        let is_done = is_same && !run.has_more_input();
        is_done.then(|| run.written_of(&self.outputs)).flatten()
    }

    /// The data that a new run would damage: an output whose records the filter remembers, or the records that an
    /// interrupted run of the same job (as far as is known) has counted.
    fn obstacle(&self, run: &Remembered<'_>) -> Option<Failure> {
        let (name, records) = (run.name(), counted(run.run.records, "record"));
        let is_emptied = !self.output_spec.to.appends;
        if let Some(path) = self.done_before(run).filter(|_| is_emptied) {
            let other = if self.spec.has("output-dir") {
                "choose another folder"
            } else {
                "choose another output, append to it with --append"
            };
            let reason = format!(
                "holds the output of {name}, which the filter remembers, so the same run would print nothing; \
                 {other}, start over with --restart, or empty it with --overwrite"
            );
            return Some(Failure::at(path.display(), reason));
        }
        if let Some(path) = self.overwritten(run) {
            let remedy = if is_emptied {
                format!("choose another output, or {}", self.remedy(run))
            } else {
                "or choose another output".to_owned()
            };
            let reason = format!(
                "holds the output of an interrupted {name} for {records}, which the filter remembers; \
                 continue with --resume, {remedy}"
            );
            return Some(Failure::at(path.display(), reason));
        }
        let begun = self.begun_place(run).filter(|it| !is_emptied && bytes_after(&it.path, it) > 0);
        if let Some(place) = begun {
            let reason = format!(
                "ends with the output of an interrupted {name}, which the filter does not remember; continue that \
                 run with --resume, truncate the file to {}, or choose another output",
                counted(place.offset, "byte")
            );
            return Some(Failure::at(place.path.display(), reason));
        }
        let is_same = self.files.as_ref().is_ok_and(|files| run.has_files(files));
        let is_other = matches!(&run.job, StoredJob::Known(known) if known != self.spec);
        (is_same && !is_other && run.is_interrupted() && run.job.counts()).then(|| {
            let reason = format!(
                "an interrupted {name} has done {records}, which would count twice; continue with --resume, \
                 or {}",
                self.remedy(run)
            );
            Failure::at(&self.filter, reason)
        })
    }

    /// A plan that replaces the runs with the same files for which `is_replaced` is true.
    fn replacing(&self, runs: &Runs, is_replaced: impl Fn(&Remembered<'_>) -> bool) -> Plan {
        let mut plan = Plan::default();
        let Ok(files) = &self.files else { return plan };
        for run in Remembered::all(runs).filter(|run| run.has_files(files) && is_replaced(run)) {
            plan.replaced.push(run.number);
            plan.has_ended |= run.has_ended();
        }
        plan
    }

    fn plan_to_resume(&self, runs: &Runs) -> Result<Plan> {
        let files = self.files.as_ref().map_err(|reason| Failure::at("--resume", reason))?;
        let with_files = || Remembered::all(runs).filter(|run| run.has_files(files));
        if let Some(failure) = with_files().find_map(|run| run.of_a_later_version()) {
            return Err(failure);
        }
        let resumed = |run: &Remembered<'_>| Plan { resumed: Some(run.number), ..Plan::default() };
        if let Some(run) = with_files().find(|run| run.has_job(self.spec)) {
            return match run.moved_place() {
                None => run.check_outputs().map(|()| resumed(&run)),
                // The run has done nothing, so a new one replaces it.
                Some(_) if run.run.records == 0 && !run.has_ended() => {
                    Ok(Plan { replaced: vec![run.number], ..Plan::default() })
                }
                Some((path, moved)) => {
                    let remedy = self.remedy(&run);
                    let reason = format!("--resume: {moved}; restore it, or {remedy}");
                    Err(Failure::at(path.display(), reason))
                }
            };
        }
        let is_renamed = |run: &Remembered<'_>| run.has_job(self.spec) && run.was_renamed_to(files);
        if let Some(run) = Remembered::all(runs).find(is_renamed) {
            return Ok(resumed(&run));
        }
        with_files()
            .filter(Remembered::is_interrupted)
            .try_for_each(|run| self.check_options(&run))?;
        self.check_outputs()?;
        Ok(Plan::default())
    }

    /// Returns an error if an interrupted run of the same files had other options: that run is probably meant.
    fn check_options(&self, run: &Remembered<'_>) -> Result<()> {
        let StoredJob::Known(known) = &run.job else { return Ok(()) };
        known.first_difference(self.spec).map_or(Ok(()), |option| {
            let reason = format!(
                "--{option} differs from the interrupted {}; use the same options, or start over with --overwrite",
                run.name()
            );
            Err(Failure::at("--resume", reason))
        })
    }

    /// Returns an error if a new run would overwrite a file that may contain records the filter remembers.
    fn check_outputs(&self) -> Result<()> {
        self.outputs.iter().find(|path| has_content(path)).map_or(Ok(()), |path| {
            let remedy = if self.output_spec.to.appends {
                "or append to it without --resume"
            } else {
                "or empty it with --overwrite"
            };
            let reason = format!(
                "--resume: the filter remembers no run with these inputs and options that wrote this file; \
                 choose another output, {remedy}"
            );
            Err(Failure::at(path.display(), reason))
        })
    }
}

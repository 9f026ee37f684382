//! Runs that can be gone on with after they were interrupted.
//!
//! A checkpoint commits the filter together with how far inputs and outputs are. To go on, the inputs
//! are read again from their beginning, and the records that were dealt with are passed over: so it
//! works for compressed inputs and every form of records, and inputs may have grown meanwhile.

mod course;
mod job;
mod known;
mod reach;
mod room;
mod tracker;
mod unfinished;

pub(crate) use course::{Course, Ending};
pub(crate) use job::{Again, Job};
pub(crate) use unfinished::Unfinished;

use crate::args::checkpoint::CheckpointArgs;
use crate::args::run::Quiet;
use crate::filter_file::Kept;
use crate::message::{self, Failure};
use crate::output::{Destinations, Opening, Outputs};
use crate::pipeline::Deliver;
use course::Recorded;
use known::{Anew, Known};
use reach::Reaches;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use tracker::Tracker;

/// A run at its beginning, or where it is gone on with.
#[derive(Debug)]
pub(crate) struct Begun<C> {
    pub(crate) course: Course,
    pub(crate) outputs: Outputs,
    /// What the command has counted so far.
    pub(crate) counts: C,
}

/// What a run that nobody has begun begins with.
pub(crate) struct Fresh<'a, C> {
    /// Where its outputs go.
    pub(crate) to: Destinations<'a>,
    pub(crate) opening: Opening<'a>,
    /// What the command counts, at its beginning.
    pub(crate) counts: C,
    pub(crate) quiet: Quiet,
}

impl CheckpointArgs {
    /// Begins a run, or goes on with the one that was interrupted. `kept` is the filter, if it is in a
    /// file. From here on the filter knows that the outputs are being written.
    pub(crate) fn begin<C: Serialize + DeserializeOwned>(
        &self,
        kept: Option<&mut Kept>,
        mut job: Job,
        fresh: Fresh<'_, C>,
    ) -> Result<Begun<C>, Failure> {
        let Some(kept) = kept else {
            let outputs = Outputs::open(fresh.to, fresh.opening)?;
            return Ok(Begun {
                course: Course::new(None, Reaches::default(), job.format),
                outputs,
                counts: fresh.counts,
            });
        };
        if fresh.to.are_files() {
            self.check_room(&mut job, fresh.quiet)?;
        }
        let known = self.interrupted(kept, &job, fresh.to, fresh.quiet)?;
        let (mut outputs, counts) = match &known {
            Some(run) => {
                let (places, owes_separator) = (run.outputs(), &run.note.owes_separator);
                let outputs = Outputs::go_on(fresh.to, &places, owes_separator, fresh.opening);
                (outputs?, run.counts()?)
            }
            None => (Outputs::open(fresh.to, fresh.opening)?, fresh.counts),
        };
        let files = job.inputs.filter(|_| outputs.are_files()).unwrap_or_default();
        let reaches = known.as_ref().map_or_else(|| Reaches::new(&files), Known::reaches);
        let tracker = Some(files).filter(|files| !files.is_empty());
        let tracker = tracker.map(|files| Tracker::new(&files, self.every())).transpose()?;
        let recorded = tracker.map(|tracker| Recorded {
            tracker,
            job: job.description,
            keeps_end: self.resume,
            quiet: fresh.quiet,
        });
        let mut course = Course::new(recorded, reaches, job.format);
        match known.map(|run| run.under_way()) {
            // Also what is left of the run is one with commits on its way.
            Some(Some(progress)) => kept.commit(&progress)?,
            Some(None) => {}
            None => course.commit(kept, outputs.settle()?, &counts)?,
        }
        Ok(Begun { course, outputs, counts })
    }

    /// What cannot be kept is not recorded.
    fn check_room(&self, job: &mut Job, quiet: Quiet) -> Result<(), Failure> {
        let Some(lack) = job.inputs.as_deref().and_then(room::lack) else { return Ok(()) };
        if self.resume {
            return Err(Failure::at("--resume", lack));
        }
        if !quiet.quiet {
            let text = format_args!("this run cannot be gone on with if it is interrupted: {lack}");
            message::say(text);
        }
        job.inputs = None;
        Ok(())
    }

    /// The run to go on with, if there is one and it is asked for.
    fn interrupted<'a>(
        &self,
        kept: &'a Kept,
        job: &Job,
        to: Destinations<'_>,
        quiet: Quiet,
    ) -> Result<Option<Known<'a>>, Failure> {
        let outputs = &to.paths()[..];
        let known = Known::of(kept.store.progress());
        if !self.resume {
            // What cannot be understood is not spoilt by a new run more than by the old one.
            let anew = if self.anew { Anew::Wanted } else { Anew::Refused };
            known
                .and_then(Result::ok)
                .map_or(Ok(()), |run| run.keep(&kept.name(), outputs, anew))?;
            return Ok(None);
        }
        let Some(inputs) = &job.inputs else {
            let reason = "needs inputs that are files with names: others cannot be read again";
            return Err(Failure::at("--resume", reason));
        };
        if !to.are_files() {
            let reason = "needs outputs that are files with names (-o): others cannot be cut";
            return Err(Failure::at("--resume", reason));
        }
        let inputs: Vec<&Path> = inputs.iter().map(|path| &**path).collect();
        let mut other = None;
        if let Some(run) = known.transpose()? {
            match run.agree(job, &inputs, outputs) {
                Err(_) if run.note.has_ended => other = Some(run),
                agreed => match agreed.and_then(|()| run.check_places()) {
                    Ok(()) => return Ok(Some(run)),
                    // There is nothing to go on with.
                    Err(_) if run.progress.records == 0 => {}
                    Err(failure) => return Err(failure),
                },
            }
        }
        if let Some(path) = outputs.iter().find(|path| has_content(path)) {
            let reason = "--resume: the filter knows of no interrupted run into this file: the run that \
                          wrote it may have ended. Without --resume the file is emptied, and what the \
                          filter knows is not printed again: name another output, or remove the filter too";
            return Err(Failure::at(path.display(), reason));
        }
        if let Some(run) = other.filter(|_| !quiet.quiet) {
            run.tell_forgotten(&kept.name());
        }
        Ok(None)
    }
}

fn has_content(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

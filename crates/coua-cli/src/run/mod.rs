//! A command that reads records: set up, worked off and ended here, whatever it does and wherever the filter is.

mod counts;
mod ending;
pub(crate) mod reading;
mod session;
#[cfg(test)]
mod steps;
mod work;

use crate::clock::Present;
use crate::input::Survey;
use crate::key::answers::Found;
use crate::output::own_files::OwnFiles;
use crate::output::{self, Destinations, Form, Outputs, Settled};
use crate::pipeline::Pipeline;
use crate::resume::{self, Begun, Checkpoints, JobSpec, Recorder, Start};
use crate::target::file::Manners;
use crate::target::spec::FilterSpec;
use crate::target::{self, Location, Op, Target};
use crate::terminal::exit::Exit;
use crate::terminal::message::{Failure, Notes};
use crate::terminal::progress::{Counted, Shown};
use crate::terminal::report::Format;
use crate::terminal::stream::Stream;
use coua_store::Wait;
use counts::Counts;
use ending::Ending;
use reading::Reading;
use session::Session;
use std::num::NonZeroUsize;
use work::Work;

/// How a command runs, apart from what it does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) threads: NonZeroUsize,
    /// The figures to print at the end.
    pub(crate) figures: Option<Format>,
    pub(crate) notes: Notes,
    pub(crate) shown: Shown,
    /// For another process that writes the filter.
    pub(crate) wait: Wait,
}

/// What a command is to do.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) op: Op,
    pub(crate) reading: Reading,
    pub(crate) location: Location,
    pub(crate) filter: FilterSpec,
    pub(crate) present: Present,
    pub(crate) to: Destinations,
    /// Which records are written to the main output; the others go to the second one, if there is one.
    pub(crate) printed: Option<Found>,
    /// The first record that is printed ends the run.
    pub(crate) until: Until,
    /// In words that outlast versions, if the run can be resumed.
    pub(crate) spec: Option<JobSpec>,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) manner: Manner,
}

/// Up to where to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    End,
    FirstPrinted,
}

/// A run of which all records were read.
#[derive(Debug)]
pub(crate) struct Run {
    work: Work,
    settled: Settled,
}

impl Run {
    /// Refuses what cannot come to anything, before a file is made or changed: the standard streams first, then
    /// the files that are read, then those that are written. Then opens the filter, begins or resumes the run, and
    /// reads all records.
    pub(crate) fn of(mut job: Job) -> Result<Self, Failure> {
        if job.manner.figures.is_some() {
            Stream::Error.check_open()?;
        }
        job.to.check_open()?;
        job.filter.secret.key()?;
        let inputs = job.reading.survey(job.to.mixing())?;
        let own = OwnFiles::of(job.location.file(), job.filter.secret.file())?;
        if job.op.changes() {
            own.refuse_inputs(&inputs)?;
        }
        job.reading.opening(&inputs, &own).check_all(&job.to)?;
        let mut target = Target::open(&job.location, job.target_opening(&inputs))?;
        let now = job.present.for_window(target.window())?;
        job.reading.believe_times(now, target.window());
        let begun = job.begin(&mut target, job.reading.opening(&inputs, &own))?;
        let Begun { recorder, mut outputs, counts } = begun;
        let on_missing = job.reading.on_missing;
        let session = Session::begin(counted(job.op), job.manner, on_missing, &inputs)?;
        outputs.form = match job.op {
            Op::Count if session.keeps_keyless() => Form::Counted,
            Op::Count => Form::CountedWithKey,
            _ => Form::Selected,
        };
        target.heed(session.stop());
        let pipeline = session.pipeline(&job.reading, &target);
        let work = Work::new(&job, (target, now), session, (recorder, counts));
        Self::read(pipeline, work, outputs)
    }

    fn read(pipeline: Pipeline, mut work: Work, mut outputs: Outputs) -> Result<Self, Failure> {
        let read = pipeline.run(&mut work, &mut outputs);
        let settled = work.session.end(read).and_then(|()| {
            work.target.check_origin()?;
            // What the filter remembers, and what is gone from it, must be in the outputs first.
            let is_kept = work.op.changes() && work.target.is_lasting();
            if is_kept { outputs.settle() } else { Ok(Settled::default()) }
        });
        match settled {
            Ok(settled) => Ok(Self { work, settled }),
            Err(failure) => {
                work.target.take_back();
                Err(failure)
            }
        }
    }

    /// Records selected for the main output; none if a server has left some open.
    pub(crate) fn printed(&self) -> Option<u64> {
        (!matches!(self.work.ending, Ending::GaveUp(_))).then_some(self.work.printed)
    }

    /// Keeps the changes of the filter, and prints the figures. The exit code is `otherwise` if nothing else
    /// demands another.
    pub(crate) fn finish(self, otherwise: Exit) -> Result<Exit, Failure> {
        let Self { work, settled } = self;
        let Work { op, mut target, session, recorder, counts, ending, .. } = work;
        target.take_back_after_full()?;
        let name = target.name();
        if let Ending::GaveUp(left) = &ending {
            return session.fail(Failure::at(&name, left.words(op)));
        }
        target.tell_doubts();
        if op.inserts() {
            session.tell_outdated(target.outdated());
        }
        let remedy = target.kept().map_or("", |_| recorder.remedy_if_full());
        let refusal = ending.refusal(op, &name, (target.exceptions(), remedy));
        let how = if ending.is_full() { resume::Ending::Early } else { session.ending() };
        let mut target = match (recorder.end(how, target, settled, &counts), refusal.is_some()) {
            (Err(failure), true) => {
                failure.told_if_unsynced()?;
                return refusal.map_or(Ok(otherwise), Err);
            }
            (ended, _) => ended?,
        };
        let printed = session.print_figures(|report| {
            let (filter, expected) = target.describe(counts.answered())?;
            counts.tell(op, expected, report);
            Ok(filter)
        });
        match refusal {
            Some(refusal) => Err(refusal),
            None => printed.map(|()| session.exit(otherwise)),
        }
    }
}

impl Job {
    fn target_opening<'a>(&'a self, inputs: &'a Survey) -> target::Opening<'a> {
        let Manner { threads, notes, wait, .. } = self.manner;
        target::Opening {
            op: self.op,
            spec: &self.filter,
            present: self.present,
            inputs,
            threads,
            manners: Manners { notes, wait },
        }
    }

    /// Begins the run, or resumes it, and opens its outputs.
    fn begin(
        &self,
        target: &mut Target,
        opening: output::Opening<'_>,
    ) -> Result<Begun<Counts>, Failure> {
        let (to, counts, notes) = (&self.to, Counts::default(), self.manner.notes);
        let (format, inputs) = (self.reading.format.clone(), self.reading.inputs.files());
        match (target.kept(), self.spec.clone()) {
            (Some(kept), Some(spec)) => {
                let recorded = resume::Job { spec, inputs, format };
                self.checkpoints.begin(kept, recorded, Start { to, opening, counts, notes })
            }
            _ => Ok(Begun {
                outputs: Outputs::open(to, opening)?,
                recorder: Recorder::none(format),
                counts,
            }),
        }
    }
}

/// What progress shows beside the records.
fn counted(op: Op) -> Counted {
    match op {
        Op::Dedup => Counted::Unique,
        Op::Add | Op::AddNew => Counted::Added,
        Op::Remove => Counted::Removed,
        Op::Check | Op::Count => Counted::Found,
    }
}

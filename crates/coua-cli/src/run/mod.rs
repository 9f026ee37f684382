//! A command that reads records: set up, worked off and ended here, whatever it does and wherever the filter is.

mod counts;
mod ending;
mod job;
pub(crate) mod reading;
mod session;
#[cfg(test)]
mod steps;
mod work;

pub(crate) use job::{Job, Manner, Until};

use crate::output::own_files::OwnFiles;
use crate::output::{Form, Outputs, Settled};
use crate::pipeline::Pipeline;
use crate::resume::{self, Begun};
use crate::target::{Op, Target};
use crate::terminal::exit::{self, Exit};
use crate::terminal::message::Failure;
use crate::terminal::stream::Stream;
use ending::Ending;
use session::Session;
use work::Work;

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
        target.heed(&session.stop());
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
        let Work { op, mut target, session, recorder, counts, ending, rate, .. } = work;
        target.take_back_after_full()?;
        let name = target.name();
        if let Ending::GaveUp(left) = &ending {
            // By the signal, if that is why the server was not waited for any longer.
            return Err(Failure::ending(Exit::Error.or_signal(), &name, left.words(op)));
        }
        target.tell_doubts();
        if op.inserts() {
            session.tell_outdated(target.outdated());
        }
        let remedy = target.kept().map_or("", |_| recorder.remedy_if_full());
        let refusal = ending.refusal(op, &name, (target.exceptions(), remedy));
        let is_early = ending.is_full() || exit::caught().is_some();
        let how = if is_early { resume::Ending::Early } else { resume::Ending::Whole };
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
        session.warn(&name, counts.warning(target.expected(counts.answered()), rate));
        match refusal {
            Some(refusal) => Err(refusal),
            None => printed.map(|()| otherwise.or_signal()),
        }
    }
}

/// What progress shows beside the records.
fn counted(op: Op) -> &'static str {
    match op {
        Op::Dedup => "unique",
        Op::Add | Op::AddNew => "added",
        Op::Remove => "removed",
        Op::Check | Op::Count => "found",
    }
}

//! A command that reads records: set up, worked off and ended here, whatever it does and wherever the filter is.

mod counts;
mod ending;
mod job;
pub(crate) mod reading;
mod session;
#[cfg(test)]
mod steps;
mod work;

pub(crate) use job::{Job, Running};
pub(crate) use work::Run;

use crate::output::{Form, Outputs, OwnFiles, Settled};
use crate::pipeline::Pipeline;
use crate::resume;
use crate::target::{Location, Op, Target};
use crate::terminal::{Exit, Failure, Result, Stream, exit};
use ending::Ending;
use session::Session;

impl Run {
    /// Refuses what cannot come to anything, before a file is made or changed: the standard streams first, then
    /// the files that are read, then those that are written. Then opens the filter, begins or resumes the run, and
    /// reads all records.
    pub(crate) fn of(mut job: Job) -> Result<Self> {
        if job.running.figures.is_some() {
            Stream::Error.check_open()?;
        }
        job.to.check_open()?;
        job.filter.secret.key()?;
        let inputs = job.reading.survey(job.to.mixing())?;
        let own =
            OwnFiles::of(job.location.as_ref().and_then(Location::file), job.filter.secret.file())?;
        if job.op.changes() {
            own.refuse_inputs(&inputs)?;
        }
        job.opening(&inputs, &own).check_all()?;
        let Running { threads, manners, .. } = job.running;
        let at = (job.location.as_ref(), job.op);
        let mut target = Target::open(at, &job.filter, &inputs, threads, manners)?;
        let now = job.filter.now;
        now.check_for(target.window())?;
        job.reading.believe_times(now, target.window());
        let opening = job.opening(&inputs, &own);
        let (recorder, mut outputs, counts) = job.begin(&mut target, opening)?;
        let session = Session::begin(counted(job.op), &job, &inputs)?;
        outputs.form = match job.op {
            Op::Count if job.reading.keeps_keyless() => Form::Counted,
            Op::Count => Form::CountedWithKey,
            _ => Form::Selected,
        };
        target.heed(&session.stop);
        let pipeline = session.pipeline(&job, &target);
        let (ending, printed, settled) = (Ending::Whole, 0, Settled::default());
        let run = Self { job, target, session, recorder, counts, ending, printed, settled };
        run.read(pipeline, outputs)
    }

    fn read(mut self, pipeline: Pipeline, mut outputs: Outputs) -> Result<Self> {
        let read = pipeline.run(&mut self, &mut outputs);
        let settled = self.session.end(read, &self.job).and_then(|()| {
            self.target.check_origin()?;
            // What the filter remembers, and what is gone from it, must be in the outputs first.
            let is_kept = self.job.op.changes() && self.target.is_lasting();
            if is_kept { outputs.settle() } else { Ok(Settled::default()) }
        });
        match settled {
            Ok(settled) => Ok(Self { settled, ..self }),
            Err(failure) => {
                self.target.take_back();
                Err(failure)
            }
        }
    }

    /// Records selected for the main output; none if a server has left some open.
    pub(crate) fn printed(&self) -> Option<u64> {
        (!matches!(self.ending, Ending::GaveUp { .. })).then_some(self.printed)
    }

    /// Keeps the changes of the filter, and prints the figures. The exit code is `otherwise` if nothing else
    /// demands another.
    pub(crate) fn finish(self, otherwise: Exit) -> Result<Exit> {
        let Self { job, mut target, session, recorder, counts, ending, settled, .. } = self;
        let (op, notes) = (job.op, job.running.manners.notes);
        target.take_back_after_full()?;
        let name = target.name();
        if let Some(left) = ending.left_open(op) {
            // By the signal, if that is why the server was not waited for any longer.
            return Err(Failure::ending(Exit::Error.or_signal(), &name, left));
        }
        target.tell_doubts(op, notes);
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
        let printed = if let Some(format) = job.running.figures {
            session.print_figures(format, |report| {
                let (filter, expected) = target.describe(counts.answered())?;
                counts.tell(op, expected, report);
                Ok(filter)
            })
        } else {
            let expected = target.expected(counts.answered());
            if let Some(warning) = counts.warning(expected, job.filter.wanted.rate) {
                notes.say(format_args!("{name}: {warning}"));
            }
            Ok(())
        };
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

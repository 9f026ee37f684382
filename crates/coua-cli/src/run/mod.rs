//! A command that reads records: set up, worked off and ended here, whatever it does and wherever the filter is.

mod ending;
mod job;
mod session;
mod work;

pub(crate) use job::{Job, Reading, Running};
pub(crate) use work::Pass;

use crate::output::{Form, Outputs, Settled, UsedFiles};
use crate::pipeline::Pipeline;
use crate::resume::{self, Recorder};
use crate::target::{Location, Op, Target};
use crate::terminal::{Exit, Failure, Result, Stream, exit};
use ending::Ending;
use session::Session;

impl Pass {
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
        let filter = job.location.as_ref().and_then(Location::file);
        let used = UsedFiles::of(inputs, filter, job.filter.secret.file())?;
        if job.op.changes() {
            used.refuse_changed_input()?;
        }
        job.opening(&used).check_all()?;
        let Running { threads, manners, .. } = job.running;
        let at = (job.location.as_ref(), job.op);
        let mut target = Target::open(at, &job.filter, &used.inputs, threads, manners)?;
        let (now, window) = (job.filter.now, target.window());
        now.check_for(window)?;
        if let (Some(times), Some(window)) = (&mut job.reading.hashing.keys.times, window) {
            // Times up to a generation after the present are believed: clocks differ.
            times.believe(now, window.step());
        }
        let (recorder, mut outputs, counts) = job.begin(&mut target, job.opening(&used))?;
        let session = Session::begin(counts.shown(job.op).0, &job, &used.inputs)?;
        outputs.form = match job.op {
            Op::Count if job.reading.keeps_keyless() => Form::Counted,
            Op::Count => Form::CountedWithKey,
            _ => Form::Selected,
        };
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
        let is_resumable = recorder.as_ref().is_some_and(Recorder::is_resumable);
        let remedy = match target.kept() {
            None => "",
            Some(_) if is_resumable => {
                "; make room (`coua remove`), then give the same command with --resume"
            }
            Some(_) => "; make room (`coua remove`), then give the records from that one on",
        };
        let refusal = ending.refusal(op, &name, (target.exceptions(), remedy));
        let is_early = ending.is_full() || exit::caught().is_some();
        let how = if is_early { resume::Ending::Early } else { resume::Ending::Whole };
        let ended = Recorder::end(recorder, how, target, settled, &counts);
        let mut target = match (ended, refusal.is_some()) {
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

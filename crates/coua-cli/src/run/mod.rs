//! A command that reads records: set up, worked off and ended here, whatever it does and wherever the filter is.

mod ending;
mod job;
mod session;
mod undo;
mod work;

pub(crate) use job::{Job, Reading, Running};
pub(crate) use work::Pass;

use crate::filter::{self, Location, Op, RunFilter, Summary, SummaryRequest};
use crate::output::{Form, Outputs, Settled, UsedFiles};
use crate::pipeline::Pipeline;
use crate::resume::{self, Counts, Recorder, Schedule, Started};
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
        let filter_file = job.location.as_ref().and_then(Location::file);
        let used = UsedFiles::of(inputs, filter_file, job.filter.secret.file())?;
        if job.op.changes() {
            used.refuse_changed_input()?;
        }
        job.opening(&used).check_all()?;
        let Running { threads, manners, .. } = job.running;
        let (location, spec) = (job.location.as_ref(), &job.filter);
        let mut filter = filter::open(location, job.op, spec, &used.inputs, threads, manners)?;
        let (now, window) = (spec.now, filter.window());
        now.check_for(window)?;
        if let (Some(times), Some(window)) = (&mut job.reading.hashing.keys.times, window) {
            // Times up to a generation after the present are believed: clocks differ.
            times.believe(now, window.step());
        }
        let started = job.begin(&mut *filter, job.opening(&used))?;
        let Started { recorder, mut outputs, counts, .. } = started;
        // What went down a pipe is not to be printed again, even if this process is killed. Of the other commands, a part
        // that cannot be resumed would count twice.
        let is_stream = job.op == Op::Dedup && recorder.is_none() && filter.runs().is_some();
        let every = job.recorded.as_ref().map(|recorded| recorded.every);
        let saves = every.filter(|_| is_stream).map(Schedule::new);
        let session = Session::begin(counts.shown(job.op).0, &job, &used.inputs)?;
        outputs.form = match job.op {
            Op::Count if job.reading.keeps_keyless() => Form::Counted,
            Op::Count => Form::CountedWithKey,
            _ => Form::Selected,
        };
        let mut pipeline = session.pipeline(&job, &*filter);
        pipeline.reader.pause = every.filter(|_| is_stream);
        let (ending, printed, settled) = (Ending::Whole, 0, Settled::default());
        let run = Self { job, filter, session, recorder, saves, counts, ending, printed, settled };
        run.read(pipeline, outputs)
    }

    fn read(mut self, pipeline: Pipeline, mut outputs: Outputs) -> Result<Self> {
        let read = pipeline.run(&mut self, &mut outputs);
        let settled = self.session.end(read, &self.job).and_then(|()| {
            self.filter.check_unchanged()?;
            // What the filter remembers, and what is gone from it, must be in the outputs first.
            let is_synced = self.filter.follows_outputs();
            if is_synced { outputs.settle() } else { Ok(Settled::default()) }
        });
        match settled {
            Ok(settled) => Ok(Self { settled, ..self }),
            Err(failure) => {
                self.filter.roll_back();
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
        let Self { job, mut filter, session, recorder, counts, ending, settled, .. } = self;
        let (op, notes) = (job.op, job.running.manners.notes);
        filter.roll_back_after_full()?;
        let name = filter.name();
        if let Some(left) = ending.left_open(op) {
            // By the signal, if that is why the server was not waited for any longer.
            return Err(Failure::ending(Exit::Error.or_signal(), &name, left));
        }
        filter.report_doubts(op, notes);
        let is_saved = op.changes() && filter.follows_outputs();
        let is_resumable = recorder.as_ref().is_some_and(Recorder::is_resumable);
        let remedy = match filter.runs() {
            None => "",
            Some(_) if is_resumable => {
                "; make room (`coua remove`), then give the same command with --resume"
            }
            Some(_) => "; make room (`coua remove`), then give the records from that one on",
        };
        let refusal = ending.refusal(op, &name, filter.exceptions(), remedy);
        let is_early = ending.is_full() || exit::caught().is_some();
        let how = if is_early { resume::Ending::Early } else { resume::Ending::Whole };
        let request = counts.summary_request(job.running.figures);
        let summary = match (close(recorder, how, filter, settled, &counts, request), &refusal) {
            (Err(failure), Some(_)) => {
                failure.told_if_unsynced()?;
                return refusal.map_or(Ok(otherwise), Err);
            }
            (closed, _) => closed?,
        };
        if job.wants_found()
            && let Some(nothing) = counts.nothing_found()
        {
            notes.say(format_args!("{name}: {nothing}"));
        }
        let printed = if let Some(format) = job.running.figures {
            let write_answers = |report: &mut _| counts.tell(op, summary.expected, report);
            summary.figures.and_then(|it| session.print_figures(format, write_answers, it))
        } else {
            if let Some(warning) = counts.warning(&summary, job.filter.wanted.rate) {
                notes.say(format_args!("{name}: {warning}"));
            }
            Ok(())
        };
        match (refusal, printed) {
            (Some(refusal), _) => Err(refusal),
            // Exit code 2 would say that nothing is saved, and a message has nowhere to go.
            (None, Err(failure)) if !is_saved => Err(failure),
            (None, _) => Ok(otherwise.or_signal()),
        }
    }
}

/// Records how the run ends, and saves the filter.
fn close(
    recorder: Option<Recorder>,
    ending: resume::Ending,
    mut filter: Box<dyn RunFilter>,
    settled: Settled,
    counts: &Counts,
    request: SummaryRequest,
) -> Result<Summary> {
    if let Some(recorder) = recorder {
        recorder.end(ending, &mut *filter, settled, counts)?;
        if ending == resume::Ending::Early {
            return Ok(filter.summary(request));
        }
    }
    filter.finish(request)
}

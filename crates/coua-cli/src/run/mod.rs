//! The setup, work and end of a command that reads records, for any job and any filter.

mod job;
mod known;
mod rest;

pub(crate) use job::{InputPlan, Job, Running};

use crate::filter::copies::{Copies, CopiesPass, SecondPassPlan, nothing_printed};
use crate::filter::{Counts, FilterFigures, NoRoom, Op, Profile, RunFilter, Stop, Summary};
use crate::input::{Means, Survey};
use crate::key::{Answers, Hashing, Known, Missing, Reason, Seen};
use crate::output::{OutputFormat, Outputs, Synced, UsedFiles};
use crate::pipeline::{Batch, BlockHandler, Flow, Pipeline};
use crate::record::Header;
use crate::resume::{self, Recorder};
use crate::terminal::{
    CancelToken, Counters, Exit, Failure, Progress, Report, ReportFormat, Result, Stream,
    Verbosity, caught_signal, counted, grouped, signals,
};
use std::io::{self, Write};
use std::mem;
use std::num::NonZeroUsize;
use std::sync::Arc;

impl Job {
    /// Processes records, for commands that do nothing else.
    pub(crate) fn run(self) -> Result<Exit> {
        Pass::of(self)?.finish(Exit::Success)
    }

    /// Processes records in two passes.
    pub(crate) fn run_twice(mut self, plan: SecondPassPlan) -> Result<Exit> {
        let used = self.prepare()?;
        // The inputs are read only when the outputs can be written.
        let outputs = Outputs::open(self.output_spec(&used))?;
        self.reading.inputs.others(&self.known).survey()?;
        self.reading.inputs.make_rereadable()?;
        let used = self.prepare()?;
        let before = self.reading.inputs.states()?;
        let threads = self.running.threads(&used.inputs);
        let copies = Arc::new(Copies::new(&self.filter, threads, plan)?);
        if !self.known.is_empty() {
            let verbosity = self.running.verbosity;
            self.reading.know(&self.known, copies.hasher(), &self.filter, verbosity)?;
            self.known.clear();
        }
        let mut known = Known::default();
        if plan.counts {
            // Records with a known key are counted too.
            mem::swap(&mut known, &mut self.reading.hashing.known);
        }
        let (reading, filter) = (self.reading.clone(), self.filter.clone());
        let first = Self::new(self.op, reading, None, filter, self.running);
        let first = Pass::tally(first, &used, Box::new(CopiesPass::First(copies.clone())))?;
        if let Outcome::Full { no_room, .. } = &first.outcome {
            return Err(nothing_printed(no_room));
        }
        if caught_signal().is_some() {
            return Ok(Exit::Success.or_signal());
        }
        self.reading.inputs.check_states(&before)?;
        let session = first.session;
        let inputs = self.reading.inputs.clone();
        let filter = Box::new(copies.second_pass(known.clone(), threads)?);
        let mut second = Pass::over(self, &used, filter, outputs, Some(session.second()?))?;
        inputs.check_states(&before)?;
        if plan.counts {
            second.job.reading.hashing.known = known;
        }
        second.finish(Exit::Success)
    }
}

impl Pass {
    /// Refuses impossible jobs; then opens the filter, begins or resumes the run, and reads all records.
    pub(crate) fn of(job: Job) -> Result<Self> {
        let used = job.prepare()?;
        let filter = job.open_filter(&used)?;
        let outputs = Outputs::open(job.output_spec(&used))?;
        Self::over(job, &used, filter, outputs, None)
    }

    /// Reads all records with this filter, and writes to these outputs. In a second pass, the `session` continues.
    fn over(
        mut job: Job,
        used: &UsedFiles,
        mut filter: Box<dyn RunFilter>,
        mut outputs: Outputs,
        session: Option<Session>,
    ) -> Result<Self> {
        let profile = filter.profile();
        job.reading.agree_with(&mut *filter, &profile.name)?;
        if !job.known.is_empty() {
            let verbosity = job.running.verbosity;
            job.reading.know(&job.known, profile.hasher, &job.filter, verbosity)?;
        }
        if let (Some(times), Some(window)) = (&mut job.reading.hashing.keys.times, profile.window) {
            // Times up to one generation in the future are accepted: clocks differ.
            times.believe(window.step());
        }
        let spec = job.output_spec(used);
        let recorder = job.begin(&mut *filter, &profile, spec, &mut outputs)?;
        let counts = recorder.as_ref().map_or_else(Counts::default, |it| it.counts);
        // A new output is empty now, and that of an interrupted run ends at its last checkpoint.
        let begun = job.reading.has_begun_output(&job.to)?;
        let session = match session {
            Some(session) => session,
            None => Session::begin(counts.shown(job.op).0, &job, &used.inputs, 1)?,
        };
        outputs.format = match job.op {
            Op::Count if job.reading.keeps_missing() => OutputFormat::Counted,
            Op::Count => OutputFormat::CountedWithKey,
            _ => job.prefix.map_or(OutputFormat::Selected, OutputFormat::Prefixed),
        };
        let mut pipeline = session.pipeline(&job, &profile);
        pipeline.hashing.done = recorder.as_ref().map(Recorder::done).unwrap_or_default();
        pipeline.reader.pause = recorder.as_ref().and_then(Recorder::pause);
        pipeline.reader.means.verbosity = job.running.verbosity;
        let counts = counts.with_items_before(profile.items);
        let run = Self::new(job, filter, profile, session);
        Self { recorder, counts, begun, ..run }.read(pipeline, outputs)
    }

    /// Reads all records in a first pass, which only fills the filter.
    fn tally(job: Job, used: &UsedFiles, filter: Box<dyn RunFilter>) -> Result<Self> {
        let session = Session::begin(Counts::default().shown(job.op).0, &job, &used.inputs, 2)?;
        let profile = filter.profile();
        let pipeline = session.pipeline(&job, &profile);
        let mut outputs = Outputs::open(job.output_spec(used))?;
        let mut run = Self::new(job, filter, profile, session);
        pipeline.run(&mut run, &mut outputs)?;
        run.session.check_keys(&run.job)?;
        Ok(run)
    }

    fn new(job: Job, filter: Box<dyn RunFilter>, profile: Profile, session: Session) -> Self {
        Self {
            job,
            filter,
            profile,
            session,
            recorder: None,
            counts: Counts::default(),
            outcome: Outcome::Whole,
            printed: 0,
            begun: false,
            synced: Synced::default(),
        }
    }

    fn read(mut self, pipeline: Pipeline, mut outputs: Outputs) -> Result<Self> {
        let read = pipeline.run(&mut self, &mut outputs);
        let synced = self.session.end(read, &self.job).and_then(|()| {
            if matches!(self.outcome, Outcome::Whole) && caught_signal().is_none() {
                outputs.complete()?;
            }
            // The outputs must first contain the records that the filter remembers, and those removed from it.
            if self.profile.is_saved { outputs.sync() } else { Ok(Synced::default()) }
        });
        match synced {
            Ok(synced) => Ok(Self { synced, ..self }),
            Err(failure) => {
                self.say_doubts();
                self.filter.roll_back();
                Err(failure)
            }
        }
    }

    /// Says for which records it is uncertain what a server has done.
    fn say_doubts(&self) {
        let doubts = self.filter.doubts(self.job.op);
        if let Some(note) = doubts {
            self.job.running.verbosity.say(note);
        }
    }

    /// The number of records printed; `None` if a server left some without an answer.
    pub(crate) fn printed(&self) -> Option<u64> {
        (!matches!(self.outcome, Outcome::GaveUp { .. })).then_some(self.printed)
    }

    /// Saves the filter, and prints the figures. The exit code is `otherwise` unless an error or a signal determines
    /// it.
    pub(crate) fn finish(mut self, otherwise: Exit) -> Result<Exit> {
        let op = self.job.op;
        if let Some(left) = self.outcome.left_open(op) {
            // A signal may have ended the wait for the server.
            return Err(Failure::ending(Exit::Error.or_signal(), &self.profile.name, left));
        }
        self.say_doubts();
        let refusal = self.refusal();
        let is_early = matches!(self.outcome, Outcome::Full { .. }) || caught_signal().is_some();
        let how = if is_early { resume::RunEnd::Early } else { resume::RunEnd::Whole };
        let Self { job, mut filter, profile, session, recorder, counts, synced, .. } = self;
        let closed = recorder
            .map_or(Ok(()), |it| it.end(how, &mut *filter, &profile.name, synced, &counts))
            .and_then(|()| filter.finish(&counts, job.running.figures));
        let summary = match (closed, &refusal) {
            (Err(failure), Some(_)) => {
                failure.report_if_unsynced()?;
                return refusal.map_or(Ok(otherwise), Err);
            }
            (closed, _) => closed?,
        };
        match (refusal, report(&job, &profile.name, &session, &counts, summary)) {
            (Some(refusal), _) => Err(refusal),
            // Exit code 2 would say that nothing is saved, and there is no place for a message.
            (None, Err(failure)) if !profile.is_saved => Err(failure),
            (None, _) => Ok(otherwise.or_signal()),
        }
    }

    /// The failure if there was no room for a record.
    fn refusal(&mut self) -> Option<Failure> {
        let Outcome::Full { record, no_room: NoRoom { why, remedy } } = &self.outcome else {
            return None;
        };
        let is_resumable = self.recorder.as_ref().is_some_and(Recorder::is_resumable);
        let remedy = match self.filter.runs() {
            None => remedy,
            Some(_) if is_resumable => {
                "make room with `coua remove`, then run the same command with --resume"
            }
            Some(_) => "make room with `coua remove`, then continue from that record",
        };
        let state = match self.job.op {
            Op::Dedup if !self.profile.is_saved => "printed",
            Op::Dedup => "printed and in the filter",
            _ => "in the filter",
        };
        let reason = format!(
            "{why}; stopped at {record} (earlier records are {state}; this and later ones are not); {remedy}"
        );
        Some(Failure::ending(Exit::Full, &self.profile.name, reason))
    }
}

/// Prints the figures of a run, or what is unusual about it.
fn report(
    job: &Job,
    name: &str,
    session: &Session,
    counts: &Counts,
    mut summary: Summary,
) -> Result<()> {
    let (op, verbosity) = (job.op, job.running.verbosity);
    if counts.new > 0 {
        job.reading.hashing.known.hints().for_each(|hint| verbosity.say(hint));
    }
    let known = job.reading.hashing.known.expected_wrongly_found(counts.new);
    summary.expected = summary.expected.map(|expected| expected + known);
    if let Ok(figures) = &summary.figures
        && let Some(beyond) = figures.beyond_capacity().filter(|_| op.inserts())
    {
        verbosity.say(format_args!("{name}: {beyond}"));
    }
    let (own, stored) = (job.reading.key_spec(), job.reading.stored.as_ref());
    let hint = stored.and_then(|stored| own.missing_finders(stored));
    let nothing = counts.nothing_found(op).filter(|_| job.wants_found() || hint.is_some());
    if let Some(nothing) = nothing {
        let hint = hint.map_or_else(String::new, |hint| format!(": {hint}"));
        verbosity.say(format_args!("{name}: {nothing}{hint}"));
    } else if let Some(stored) = stored.filter(|_| op.inserts())
        && let Some(other) = own.other_finders(stored)
    {
        verbosity.say(format_args!("{name}: {other}"));
    }
    if let Some(format) = job.running.figures {
        let expected = counts.expected_wrong(op, &summary);
        let write_answers = |report: &mut _| counts.write_report(op, expected, report);
        return summary.figures.and_then(|it| session.print_figures(format, write_answers, it));
    }
    let warning = match op {
        Op::Dedup => counts.warning(&summary, job.filter.rate, known),
        Op::Remove => counts.removal_warning(&summary),
        _ => None,
    };
    if let Some(warning) = warning {
        verbosity.say(format_args!("{name}: {warning}"));
    }
    Ok(())
}

/// A pass over all records, and its state at the end.
pub(crate) struct Pass {
    job: Job,
    filter: Box<dyn RunFilter>,
    profile: Profile,
    session: Session,
    /// The recorder, if the run can be resumed.
    recorder: Option<Recorder>,
    counts: Counts,
    outcome: Outcome,
    /// The number of records printed.
    printed: u64,
    /// The output had records before.
    begun: bool,
    /// The ends of the outputs, once everything is synced.
    synced: Synced,
}

impl Pass {
    /// Selects the records for the output.
    fn select(&mut self, batch: &mut Batch) {
        let keys = &batch.keys;
        let Answers { found, selected, .. } = &mut batch.answers;
        let Some(wanted) = self.job.printed else { return };
        let found = found.iter().map(|found| *found == wanted);
        let passes = |reason: &Reason| match reason {
            Reason::Header(header) => {
                let is_first = *header == Header::First;
                let to = self.job.to.records.as_ref();
                !self.begun && to.map_or(is_first, |to| to.has_header(*header))
            }
            Reason::Comment => true,
            _ => self.job.reading.passes(reason, wanted),
        };
        keys.spread(found, passes, selected);
        selected.iter_mut().take(keys.done).for_each(|selected| *selected = false);
        if self.job.op == Op::Check {
            let printed = selected.iter().filter(|selected| **selected).count();
            // Headers and comments are printed, but are no records.
            let answered = keys.missing_keys.iter().take_while(|it| it.record < selected.len());
            let others = answered
                .filter(|it| matches!(it.reason, Reason::Header(Header::First) | Reason::Comment));
            self.printed += (printed - others.count()) as u64;
        }
    }

    /// Ends the run after a filter has stopped.
    fn stop(&mut self, batch: &mut Batch, stop: Stop) {
        match stop {
            Stop::Lost { failure, unanswered } => {
                self.session.record(batch, batch.block.len());
                let (reason, block) = (failure.reason().to_owned(), &batch.block);
                let last = block.record_name(block.len().saturating_sub(1));
                self.outcome =
                    Outcome::GaveUp { reason, unanswered, first: block.record_name(0), last };
            }
            Stop::Full { nth, no_room } => {
                let place = batch.keys.record_of_hash(nth);
                self.session.record(batch, place);
                if let Some(recorder) = &mut self.recorder {
                    recorder.roll_back(&batch.block, place);
                }
                batch.answers.selected.truncate(place);
                self.outcome = Outcome::Full { record: batch.block.record_name(place), no_room };
            }
        }
    }
}

impl BlockHandler for Pass {
    fn answer(&mut self, batch: &mut Batch) -> Result<Flow> {
        if let Some(recorder) = &mut self.recorder {
            recorder.enter(&batch.block)?;
        }
        let answered = self.filter.answer(self.job.op, batch);
        self.counts.record(batch);
        self.select(batch);
        if let Err(stop) = answered {
            self.stop(batch, stop);
            return Ok(Flow::Enough);
        }
        self.session.record(batch, batch.block.len());
        self.session.show(self.counts.shown(self.job.op).1);
        Ok(Flow::Continue)
    }

    fn checkpoint_is_due(&mut self) -> bool {
        match &self.recorder {
            Some(recorder) => recorder.is_due(),
            None => self.filter.sync_is_due(),
        }
    }

    fn checkpoint(&mut self, synced: Synced) -> Result<()> {
        match &mut self.recorder {
            Some(recorder) => recorder.commit(&mut *self.filter, synced, &self.counts),
            None => self.filter.commit(),
        }
    }
}

/// Whether all records were done.
#[derive(Debug, Default)]
enum Outcome {
    #[default]
    Whole,
    /// There was no room for this record; later records were not done.
    Full { record: String, no_room: NoRoom },
    /// The server cannot be reached, or refuses requests, and `unanswered` records have no answer. All records before
    /// `first` were answered; `last` is the last one that was sent.
    GaveUp { reason: String, unanswered: u64, first: String, last: String },
}

impl Outcome {
    /// The message about records without an answer, if the server has failed.
    fn left_open(&self, op: Op) -> Option<String> {
        let Self::GaveUp { reason, unanswered, first, last } = self else { return None };
        let rest = match op {
            Op::Dedup => format!(
                "printed whether seen before or not, and perhaps not in the filter; stopped after {last}"
            ),
            Op::Add | Op::AddNew => {
                format!("may or may not be in the filter; all before {first} are")
            }
            Op::Remove => "may or may not be removed".to_owned(),
            Op::Check | Op::Count => return Some(reason.clone()),
        };
        let unanswered = counted(*unanswered, "record");
        Some(format!("{reason}; no reply for {unanswered}: {rest}"))
    }
}

/// A running command.
#[derive(Debug)]
struct Session {
    /// Canceled when the user ends the command.
    stop: Arc<CancelToken>,
    counters: Arc<Counters>,
    threads: NonZeroUsize,
    /// `None` at the end.
    progress: Option<Progress>,
    /// The records answered so far, including those without a key, but not CSV headers.
    records: u64,
    bytes: u64,
    census: KeyCensus,
}

/// The records that lack a key.
#[derive(Debug, Default)]
struct KeyCensus {
    /// Whether a record had a key (also one of another shard or a known one), or may get one with its end.
    has_keys: bool,
    without_key: u64,
    /// The first record without a key, and what the record lacks.
    first: Option<String>,
    /// Whether a record lacks more than a readable time.
    lacks_more: bool,
}

impl KeyCensus {
    /// Counts the records of a block before this place.
    fn count(&mut self, Batch { block, keys, .. }: &Batch, place: usize) {
        self.has_keys |= keys.may_have_keys();
        for it in keys.missing_keys.iter().take_while(|it| it.record < place) {
            let Reason::Missing(missing) = &it.reason else { continue };
            self.without_key += 1;
            self.lacks_more |= !matches!(missing, Missing::Time(_));
            let words = || format!("{}: {missing}", block.record_name(it.record));
            self.first.get_or_insert_with(words);
        }
    }

    /// The number of records without a key, and what these records lack.
    fn lacking(&self) -> String {
        let records = counted(self.without_key, "record");
        format!("{records} without a {}", if self.lacks_more { "key" } else { "usable time" })
    }

    /// Returns an error if no record had a key, and no option covers such records.
    fn check(&self, hashing: &Hashing) -> Result<()> {
        let is_said = hashing.on_missing.is_some();
        let Some(first) = self.first.as_ref().filter(|_| !self.has_keys && !is_said) else {
            return Ok(());
        };
        let records = counted(self.without_key, "record");
        let reason = if self.lacks_more {
            format!("no key in {records}; fix the option that selects keys, or add --missing")
        } else {
            format!("no usable time in {records}; fix --time-field or --time-format")
        };
        Err(Failure::at(first, reason))
    }
}

impl Session {
    /// Begins a session, which handles signals. `counted` is the counter that the command [shows](Self::show).
    fn begin(counted: &'static str, job: &Job, inputs: &Survey, passes: u64) -> Result<Self> {
        let total_bytes = inputs.total_bytes.map(|bytes| bytes * passes);
        let counters = Arc::new(Counters::new(total_bytes, counted));
        let progress = Progress::of(job.running.verbosity, counters.clone());
        Ok(Self {
            stop: signals::listen(counters.clone())?,
            progress: Some(progress),
            counters,
            threads: job.running.threads(inputs),
            records: 0,
            bytes: 0,
            census: KeyCensus::default(),
        })
    }

    /// The session of the second pass.
    fn second(self) -> Result<Self> {
        let (stop, census) = (signals::listen(self.counters.clone())?, KeyCensus::default());
        Ok(Self { stop, records: 0, bytes: 0, census, ..self })
    }

    /// The pipeline from the records to the filter.
    fn pipeline(&self, job: &Job, filter: &Profile) -> Pipeline {
        let reading = &job.reading;
        let (stop, consumed) = (self.stop.clone(), self.counters.consumed.clone());
        let means = Means { stop, consumed, verbosity: Verbosity::Quiet };
        let mut reader = reading.reader(reading.inputs.clone(), job.to.mixing(), means);
        reader.block_bytes = filter.block_bytes;
        let (hasher, wanted) = (filter.hasher, filter.wanted);
        let hashing = Hashing { hasher, wanted, ..reading.hashing.clone() };
        let (threads, stop) = (self.threads, self.stop.clone());
        Pipeline { reader, hashing, prefetch: filter.prefetch.clone(), threads, stop }
    }

    /// Counts the answered records of a block, those before this place.
    fn record(&mut self, batch: &Batch, place: usize) {
        let Batch { block, keys, .. } = batch;
        self.records += place as u64;
        self.bytes += place.checked_sub(1).map_or(0, |last| block.ends[last]) as u64;
        self.census.count(batch, place);
        let before = keys.missing_keys.iter().take_while(|it| it.record < place);
        let is_other =
            |reason| matches!(reason, &Reason::Header(_) | Reason::Comment | Reason::OtherShard);
        // These do not belong to the run.
        self.records -= before.filter(|it| is_other(&it.reason)).count() as u64;
    }

    /// Updates the progress.
    fn show(&self, count: u64) {
        self.counters.update(self.records, count);
    }

    /// Removes the progress line and reports records without a key. Returns the error of `read`, or an error if no
    /// record had a key and no option covers such records.
    fn end(&mut self, read: Result<()>, job: &Job) -> Result<()> {
        self.progress = None;
        if read.is_ok() {
            self.check_keys(job)?;
        }
        let Some(first) = &self.census.first else { return read };
        let lacking = self.census.lacking();
        let fate = match job.op {
            Op::Add | Op::AddNew => "not added",
            Op::Remove => "not removed",
            _ if job.reading.keeps_missing() && job.printed == Some(Seen::Repeat) => {
                "counted as new"
            }
            _ if job.reading.keeps_missing() => "passed through",
            _ => "dropped",
        };
        job.running.verbosity.say(format_args!("{lacking} {fate} (first: {first})"));
        read
    }

    /// Returns an error if no record had a key, and no option covers such records.
    fn check_keys(&self, job: &Job) -> Result<()> {
        let is_stopped = caught_signal().is_some();
        if is_stopped { Ok(()) } else { self.census.check(&job.reading.hashing) }
    }

    /// Prints the figures to standard error. `write_answers` adds those of the answers.
    fn print_figures(
        &self,
        format: ReportFormat,
        write_answers: impl FnOnce(&mut Report),
        filter: FilterFigures,
    ) -> Result<()> {
        let mut report = Report::default();
        report.number("records", "records", self.records);
        report.bytes("bytes", "bytes", self.bytes);
        write_answers(&mut report);
        let without_key = self.census.without_key;
        report.field("without_key", without_key);
        report.row_if_any("without key", (without_key > 0).then(|| grouped(without_key)));
        filter.write_report(&mut report);
        report.measure("seconds", "seconds", self.counters.seconds(), |it| format!("{it:.3}"));
        let text = match format {
            ReportFormat::Text => report.table(),
            ReportFormat::Json => serde_json::to_string(&report).unwrap_or_default() + "\n",
        };
        // The user asked for the figures, so a failure to write them is an error.
        let written = io::stderr().lock().write_all(text.as_bytes());
        written.map_err(|error| Failure::write(Stream::Error.name(), &error))
    }
}

//! The parts shared by all commands that read records: signals, progress, threads, records without a key.

use crate::filter::{FilterFigures, Op, Profile};
use crate::input::{Means, Survey};
use crate::key::{Hashing, Missing, Reason, Seen};
use crate::pipeline::{Batch, Pipeline};
use crate::run::job::Job;
use crate::terminal::{
    CancelToken, Counters, Failure, Progress, Report, ReportFormat, Result, Stream, Verbosity,
    caught_signal, counted, grouped, signals,
};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::Arc;

/// A running command.
#[derive(Debug)]
pub(super) struct Session {
    /// Canceled when the user ends the command.
    pub(super) stop: Arc<CancelToken>,
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
pub(super) struct KeyCensus {
    /// Whether a record had a key (also one of another shard or a known one), or may get one with its end.
    has_keys: bool,
    without_key: u64,
    /// The first record without a key, and what the record lacks.
    pub(super) first: Option<String>,
    /// Whether a record lacks more than a readable time.
    lacks_more: bool,
}

impl KeyCensus {
    /// Counts the records of a block before this place.
    pub(super) fn count(&mut self, Batch { block, keys, .. }: &Batch, place: usize) {
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
    pub(super) fn lacking(&self) -> String {
        let records = counted(self.without_key, "record");
        format!("{records} without a {}", if self.lacks_more { "key" } else { "usable time" })
    }

    /// Returns an error if no record had a key, and no option covers such records.
    pub(super) fn check(&self, hashing: &Hashing) -> Result<()> {
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
    pub(super) fn begin(
        counted: &'static str,
        job: &Job,
        inputs: &Survey,
        passes: u64,
    ) -> Result<Self> {
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
    pub(super) fn second(self) -> Result<Self> {
        let (stop, census) = (signals::listen(self.counters.clone())?, KeyCensus::default());
        Ok(Self { stop, records: 0, bytes: 0, census, ..self })
    }

    /// The pipeline from the records to the filter.
    pub(super) fn pipeline(&self, job: &Job, filter: &Profile) -> Pipeline {
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
    pub(super) fn record(&mut self, batch: &Batch, place: usize) {
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
    pub(super) fn show(&self, count: u64) {
        self.counters.update(self.records, count);
    }

    /// Removes the progress line and reports records without a key. Returns the error of `read`, or an error if no
    /// record had a key and no option covers such records.
    pub(super) fn end(&mut self, read: Result<()>, job: &Job) -> Result<()> {
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
    pub(super) fn check_keys(&self, job: &Job) -> Result<()> {
        let is_stopped = caught_signal().is_some();
        if is_stopped { Ok(()) } else { self.census.check(&job.reading.hashing) }
    }

    /// Prints the figures to standard error. `write_answers` adds those of the answers.
    pub(super) fn print_figures(
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

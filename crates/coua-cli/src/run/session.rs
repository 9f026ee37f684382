//! What all commands that read records share: signals, progress, threads, records without a key.

use crate::input::Survey;
use crate::input::reader::BlockReader;
use crate::key::answers::Found;
use crate::key::hashing::{Hashing, OnMissing, Wanted};
use crate::key::keyed::{Keyless, Why};
use crate::key::parts::Missing;
use crate::pipeline::{Batch, Pipeline};
use crate::record::block::Header;
use crate::run::job::Manner;
use crate::run::reading::Reading;
use crate::target::Target;
use crate::terminal::exit;
use crate::terminal::figures::FilterFigures;
use crate::terminal::message::{Failure, Notes};
use crate::terminal::progress::{Counters, Watch};
use crate::terminal::report::{Format, Report};
use crate::terminal::signals::{self, Stop};
use crate::terminal::stream::Stream;
use crate::terminal::text::{counted, grouped};
use std::io::{self, Write};
use std::sync::Arc;

/// A command at work.
#[derive(Debug)]
pub(super) struct Session {
    stop: Arc<Stop>,
    counters: Arc<Counters>,
    /// None at the end.
    progress: Option<Watch>,
    manner: Manner,
    /// If it was said.
    on_missing: Option<OnMissing>,
    /// Records answered for so far, those without a key among them; CSV headers are none.
    records: u64,
    bytes: u64,
    without_key: u64,
    /// Whether some record had a key, be it another run's, or may get one with its end.
    some_key: bool,
    first_without_key: Option<String>,
}

impl Session {
    /// From here on signals are answered. `on_missing` is the policy of the command line; `counted` is what
    /// the command [shows](Self::show).
    pub(super) fn begin(
        counted: &'static str,
        manner: Manner,
        on_missing: Option<OnMissing>,
        inputs: &Survey,
    ) -> Result<Self, Failure> {
        let stop = Arc::new(Stop::new()?);
        let counters = Arc::new(Counters::new(inputs.total_bytes, counted));
        signals::listen(stop.clone(), counters.clone())?;
        Ok(Self {
            stop,
            progress: Some(Watch::on_records(manner.shown, counters.clone())),
            counters,
            manner,
            on_missing,
            records: 0,
            bytes: 0,
            without_key: 0,
            some_key: false,
            first_without_key: None,
        })
    }

    /// The way of the records to the filter.
    pub(super) fn pipeline(&self, reading: &Reading, target: &Target) -> Pipeline {
        let headers = reading.headers();
        let mut reader = BlockReader::new(
            reading.inputs.clone(),
            reading.format.clone(),
            headers,
            self.stop.clone(),
            self.counters.consumed.clone(),
        );
        reader.block_size = target.block_size();
        let hashing = Hashing {
            format: reading.format.clone(),
            keys: reading.keys.clone(),
            hasher: target.hasher(),
            on_missing: reading.on_missing,
            shard: reading.shard,
            wanted: if target.wants_keys() { Wanted::Key } else { Wanted::Hash },
        };
        let (threads, stop) = (self.manner.threads, self.stop.clone());
        Pipeline { reader, hashing, early: target.early(), threads, stop }
    }

    /// Tells when the user wants it to end.
    pub(super) fn stop(&self) -> Arc<Stop> {
        self.stop.clone()
    }

    /// Counts a block.
    pub(super) fn note(&mut self, batch: &Batch) {
        let Batch { block, keyed, .. } = batch;
        self.records += block.len() as u64;
        self.bytes += block.size() as u64;
        let may_have = |keyless: &Keyless| {
            matches!(keyless.why, Why::OtherShard | Why::Missing(Missing::OpenQuote))
        };
        self.some_key |= !keyed.hashes.is_empty() || keyed.keyless.iter().any(may_have);
        for keyless in &keyed.keyless {
            let Why::Missing(missing) = &keyless.why else {
                // No record of this run.
                self.records -= 1;
                continue;
            };
            self.without_key += 1;
            let words = || format!("{}: {missing}", block.record_name(keyless.record));
            self.first_without_key.get_or_insert_with(words);
        }
    }

    /// Takes back what was noted about the records from `place` on: they were not answered for.
    pub(super) fn take_back(&mut self, batch: &Batch, place: usize) {
        let Batch { block, keyed, .. } = batch;
        let from_there = || keyed.keyless.iter().filter(|keyless| keyless.record >= place);
        let without_key = from_there().filter(|keyless| keyless.why.is_record()).count();
        let no_records = from_there().count() - without_key;
        self.records -= (block.len() - place - no_records) as u64;
        self.without_key -= without_key as u64;
        if self.without_key == 0 {
            self.first_without_key = None;
        }
        self.bytes -= block.records().skip(place).map(|record| record.len() as u64).sum::<u64>();
    }

    /// Whether a record without an answer is printed, where records with this answer are: the first header
    /// everywhere, a record without a key as one that was never seen.
    pub(super) fn passes(&self, why: &Why, wanted: Found) -> bool {
        match why {
            Why::Header(header) => *header == Header::First,
            Why::Missing(_) => wanted == Found::No && self.keeps_keyless(),
            Why::OtherShard => false,
        }
    }

    /// Whether a record without a key passes.
    pub(super) fn keeps_keyless(&self) -> bool {
        matches!(self.on_missing, None | Some(OnMissing::Keep))
    }

    /// Shows how far the work is.
    pub(super) fn show(&self, count: u64, load: Option<f64>) {
        self.counters.update(self.records, count, load);
    }

    /// Takes the progress away and tells about records without a key. Complains if that was all that were
    /// `read`, and nobody has said what to do with such.
    pub(super) fn end(&mut self, read: Result<(), Failure>) -> Result<(), Failure> {
        self.progress = None;
        if let (Ok(()), Some(first), None) = (&read, &self.first_without_key, self.on_missing)
            && !self.some_key
            && exit::caught().is_none()
        {
            let records = counted(self.without_key, "record");
            let reason = format_args!(
                "no key in {records}; correct the option that says where keys are, or give \
                 --on-missing as well"
            );
            return Err(Failure::at(first, reason));
        }
        if let Some(first) = &self.first_without_key {
            let records = counted(self.without_key, "record");
            let fate = if self.keeps_keyless() { "passed through" } else { "left out" };
            self.notes().say(format_args!("{records} without a key {fate}: first {first}"));
        }
        read
    }

    pub(super) fn notes(&self) -> Notes {
        self.manner.notes
    }

    /// Tells about records that came too late to be remembered.
    pub(super) fn tell_outdated(&self, outdated: u64) {
        if outdated > 0 {
            let records = counted(outdated, "record");
            self.notes()
                .say(format_args!("not remembered, because older than the window: {records}"));
        }
    }

    /// Tells what is odd about the answers of the filter of that name, unless figures do.
    pub(super) fn warn(&self, name: &str, warning: Option<String>) {
        if let (None, Some(warning)) = (self.manner.figures, warning) {
            self.notes().say(format_args!("{name}: {warning}"));
        }
    }

    /// Prints the figures on standard error, if they are wanted; only then `describe` is asked for those of the
    /// answers, and of the filter.
    pub(super) fn print_figures(
        &self,
        describe: impl FnOnce(&mut Report) -> Result<FilterFigures, Failure>,
    ) -> Result<(), Failure> {
        let Some(format) = self.manner.figures else { return Ok(()) };
        let mut report = Report::default();
        report.number("records", "records", self.records);
        report.bytes("bytes", "bytes", self.bytes);
        let filter = describe(&mut report)?;
        report.field("without_key", self.without_key);
        if self.without_key > 0 {
            report.row("without key", grouped(self.without_key));
        }
        filter.tell(&mut report);
        report.measure("seconds", "seconds", self.counters.seconds(), |it| format!("{it:.3}"));
        let text = match format {
            Format::Text => report.table(),
            Format::Json => serde_json::to_string(&report).unwrap_or_default() + "\n",
        };
        // They were asked for: that they cannot be written is an error.
        let written = io::stderr().lock().write_all(text.as_bytes());
        written.map_err(|error| Failure::write(Stream::Error.name(), &error))
    }
}

//! What all commands that read records share: signals, progress, threads, records without a key.

use crate::cli::input::{OnMissing, Reading};
use crate::cli::run::{Quiet, RunArgs, StatsFormat};
use crate::input::Survey;
use crate::input::reader::BlockReader;
use crate::key::Missing;
use crate::key::hashing::{Hashing, Wanted};
use crate::pipeline::Pipeline;
use crate::record::block::{Block, Header, Keyless, Why};
use crate::resume::Ending;
use crate::terminal::exit::Exit;
use crate::terminal::figures::{Answers, Figures, FilterFigures};
use crate::terminal::message::{self, Failure};
use crate::terminal::progress::{Counted, Counters, Progress};
use crate::terminal::signals::{self, Stop};
use crate::terminal::text::grouped;
use coua::window::Generations;
use coua::{Insertion, KeyHasher};
use std::io;
use std::sync::Arc;

/// A command at work.
#[derive(Debug)]
pub(crate) struct Session {
    stop: Arc<Stop>,
    counters: Arc<Counters>,
    progress: Progress,
    threads: usize,
    quiet: Quiet,
    stats: Option<StatsFormat>,
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
    pub(crate) fn begin(
        counted: Counted,
        run: &RunArgs,
        quiet: Quiet,
        on_missing: Option<OnMissing>,
        inputs: &Survey,
    ) -> Result<Self, Failure> {
        let stop = Stop::new().map_err(|error: io::Error| Failure::io("signals", &error))?;
        let stop = Arc::new(stop);
        let counters = Arc::new(Counters::new(inputs.total_bytes, counted));
        signals::listen(stop.clone(), counters.clone())?;
        Ok(Self {
            stop,
            progress: Progress::new(counters.clone(), quiet),
            counters,
            threads: run.threads(),
            quiet,
            stats: run.stats,
            on_missing,
            records: 0,
            bytes: 0,
            without_key: 0,
            some_key: false,
            first_without_key: None,
        })
    }

    /// The way of the records; `hasher` is the filter's.
    pub(crate) fn pipeline(&self, reading: Reading, hasher: KeyHasher) -> Pipeline {
        let headers = reading.headers();
        let reader = BlockReader::new(
            reading.inputs,
            reading.format.clone(),
            headers,
            self.stop.clone(),
            self.counters.consumed.clone(),
        );
        let hashing = Hashing {
            format: reading.format,
            keys: reading.keys,
            hasher,
            on_missing: reading.on_missing,
            shard: reading.shard,
            wanted: Wanted::default(),
        };
        Pipeline { reader, hashing, threads: self.threads, stop: self.stop.clone() }
    }

    /// Tells when the user wants it to end.
    pub(crate) fn stop(&self) -> Arc<Stop> {
        self.stop.clone()
    }

    /// Whether `--stats` was given.
    pub(crate) fn wants_figures(&self) -> bool {
        self.stats.is_some()
    }

    /// Counts a block.
    pub(crate) fn note(&mut self, block: &Block) {
        self.records += block.len() as u64;
        self.bytes += block.size() as u64;
        let may_have = |keyless: &Keyless| {
            matches!(keyless.why, Why::OtherShard | Why::Missing(Missing::OpenQuote))
        };
        self.some_key |= !block.hashes.is_empty() || block.keyless.iter().any(may_have);
        for keyless in &block.keyless {
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
    pub(crate) fn take_back(&mut self, block: &Block, place: usize) {
        let from_there = || block.keyless.iter().filter(|keyless| keyless.record >= place);
        let without_key = from_there().filter(|keyless| keyless.why.is_record()).count();
        let no_records = from_there().count() - without_key;
        self.records -= (block.len() - place - no_records) as u64;
        self.without_key -= without_key as u64;
        if self.without_key == 0 {
            self.first_without_key = None;
        }
        self.bytes -= block.records().skip(place).map(|record| record.len() as u64).sum::<u64>();
    }

    /// Records so far.
    pub(crate) fn records(&self) -> u64 {
        self.records
    }

    /// Whether a record without an answer is printed, where records with this answer are: the first header
    /// everywhere, a record without a key as one that was never seen.
    pub(crate) fn passes(&self, why: &Why, wanted: Insertion) -> bool {
        match why {
            Why::Header(header) => *header == Header::First,
            Why::Missing(_) => wanted == Insertion::Inserted && self.keeps_keyless(),
            Why::OtherShard => false,
        }
    }

    /// Whether a record without a key passes.
    pub(crate) fn keeps_keyless(&self) -> bool {
        matches!(self.on_missing, None | Some(OnMissing::Keep))
    }

    /// Shows how far the work is.
    pub(crate) fn show(&mut self, count: u64, load: impl Into<Option<f64>>) {
        self.counters.update(self.records, count, load.into());
        self.progress.tick();
    }

    /// Takes the progress away and tells about records without a key. Complains if that was all that were
    /// `read`, and nobody has said what to do with such.
    pub(crate) fn end(&mut self, read: Result<(), Failure>) -> Result<(), Failure> {
        self.progress.clear();
        if let (Ok(()), Some(first), None) = (&read, &self.first_without_key, self.on_missing)
            && !self.some_key
            && self.stop.signal().is_none()
        {
            let number = grouped(self.without_key);
            let reason = format_args!(
                "none of {number} records has a key; correct the option that says where keys are, or give \
                 --on-missing as well"
            );
            return Err(Failure::at(first, reason));
        }
        if let Some(first) = &self.first_without_key
            && !self.quiet.quiet
        {
            let number = grouped(self.without_key);
            let fate = if self.keeps_keyless() { "let pass" } else { "left out" };
            message::say(format_args!("{number} records without a key were {fate}: first {first}"));
        }
        read
    }

    /// Tells about records that came too late to be remembered.
    pub(crate) fn tell_outdated(&self, filter: &Generations) {
        if filter.outdated() > 0 && !self.quiet.quiet {
            let number = grouped(filter.outdated());
            message::say(format_args!(
                "{number} records were older than the window, and are not remembered"
            ));
        }
    }

    /// Prints the figures that `--stats` asks for.
    pub(crate) fn print_figures(
        &self,
        answers: Answers,
        filter: impl Into<FilterFigures>,
    ) -> Result<(), Failure> {
        let Some(format) = self.stats else { return Ok(()) };
        let figures = Figures {
            records: self.records,
            bytes: self.bytes,
            answers,
            without_key: self.without_key,
            filter: filter.into(),
            seconds: self.counters.seconds(),
        };
        figures.print(format)
    }

    /// How the reading has ended: early, if a signal came.
    pub(crate) fn ending(&self) -> Ending {
        if self.stop.signal().is_some() { Ending::Early } else { Ending::Whole }
    }

    /// The exit code: `otherwise`, unless a signal ended the reading.
    pub(crate) fn exit(&self, otherwise: Exit) -> Exit {
        self.stop.signal().map_or(otherwise, Exit::Signal)
    }
}

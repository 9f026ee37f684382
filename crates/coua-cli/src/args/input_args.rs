//! Options for inputs: which files, where records end, which part is the key.

use super::key_args::{Bytes, KeyArgs, TimeSource};
use super::value;
use crate::filter::{FilterSpec, Location, Op};
use crate::input::{Coding, Inputs};
use crate::key::{Dialect, Hashing, Keys, Known, OnMissing, Wanted};
use crate::platform;
use crate::record::RecordFormat;
use crate::run::{InputPlan, Job, Running};
use crate::runs::JobSpec;
use crate::terminal::{Failure, Result};
use clap::Args;
use coua::KeyHasher;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The inputs, their records and their keys.
#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// Files to read, one after the other [default: standard input, also `-`]
    ///
    /// Files compressed with gzip, zstd, xz, bzip2 or lz4 are recognized by their first 3 to 10 bytes. A record ends
    /// with its file. A carriage return before a newline is not part of the key.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Also read the files that LIST (or `-`) names: one per line, or each ended by NUL
    #[arg(
        long,
        value_name = "LIST",
        hide_short_help = true,
        help_heading = "Records and keys (default: a line is its own key)"
    )]
    files_from: Option<PathBuf>,

    #[command(flatten)]
    records: RecordArgs,

    #[command(flatten)]
    keys: KeyArgs,
}

/// A filter file and the records.
#[derive(Args, Debug)]
pub(crate) struct TargetArgs {
    /// The filter: a file, or `valkey://HOST[:PORT]/NAME[?shards=N]`
    #[arg(value_name = "FILTER")]
    filter_file: PathBuf,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}

impl TargetArgs {
    /// A job with the records, which may have times.
    pub(crate) fn job(
        &self,
        op: Op,
        time: Option<TimeSource<'_>>,
        filter: FilterSpec,
        running: Running,
    ) -> Result<Job> {
        let (reading, location) = (self.input.reading(time)?, Location::of(&self.filter_file)?);
        Ok(Job::new(op, reading, Some(location), filter, running))
    }
}

/// Where records end. The field names are part of the file format: filters store them to recognize a run.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Records and keys (default: a line is its own key)")]
struct RecordArgs {
    /// Records end with a NUL byte instead of a newline
    #[arg(short = '0', long, short_alias = 'z', alias = "zero-terminated", conflicts_with_all = ["delimiter", "csv", "tsv"])]
    null: bool,

    /// Records end with BYTES instead of a newline; escapes are \t \n \r \0 \\ \xHH
    #[arg(long, hide_short_help = true, value_name = "BYTES", value_parser = value::escaped,
          conflicts_with_all = ["csv", "tsv"], allow_hyphen_values = true)]
    delimiter: Option<Bytes>,
}

impl InputArgs {
    /// Checks the options, and returns how to read records, which may have times.
    pub(crate) fn reading(&self, time: Option<TimeSource<'_>>) -> Result<InputPlan> {
        let KeyArgs { missing, shard, .. } = self.keys;
        let finder = self.keys.finder(time.as_ref())?;
        let times = time.map(|time| self.keys.times(time)).transpose()?;
        let mut keys = Keys::new(finder, self.keys.same_keys(), times);
        keys.allows_empty = missing == Some(OnMissing::Value);
        let list = self.files_from.clone().filter(|_| !self.names_are_stdin());
        let inputs = Inputs::new(&self.paths()?, Coding::Recognized).listed_in(list);
        let format = self.format(&keys);
        let (hasher, wanted, comment) = (KeyHasher::default(), Wanted::Hash, self.keys.comment());
        let hashing = Hashing {
            format,
            keys,
            hasher,
            on_missing: missing,
            shard,
            wanted,
            known: Known::default(),
            done: Arc::default(),
            comment,
        };
        let mut find = self.keys.finders();
        find.extend(self.records.given());
        let mut reading = InputPlan { inputs, hashing, begun: None, find, stored: None };
        reading.begin_headers(None)?;
        Ok(reading)
    }

    /// Whether standard input supplies the names of files.
    pub(crate) fn names_are_stdin(&self) -> bool {
        self.files_from.as_deref() == Some(Path::new("-"))
    }

    /// The files to read; standard input if none is named.
    fn paths(&self) -> Result<Vec<PathBuf>> {
        let Some(list) = &self.files_from else {
            let stdin = || vec![PathBuf::from("-")];
            return Ok(if self.files.is_empty() { stdin() } else { self.files.clone() });
        };
        let mut text = Vec::new();
        let read = if self.names_are_stdin() {
            io::stdin().lock().read_to_end(&mut text)
        } else {
            File::open(list).and_then(|mut file| file.read_to_end(&mut text))
        };
        read.map_err(|error| Failure::io(list.display(), &error))?;
        let end = if text.contains(&0) { 0 } else { b'\n' };
        let named = text.split(|byte| *byte == end).filter(|name| !name.is_empty());
        let all: Vec<_> = self.files.iter().cloned().chain(named.map(platform::path_of)).collect();
        if self.names_are_stdin() && all.contains(list) {
            let reason = "standard input cannot supply both file names and records";
            return Err(Failure::at("--files-from -", reason));
        }
        Ok(all)
    }

    /// Adds the options on which the result depends.
    pub(crate) fn describe(&self, spec: JobSpec) -> JobSpec {
        let missing = self.keys.missing.filter(|policy| *policy != OnMissing::Keep);
        spec.with_all(&self.records).with_all(&self.keys).with("missing", missing)
    }

    fn format(&self, keys: &Keys) -> RecordFormat {
        match (keys.csv().map(|columns| columns.dialect), &self.records.delimiter) {
            (Some(Dialect { comma, has_quotes: true, .. }), _) => {
                RecordFormat::CsvLine { comma, comment: self.keys.comment() }
            }
            (None, Some(bytes)) => RecordFormat::of(bytes),
            (None, None) if self.records.null => RecordFormat::Byte(0),
            _ => RecordFormat::Byte(b'\n'),
        }
    }
}

impl RecordArgs {
    /// The options that are given, to be stored with the filter.
    fn given(&self) -> impl Iterator<Item = (String, Vec<String>)> {
        let all = [
            ("delimiter", self.delimiter.as_ref().map(|bytes| value::escape_all(bytes))),
            ("null", self.null.then(String::new)),
        ];
        let given = all.into_iter().filter_map(|(option, value)| Some((option, vec![value?])));
        given.map(|(option, values)| (option.to_owned(), values))
    }
}

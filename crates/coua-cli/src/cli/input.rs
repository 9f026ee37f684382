//! Options about inputs: which files, where records end, what a record's key is.

use crate::cli::value;
use crate::clock::{Now, TimeFormat};
use crate::input::reader::BlockReader;
use crate::input::{Coding, Faults, Inputs, Survey};
use crate::key::csv::Column;
use crate::key::header::{Headers, Mixing};
use crate::key::shard::Shard;
use crate::key::time::Times;
use crate::key::{Finder, Keys, Normalize};
use crate::record::{Format, Separator};
use crate::resume::{Job, JobSpec};
use crate::terminal::message::Failure;
use crate::terminal::signals::Stop;
use clap::{Args, ValueEnum};
use coua::window::Generations;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// What to read and how to understand it.
#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// Files to read, one after the other; `-`, or no file, is standard input
    ///
    /// Files compressed with gzip, zstd, xz or bzip2 are recognised by their first bytes. A record
    /// never reaches from one file into the next.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    #[command(flatten)]
    records: RecordArgs,

    #[command(flatten)]
    keys: KeyArgs,
}

/// Where records end.
#[derive(Args, Debug)]
#[command(next_help_heading = "Records")]
struct RecordArgs {
    /// Records end with a NUL byte instead of a newline
    #[arg(short = '0', long, conflicts_with_all = ["delimiter", "csv"])]
    null: bool,

    /// Records end with BYTES instead of a newline (\t \n \r \0 \\ \xHH are understood)
    #[arg(long, value_name = "BYTES", value_parser = Bytes::parse, conflicts_with = "csv",
          allow_hyphen_values = true)]
    delimiter: Option<Bytes>,

    /// A carriage return before the end of a record does not belong to its key
    #[arg(long)]
    crlf: bool,

    /// Read compressed files as they are
    #[arg(long)]
    no_decompress: bool,
}

/// What a record's key is: the whole record, unless one of these says otherwise.
#[derive(Args, Debug)]
#[command(next_help_heading = "Keys (default: the whole record)")]
struct KeyArgs {
    /// The key is made of these fields, such as 2 or 2,4 or 3-5, counted from 1
    #[arg(short = 'k', long, value_name = "LIST", group = "finder")]
    fields: Option<String>,

    /// Fields are separated by SEP [default: runs of blanks; for --csv a comma]
    #[arg(short = 't', long, value_name = "SEP", value_parser = Bytes::parse,
          allow_hyphen_values = true)]
    separator: Option<Bytes>,

    /// The key is this column of CSV records: a name from the header, or a number from 1
    ///
    /// May be given several times. With a name, the first record of every file is a header: it is
    /// printed once and is no record, and where records are printed all headers must be alike. With
    /// numbers only, no header is expected. Records may contain newlines in quotes.
    #[arg(long, value_name = "COLUMN", group = "finder", allow_hyphen_values = true)]
    csv: Vec<String>,

    /// The key is what this JSON pointer (RFC 6901), such as /user/id, finds in the record
    ///
    /// May be given several times. Strings count as their content, other values as their JSON text
    /// without blanks; null counts as no key.
    #[arg(long, value_name = "POINTER", group = "finder")]
    json: Vec<String>,

    /// The key is what this regular expression finds first: its groups, or all that matched
    ///
    /// A group that took no part in the match, as one of the two in `id=(\d+)|key=(\w+)`, is left out. Which
    /// groups took part belongs to the key: `id=5` and `key=5` differ. If none did, there is no key.
    #[arg(long, value_name = "REGEX", group = "finder", allow_hyphen_values = true)]
    regex: Option<String>,

    /// Upper and lower case are the same (ASCII letters only)
    #[arg(long)]
    ignore_case: bool,

    /// Blanks around the key (or around each of its parts) do not belong to it
    #[arg(long)]
    trim: bool,

    /// Different spellings of a URL are the same key; what is no URL stays as it is
    ///
    /// A URL begins with a scheme and `://`. Normalized as the WHATWG URL standard says: scheme and
    /// host in lower case, international host names in ASCII, default ports left out, `.` and `..`
    /// resolved, an empty path is `/`, blanks around it cut, odd characters percent-encoded. In addition
    /// the fragment (`#...`) and a dot at the end of the host name are left out, hosts of all schemes are
    /// in lower case, and percent-encoded letters, digits and `-._~` are decoded, other codes in upper
    /// case (RFC 3986). Scheme, user, path, query, `www.` and a slash at the end stay significant.
    #[arg(long)]
    url: bool,

    /// What to do with a record that has no key, or is broken [default: keep]
    ///
    /// If no record of a run has a key, the option that says where keys are was wrong: exit code 2, unless this
    /// option is given.
    #[arg(long, value_name = "WHAT")]
    on_missing: Option<OnMissing>,

    /// Only the records of shard I of N, as if there were no others; shards are counted from 1
    ///
    /// Keys are divided by their hashes, so that N runs, on as many machines, can share the work: their
    /// outputs may be concatenated, and their filters merged. The runs need the same other options.
    /// Records without a key, and the header of CSV records, are in shard 1.
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    shard: Option<Shard>,
}

/// What to do with a record without a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OnMissing {
    /// Let it pass as if never seen before, and count it.
    #[default]
    Keep,
    /// Leave it out, and count it.
    Drop,
    /// Stop with exit code 2.
    Error,
}

/// A non-empty byte string from the command line. (clap takes `Vec<u8>` for many values.)
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn parse(text: &str) -> Result<Self, String> {
        value::escaped(text).map(Self)
    }
}

/// Where the times of records are, and how they are written.
#[derive(Clone, Debug)]
pub(crate) struct TimeSource<'a> {
    pub(crate) field: &'a str,
    pub(crate) format: TimeFormat,
}

impl TimeSource<'_> {
    /// Unless there is --csv.
    fn is_in_fields(&self) -> bool {
        !self.field.starts_with('/')
    }
}

/// The options above, checked.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) inputs: Inputs,
    pub(crate) format: Format,
    pub(crate) keys: Keys,
    pub(crate) on_missing: Option<OnMissing>,
    /// Records of others are not there.
    pub(crate) shard: Option<Shard>,
    mixing: Mixing,
    faults: Faults,
}

impl Reading {
    /// Times of records are believed if they are not later than the present, or only by a generation of
    /// `filter`: clocks differ.
    pub(crate) fn believe_times(&mut self, now: Now, filter: &Generations) {
        if let (Some(times), Some(window)) = (self.keys.times(), filter.window()) {
            times.believe(now, window.step());
        }
    }

    /// Looks at all inputs, and at the headers of those that are CSV files.
    pub(crate) fn survey(&mut self, mixing: Mixing) -> Result<Survey, Failure> {
        let inputs = self.inputs.survey(self.faults)?;
        self.mixing = mixing;
        if let (Some(headers), Faults::AtOnce) = (self.headers(), self.faults) {
            let (stop, consumed) = (Stop::new(), Arc::default());
            let stop = Arc::new(stop.map_err(|error| Failure::io("signals", &error))?);
            let (inputs, format) = (self.inputs.clone(), self.format.clone());
            BlockReader::new(inputs, format, Some(headers), stop, consumed).check_headers()?;
        }
        Ok(inputs)
    }

    /// What is to know about the headers of CSV inputs, if they have such.
    pub(crate) fn headers(&self) -> Option<Headers> {
        let columns = self.keys.csv().filter(|columns| columns.need_header())?;
        Some(Headers::new(columns.clone(), self.mixing))
    }
}

impl InputArgs {
    /// Checks the options of records that may have times.
    pub(crate) fn check_timed(
        &self,
        time: Option<TimeSource<'_>>,
        faults: Faults,
    ) -> Result<Reading, Failure> {
        let finder = self.keys.finder(time.as_ref())?;
        let times = time.map(|time| self.keys.times(time)).transpose()?;
        let keys = Keys::new(finder, self.keys.normalize(), times);
        let coding = if self.records.no_decompress { Coding::AsIs } else { Coding::Decompress };
        Ok(Reading {
            inputs: Inputs::new(&self.files, coding),
            format: Format { separator: self.separator(&keys), crlf: self.records.crlf },
            keys,
            on_missing: self.keys.on_missing,
            shard: self.keys.shard,
            mixing: Mixing::Refused,
            faults,
        })
    }

    /// A run that does what `spec` says with these inputs, of which the options are `reading`.
    pub(crate) fn job(&self, spec: JobSpec, reading: &Reading) -> Job {
        let spec = self.keys.describe(self.records.describe(spec));
        Job { spec, inputs: reading.inputs.files(), format: reading.format.clone() }
    }

    fn separator(&self, keys: &Keys) -> Separator {
        match (keys.csv(), &self.records.delimiter) {
            (Some(columns), _) => Separator::CsvLine { comma: columns.comma() },
            (None, Some(Bytes(bytes))) => Separator::of(bytes),
            (None, None) => Separator::Byte(if self.records.null { 0 } else { b'\n' }),
        }
    }
}

impl RecordArgs {
    /// Adds the options that decide what the records are.
    fn describe(&self, spec: JobSpec) -> JobSpec {
        let spec = spec.with("null", self.null).with("delimiter", self.delimiter.as_ref());
        spec.with("crlf", self.crlf).with("no-decompress", self.no_decompress)
    }
}

impl KeyArgs {
    /// Adds the options that decide what the keys are.
    fn describe(&self, spec: JobSpec) -> JobSpec {
        spec.with("fields", self.fields.as_ref())
            .with("separator", self.separator.as_ref())
            .with("csv", self.csv.as_slice())
            .with("json", self.json.as_slice())
            .with("regex", self.regex.as_ref())
            .with("ignore-case", self.ignore_case)
            .with("trim", self.trim)
            .with("url", self.url)
            .with("on-missing", self.on_missing.unwrap_or_default())
            .with("shard", self.shard)
    }

    /// With --csv also of the time, as the last part.
    fn finder(&self, time: Option<&TimeSource<'_>>) -> Result<Finder, Failure> {
        let separator = self.separator.as_ref().map(|Bytes(bytes)| bytes.as_slice());
        if let Some(list) = &self.fields {
            return Finder::fields(list, separator);
        }
        if !self.csv.is_empty() {
            let names = self.csv.iter().map(String::as_str).chain(time.map(|time| time.field));
            let columns = names.map(Column::parse).collect::<Result<_, _>>()?;
            return Finder::csv(columns, separator);
        }
        if separator.is_some() && !time.is_some_and(TimeSource::is_in_fields) {
            return Err(Failure::at("-t", "has a meaning only with -k, --csv or --time-field"));
        }
        if !self.json.is_empty() {
            return Finder::json(&self.json);
        }
        match &self.regex {
            Some(pattern) => Finder::regex(pattern),
            None => Ok(Finder::Record),
        }
    }

    fn times(&self, time: TimeSource<'_>) -> Result<Times, Failure> {
        if !self.csv.is_empty() {
            return Ok(Times::in_last_part(time.format));
        }
        let separator = self.separator.as_ref().map(|Bytes(bytes)| bytes.as_slice());
        let finder = if time.is_in_fields() {
            Finder::fields(time.field, separator)
        } else {
            Finder::json(&[time.field.to_owned()])
        };
        let finder = finder.map_err(|_| {
            let reason = "is neither a list of fields such as 2 or 1,2, counted from 1, nor a JSON \
                          pointer such as /time; columns need --csv";
            Failure::at(format_args!("--time-field {}", time.field), reason)
        })?;
        Ok(Times::found_by(finder, time.format))
    }

    fn normalize(&self) -> Normalize {
        Normalize { trim: self.trim, url: self.url, ignore_case: self.ignore_case }
    }
}

//! Options about inputs: which files, where records end, what a record's key is.

use crate::args::value;
use crate::clock::{Now, TimeFormat};
use crate::input::{Coding, Inputs, Survey};
use crate::key::csv::Column;
use crate::key::shard::Shard;
use crate::key::time::Times;
use crate::key::{Finder, Keys, Normalize};
use crate::message::Failure;
use crate::output::Opening;
use crate::own_files::OwnFiles;
use crate::record::{Format, Separator};
use clap::{Args, ValueEnum};
use coua::window::Generations;
use serde::Serialize;
use std::path::PathBuf;

/// What to read and how to understand it. (Serialized without the files: how they are understood.)
#[derive(Args, Debug, Serialize)]
pub(crate) struct InputArgs {
    /// Files to read, one after the other; `-`, or no file, is standard input
    ///
    /// Files compressed with gzip, zstd, xz or bzip2 are recognised by their first bytes. A record
    /// never reaches from one file into the next.
    #[arg(value_name = "FILE")]
    #[serde(skip)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    #[serde(flatten)]
    records: RecordArgs,

    #[command(flatten)]
    #[serde(flatten)]
    keys: KeyArgs,
}

/// Where records end.
#[derive(Args, Debug, Serialize)]
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
#[derive(Args, Debug, Serialize)]
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
    /// printed once and is no record. With numbers only, no header is expected. Records may
    /// contain newlines in quotes.
    #[arg(long, value_name = "COLUMN", group = "finder", allow_hyphen_values = true)]
    csv: Vec<String>,

    /// The key is what this JSON pointer (RFC 6901), such as /user/id, finds in the record
    ///
    /// May be given several times. Strings count as their content, other values as their JSON text
    /// without blanks; null counts as no key. At most 127 levels deep.
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
    /// Normalised as the WHATWG URL standard says: scheme and host in lower case, international
    /// host names in ASCII, default ports left out, `.` and `..` resolved, an empty path is `/`,
    /// blanks around it cut, odd characters percent-encoded. In addition the fragment (`#...`) and
    /// a dot at the end of the host name are left out. Scheme, user, path, query, `www.` and a
    /// slash at the end stay significant.
    #[arg(long)]
    url: bool,

    /// What to do with a record that has no key, or is broken
    #[arg(long, value_name = "WHAT", default_value = "keep")]
    on_missing: OnMissing,

    /// Only the records of shard I of N, as if there were no others; shards are counted from 1
    ///
    /// Keys are divided by their hashes, so that N runs, on as many machines, can share the work: their
    /// outputs may be concatenated, and their filters merged. The runs need the same other options.
    /// Records without a key, and the header of CSV records, are in shard 1.
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    shard: Option<Shard>,
}

/// What to do with a record without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
pub(crate) enum OnMissing {
    /// Let it pass as if never seen before, and count it.
    Keep,
    /// Leave it out, and count it.
    Drop,
    /// Stop with exit code 2.
    Error,
}

/// A non-empty byte string from the command line. (clap takes `Vec<u8>` for many values.)
#[derive(Clone, Debug, Serialize)]
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
    pub(crate) on_missing: OnMissing,
    /// Records of others are not there.
    pub(crate) shard: Option<Shard>,
}

impl Reading {
    /// Times of records are believed if they are not later than the present, or only by a generation of
    /// `filter`: clocks differ.
    pub(crate) fn believe_times(&mut self, now: Now, filter: &Generations) {
        if let (Some(times), Some(window)) = (self.keys.times(), filter.window()) {
            times.believe(now, window.step());
        }
    }

    /// What an output of these records needs to know, beside the run's own files.
    pub(crate) fn opening<'a>(&'a self, inputs: &'a Survey, own: &'a OwnFiles) -> Opening<'a> {
        Opening { separator: &self.format.separator, inputs, own }
    }
}

impl InputArgs {
    /// Checks the options.
    pub(crate) fn check(&self) -> Result<Reading, Failure> {
        self.check_timed(None)
    }

    /// Checks the options of records that may have times.
    pub(crate) fn check_timed(&self, time: Option<TimeSource<'_>>) -> Result<Reading, Failure> {
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
        })
    }

    fn separator(&self, keys: &Keys) -> Separator {
        match (keys.csv(), &self.records.delimiter) {
            (Some(columns), _) => Separator::CsvLine { comma: columns.comma() },
            (None, Some(Bytes(bytes))) => Separator::of(bytes),
            (None, None) => Separator::Byte(if self.records.null { 0 } else { b'\n' }),
        }
    }
}

impl KeyArgs {
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

//! Options about inputs: which files, where records end, what a record's key is.

use super::value::{self, TextEncoding, Word, word};
use crate::clock::TimeSyntax;
use crate::input::{Coding, Inputs, Until};
use crate::key::{
    Column, Columns, Dialect, Fields, Finder, Hashing, Keys, Known, Lenience, Normalize, OnMissing,
    Pattern, Pointers, Shard, Times, Wanted,
};
use crate::record::{RecordFormat, Separator};
use crate::resume::JobSpec;
use crate::run::Reading;
use crate::runs::path_of;
use crate::terminal::{Failure, Result};
use clap::Args;
use coua::KeyHasher;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What to read and how to understand it.
#[derive(Args, Debug)]
pub(crate) struct InputArgs {
    /// Files to read, one after the other [default: standard input, also `-`]
    ///
    /// Files compressed with gzip, zstd, xz, bzip2 or lz4 are recognized by their first bytes. A record ends at
    /// the end of its file.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Also read the files that LIST names: one a line, or each before a NUL byte; `-` is standard input
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
    pub(crate) filter_file: PathBuf,

    #[command(flatten)]
    pub(crate) input: InputArgs,
}

/// Where records end. The names of the fields are part of the file format, as they describe a run.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Records and keys (default: a line is its own key)")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
struct RecordArgs {
    /// Records end with a NUL byte instead of a newline
    #[arg(short = '0', long, short_alias = 'z', alias = "zero-terminated", conflicts_with_all = ["delimiter", "csv", "tsv"])]
    null: bool,

    /// Records end with BYTES instead of a newline
    ///
    /// The escapes \t \n \r \0 \\ \xHH are understood.
    #[arg(long, hide_short_help = true, value_name = "BYTES", value_parser = value::escaped,
          conflicts_with_all = ["csv", "tsv"], allow_hyphen_values = true)]
    delimiter: Option<Bytes>,

    /// Ignore a carriage return before the end of a record
    ///
    /// It is printed with the record, but does not belong to the key.
    #[arg(long, hide_short_help = true)]
    crlf: bool,

    /// Read compressed files as they are
    #[arg(long, hide_short_help = true)]
    no_decompress: bool,

    /// Ignore what follows the end of gzip data and is none
    #[arg(long, hide_short_help = true, conflicts_with = "no_decompress")]
    force: bool,

    /// Encoding of the texts, such as utf-16 or latin1 [default: bytes are read as they are]
    ///
    /// Texts are decoded to UTF-8, and so are the records that are printed. A byte order mark at the beginning of
    /// a file decides. What is no text in the encoding becomes U+FFFD.
    #[arg(long, hide_short_help = true, value_name = "NAME", value_parser = value::encoding)]
    encoding: Option<TextEncoding>,
}

/// What a record's key is: the whole record, unless one of these says otherwise. The names are kept likewise.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Records and keys (default: a line is its own key)")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
struct KeyArgs {
    /// Fields that make the key, such as 2 or 2,4 or 3-5 or 4-
    ///
    /// They are counted from 1. `4-` is all fields from the fourth on.
    #[arg(short = 'k', long, value_name = "LIST", group = "finder", allow_hyphen_values = true)]
    fields: Option<String>,

    /// Separator of fields [default: runs of blanks; with --csv a comma]
    #[arg(short = 't', long, value_name = "SEP", value_parser = value::escaped,
          allow_hyphen_values = true)]
    separator: Option<Bytes>,

    /// CSV columns that are the key: names in the header, or numbers
    ///
    /// A list with commas; a name with a comma stands in quotes, as in CSV. May be given several times. With a name,
    /// the first record of every file is a header: it is printed once, and does not count as a record, and nor does
    /// a record that is equal to it. If records are printed, all headers must be alike. Numbers count from 1. A name
    /// in the header wins over a number; `=2020` is always a name; `id[2]` is the second column called id. With
    /// numbers only, no header is expected, unless a number is too high for the first record and is a name in it.
    /// Empty lines and a line such as `sep=;` may stand before the header. Records may contain newlines in quotes.
    #[arg(long, value_name = "COLUMNS", group = "finder", allow_hyphen_values = true)]
    csv: Vec<String>,

    /// The same for columns that tabs separate: a line is a record, and quotes mean nothing
    #[arg(
        long,
        hide_short_help = true,
        value_name = "COLUMNS",
        group = "finder",
        allow_hyphen_values = true,
        conflicts_with = "separator"
    )]
    tsv: Vec<String>,

    /// Take quotes in CSV for characters like others: a line is a record
    #[arg(long, hide_short_help = true, requires = "csv")]
    no_quotes: bool,

    /// Ignore lines before a CSV header that begin with TEXT
    ///
    /// They are printed with the header.
    #[arg(long, hide_short_help = true, value_name = "TEXT", allow_hyphen_values = true)]
    comment: Option<String>,

    /// JSON pointer to the key, such as /user/id
    ///
    /// As in RFC 6901. May be given several times. The key is the content of a string, and the JSON text of
    /// other values, in which blanks, the order of members and superfluous escapes do not count. A record whose
    /// value is null has no key. NaN, infinities and letters in Latin-1 in other places of the record are no
    /// fault.
    #[arg(long, value_name = "POINTER", group = "finder")]
    json: Vec<String>,

    /// Regular expression that finds the key: its groups, or the whole match
    ///
    /// The first match counts. Groups that take no part in the match, such as one of the two in
    /// `id=(\d+)|key=(\w+)`, are left out. The key includes which groups took part: `id=5` and `key=5` differ.
    /// If no group did, there is no key. A byte that is not UTF-8 counts as the letter of Latin-1.
    #[arg(long, value_name = "REGEX", group = "finder", allow_hyphen_values = true)]
    regex: Option<String>,

    /// Ignore the case of ASCII letters
    #[arg(short = 'i', long)]
    ignore_case: bool,

    /// Ignore blanks around the key, or around each of its parts
    #[arg(long, hide_short_help = true)]
    trim: bool,

    /// Normalize URLs before comparing; leave other keys unchanged
    ///
    /// A URL begins with a scheme and `://`. It is normalized by the WHATWG URL standard: scheme and host become
    /// lower case, international host names become ASCII, default ports are removed, `.` and `..` are resolved,
    /// an empty path becomes `/`, surrounding blanks are removed, and unusual characters are percent-encoded. In
    /// addition, the fragment (`#...`) and a dot at the end of the host name are removed, hosts of all schemes
    /// become lower case, percent-encoded letters, digits and `-._~` are decoded, and other codes become upper
    /// case (RFC 3986). Scheme, user, path, query, `www.` and a slash at the end still count.
    #[arg(long)]
    url: bool,

    /// What to do with a record that has no key, or is broken [default: keep]
    ///
    /// If no record of a run has a key, the option that finds keys was probably wrong: the exit code is then 2,
    /// unless this option is given.
    #[arg(long, hide_short_help = true, value_name = "WHAT", value_parser = word(&POLICIES))]
    #[serde(skip)]
    on_missing: Option<OnMissing>,

    /// What an empty field, CSV cell or JSON string is [default: missing]
    ///
    /// A record with an empty one has no key (--on-missing). A whole record is always a key.
    #[arg(long, hide_short_help = true, value_name = "WHAT", value_parser = word(&EMPTY))]
    empty: Option<Empty>,

    /// What a missing part of a key of several parts is [default: missing]
    ///
    /// If all parts are missing, the record has no key.
    #[arg(long, hide_short_help = true, value_name = "WHAT", value_parser = word(&MISSING_PART))]
    missing_part: Option<MissingPart>,

    /// Process only the records of shard I of N
    ///
    /// The hash of a key decides its shard. So N runs, on N machines, can share the work: concatenate their
    /// outputs, and merge their filters. All other options of the runs must be the same. Records without a key,
    /// and CSV headers, are in shard 1.
    #[arg(long, hide_short_help = true, value_name = "I/N", value_parser = Shard::parse)]
    shard: Option<Shard>,
}

/// About records without a key.
const POLICIES: [Word<OnMissing>; 3] = [
    ("keep", OnMissing::Keep, "Treat it as new, and count it"),
    ("drop", OnMissing::Drop, "Skip it, and count it"),
    ("error", OnMissing::Error, "Stop with exit code 2"),
];

/// What a part of a key without a byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Empty {
    Missing,
    Key,
}

const EMPTY: [Word<Empty>; 2] = [
    ("missing", Empty::Missing, "As if it was not there"),
    ("key", Empty::Key, "A key like others"),
];

/// What a part is that a record lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum MissingPart {
    Missing,
    Empty,
}

const MISSING_PART: [Word<MissingPart>; 2] = [
    ("missing", MissingPart::Missing, "The record has no key"),
    ("empty", MissingPart::Empty, "The same as in other records that lack it"),
];

/// A byte string. (What is called `Vec`, clap takes for many values.)
type Bytes = Vec<u8>;

/// Where the times of records are, and how they are written.
#[derive(Clone, Debug)]
pub(crate) struct TimeSource<'a> {
    pub(crate) field: &'a str,
    pub(crate) syntax: TimeSyntax,
}

impl TimeSource<'_> {
    /// Unless there is --csv or --tsv.
    fn is_in_fields(&self) -> bool {
        !self.field.starts_with('/')
    }
}

impl InputArgs {
    /// Checks the options of records that may have times.
    pub(crate) fn reading(&self, time: Option<TimeSource<'_>>) -> Result<Reading> {
        let KeyArgs { trim, url, ignore_case, on_missing, shard, .. } = self.keys;
        let finder = self.keys.finder(time.as_ref())?;
        let times = time.map(|time| self.keys.times(time)).transpose()?;
        let mut keys = Keys::new(finder, Normalize { trim, url, ignore_case }, times);
        keys.lenience = Lenience {
            allows_empty: self.keys.empty == Some(Empty::Key),
            allows_missing_part: self.keys.missing_part == Some(MissingPart::Empty),
        };
        let RecordArgs { no_decompress, force, encoding, .. } = self.records;
        let (is_decompressed, encoding) = (!no_decompress, encoding.map(|it| it.0));
        let coding = Coding { is_decompressed, is_forced: force, encoding };
        let inputs = Inputs::new(&self.paths()?, coding);
        let format = self.format(&keys);
        let (hasher, wanted, known) = (KeyHasher::default(), Wanted::Hash, Known::default());
        let hashing = Hashing { format, keys, hasher, on_missing, shard, wanted, known };
        let comment = self.keys.comment.as_ref().map(|comment| comment.as_bytes().into());
        let find = self.keys.finders();
        let mut reading =
            Reading { inputs, hashing, until: Until::End, comment, begun: None, find };
        reading.begin_headers(&[])?;
        Ok(reading)
    }

    /// The files to read; standard input if none is named.
    fn paths(&self) -> Result<Vec<PathBuf>> {
        let Some(list) = &self.files_from else {
            let stdin = || vec![PathBuf::from("-")];
            return Ok(if self.files.is_empty() { stdin() } else { self.files.clone() });
        };
        let is_stdin = list == Path::new("-");
        if is_stdin && self.files.contains(list) {
            let reason = "standard input cannot have both names of files and records";
            return Err(Failure::at("--files-from -", reason));
        }
        let mut text = Vec::new();
        let read = if is_stdin {
            io::stdin().lock().read_to_end(&mut text)
        } else {
            File::open(list).and_then(|mut file| file.read_to_end(&mut text))
        };
        read.map_err(|error| Failure::io(list.display(), &error))?;
        let end = if text.contains(&0) { 0 } else { b'\n' };
        let named = text.split(|byte| *byte == end).filter(|name| !name.is_empty());
        let named = named.map(|name| path_of(name).ok_or(name));
        let named = named.collect::<Result<Vec<_>, _>>().map_err(|name| {
            let name = String::from_utf8_lossy(name);
            Failure::at(list.display(), format_args!("\"{name}\" is no name of a file here"))
        })?;
        Ok(self.files.iter().cloned().chain(named).collect())
    }

    /// Adds the options on which the result depends.
    pub(crate) fn describe(&self, spec: JobSpec) -> JobSpec {
        let on_missing = self.keys.on_missing.filter(|policy| *policy != OnMissing::Keep);
        spec.with_all(&self.records).with_all(&self.keys).with("on-missing", on_missing)
    }

    fn format(&self, keys: &Keys) -> RecordFormat {
        let lines = Separator::Byte(b'\n');
        let dialect = keys.csv().map(|columns| columns.dialect);
        let (separator, crlf) = match (dialect, &self.records.delimiter) {
            (Some(Dialect { comma, has_quotes: true, .. }), _) => {
                (Separator::CsvLine { comma }, true)
            }
            (Some(Dialect { has_quotes: false, .. }), _) => (lines, true),
            (None, Some(bytes)) => (Separator::of(bytes), self.records.crlf),
            (None, None) if self.records.null => (Separator::Byte(0), self.records.crlf),
            (None, None) => (lines, self.records.crlf),
        };
        RecordFormat { separator, crlf }
    }
}

impl KeyArgs {
    /// The options that find keys, for a filter to remember.
    fn finders(&self) -> BTreeMap<String, Vec<String>> {
        let separator = self.separator.iter().map(|bytes| value::escape_all(bytes)).collect();
        let no_quotes = self.no_quotes.then(String::new);
        let all = [
            ("csv", self.csv.clone()),
            ("fields", Vec::from_iter(self.fields.clone())),
            ("json", self.json.clone()),
            ("no-quotes", Vec::from_iter(no_quotes)),
            ("regex", Vec::from_iter(self.regex.clone())),
            ("separator", separator),
            ("tsv", self.tsv.clone()),
        ];
        let given = all.into_iter().filter(|(_, values)| !values.is_empty());
        given.map(|(option, values)| (option.to_owned(), values)).collect()
    }

    /// With --csv also of the time, as the last part.
    fn finder(&self, time: Option<&TimeSource<'_>>) -> Result<Finder> {
        let separator = self.separator.as_deref();
        if let Some(list) = &self.fields {
            return Fields::new(list, separator).map(Finder::Fields);
        }
        if let Some(dialect) = self.dialect()? {
            let lists = self.csv.iter().chain(&self.tsv).map(String::as_str);
            let lists = lists.map(Column::parse_list).collect::<Result<Vec<_>, _>>()?;
            let mut columns = lists.concat();
            if let Some(time) = time {
                columns.push(Column::parse(time.field)?);
            }
            let columns = Columns::new(columns, dialect);
            return columns.map(|it| Finder::Csv(Box::new(it)));
        }
        if separator.is_some() && !time.is_some_and(TimeSource::is_in_fields) {
            return Err(Failure::at("-t", "needs -k, --csv or --time-field"));
        }
        if !self.json.is_empty() {
            return Pointers::new(&self.json).map(Finder::Json);
        }
        match &self.regex {
            Some(pattern) => Pattern::new(pattern).map(Finder::Regex),
            None => Ok(Finder::Record),
        }
    }

    /// How columns are written, if the key is made of such.
    fn dialect(&self) -> Result<Option<Dialect>> {
        let trims_names = self.trim;
        if !self.tsv.is_empty() {
            return Ok(Some(Dialect { comma: b'\t', has_quotes: false, trims_names }));
        }
        if self.csv.is_empty() {
            return Ok(None);
        }
        let comma = match self.separator.as_deref() {
            None => b',',
            Some(&[byte]) => byte,
            Some(_) => {
                let reason = "with --csv, the separator is one byte, and no quote or end of line";
                return Err(Failure::at("-t", reason));
            }
        };
        Ok(Some(Dialect { comma, has_quotes: !self.no_quotes, trims_names }))
    }

    fn times(&self, time: TimeSource<'_>) -> Result<Times> {
        if !(self.csv.is_empty() && self.tsv.is_empty()) {
            return Ok(Times::new(None, time.syntax));
        }
        let separator = self.separator.as_deref();
        let finder = if time.is_in_fields() {
            Fields::new(time.field, separator).map(Finder::Fields)
        } else {
            Pointers::new(&[time.field.to_owned()]).map(Finder::Json)
        };
        let finder = finder.map_err(|_| {
            let reason = "is neither a list of fields such as 2 or 1,2, counted from 1, nor a JSON \
                          pointer such as /time; columns need --csv";
            Failure::at(format_args!("--time-field {}", time.field), reason)
        })?;
        Ok(Times::new(Some(finder), time.syntax))
    }
}

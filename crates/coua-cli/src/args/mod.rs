//! Options that several commands have: inputs, records, keys, the filter and its window, and how to run. `value` parses
//! their values.

pub(crate) mod value;

use crate::clock::{self, TimeFormat};
use crate::filter::spec::age_name;
use crate::filter::{FilterSpec, Location, OnFull, Op, Secret, WindowLength, WindowSpec};
use crate::input::{Coding, Inputs};
use crate::key::{
    Choice, Column, Columns, Dialect, Fields, Finder, Hashing, Keys, Known, Normalize, OnMissing,
    Pattern, Pointers, Shard, Times, UrlForm, Wanted,
};
use crate::platform;
use crate::record::RecordFormat;
use crate::resume::{Mode, ResumeOptions};
use crate::run::{InputPlan, Job, Running};
use crate::runs::JobSpec;
use crate::terminal::{Failure, ReportFormat, Result, Verbosity};
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, value_parser};
use coua::KeyHasher;
use coua::window::AgeFrom;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

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
    ///
    /// If BYTES begin as they end, as `==` do, the beginning of such BYTES at the end of an input is cut off.
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

/// A record's key: the whole record by default. The field names are part of the file format too.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Records and keys (default: a line is its own key)")]
struct KeyArgs {
    /// Fields that make the key, counted from 1, such as 2 or 2,4 or 3-5 or 4-
    #[arg(short = 'k', long, value_name = "LIST", group = "finder", allow_hyphen_values = true)]
    fields: Vec<String>,

    /// Separator of fields [default: runs of blanks; --csv a comma, --tsv a tab]
    #[arg(short = 't', long, value_name = "SEP", value_parser = value::escaped,
          allow_hyphen_values = true)]
    separator: Option<Bytes>,

    /// CSV columns that are the key: names in the header, or numbers
    ///
    /// Separate columns with commas, and quote a name that contains one. With a name, the first record of every file is
    /// a header: it is printed once and is not a record; records with the same bytes are skipped. If records are printed, all
    /// headers must be equal. Numbers count from 1; `2-4` and `4-` are ranges. A name in the header wins over a number;
    /// `=2020` is always a name; `id[2]` is the second column called id. With numbers only, no header is expected, unless
    /// a number is too high for the first record and is a name in it. Empty lines and a line such as `sep=;` before the
    /// header, or the first row, are no records. With `*` the key is the whole row by its values; no header is expected.
    #[arg(long, value_name = "COLUMNS", group = "finder", allow_hyphen_values = true)]
    csv: Vec<String>,

    /// Like --csv, for lines with columns between tabs, or -t; quotes are ordinary characters
    #[arg(
        long,
        hide_short_help = true,
        value_name = "COLUMNS",
        group = "finder",
        allow_hyphen_values = true
    )]
    tsv: Vec<String>,

    /// Leave PARTS, such as a time, out of the key: of a row (--csv '*'), or of a JSON record
    ///
    /// With `--csv '*'` or `--tsv '*'`, PARTS are columns; if one is a name, every file has a header, and columns are
    /// compared by name, whatever their order: those that a row lacks are empty. If all are numbers, only columns before
    /// these are. Otherwise PARTS is a JSON pointer, such as /time.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "PARTS",
        conflicts_with_all = ["fields", "json", "regex"],
        allow_hyphen_values = true
    )]
    except: Vec<String>,

    /// Records that begin with TEXT are comments: printed, never compared
    ///
    /// Comments before the header of a second or later file are left out, as that header is.
    #[arg(long, hide_short_help = true, value_name = "TEXT", allow_hyphen_values = true,
          value_parser = NonEmptyStringValueParser::new())]
    comment: Option<String>,

    /// JSON pointer to the key, such as /user/id
    ///
    /// As in RFC 6901. The key is the content of a string, or the JSON text of another value, so 1 and "1" are one key;
    /// blanks, the order of members and unnecessary escapes are ignored. Of members with one name, the last counts. Null
    /// counts as absent. A record that is not UTF-8 is read as Latin-1.
    #[arg(long, value_name = "POINTER", group = "finder")]
    json: Vec<String>,

    /// Regular expression that finds the key: its groups, or the whole match
    ///
    /// The first match counts. Groups that did not match, such as one of the two in `id=(\d+)|key=(\w+)`, are left
    /// out, but the key includes which matched. A byte that is not UTF-8 is read as Latin-1.
    #[arg(long, value_name = "REGEX", group = "finder", allow_hyphen_values = true)]
    regex: Option<String>,

    /// Ignore the case of ASCII letters, or with --unicode of all letters
    #[arg(short = 'i', long)]
    ignore_case: bool,

    /// Treat equivalent Unicode spellings as equal (normal form C); with -i, fold case fully
    #[arg(long, hide_short_help = true)]
    unicode: bool,

    /// Ignore blanks around the key, or around each of its parts
    #[arg(long, hide_short_help = true)]
    trim: bool,

    /// Normalize URLs before comparing; leave other keys unchanged
    ///
    /// A URL begins with a scheme and `://`. It is normalized by the WHATWG URL standard and RFC 3986 (case of scheme
    /// and host, default ports, `.` and `..`, percent-encoding), and the fragment (`#...`) and a dot at the end of the
    /// host name are removed. OPTIONS, separated by commas, ignore more: the order of parameters (`sort-query`),
    /// parameters called NAME as the URL spells it, with `*` for anything (`drop=NAME`), the values and order of
    /// parameters (`shape`), the scheme, a leading `www.` or a slash at the end of the path (`no-scheme`, `no-www`,
    /// `no-slash`). `keep-fragment` keeps the fragment.
    #[arg(long, value_name = "OPTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    url: Vec<UrlForm>,

    /// What to do if the key, or a part of it, is absent, empty or unreadable [default: keep]
    ///
    /// keep treats the record as new, drop skips it, and both count it; error stops with exit code 2. With value, what is
    /// absent or empty is an empty value like any other, and an unreadable record is kept. Such a record is not
    /// remembered, except with value. An empty record is its own key. If no record of a run has a key, the exit code is
    /// 2, unless this option is given.
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_name = "WHAT", value_parser = word(&MISSING))]
    #[serde(skip)]
    missing: Option<OnMissing>,

    /// Process only the records of shard I of N
    ///
    /// The hash of a key decides its shard, so N runs with the same other options can share the work: concatenate their
    /// outputs, and merge their filters. Records without a key, and CSV headers, are in shard 1.
    #[arg(long, hide_short_help = true, value_name = "I/N", value_parser = Shard::parse)]
    shard: Option<Shard>,
}

/// What to do with records without a key.
const MISSING: [Word<OnMissing>; 4] = [
    ("keep", OnMissing::Keep),
    ("drop", OnMissing::Drop),
    ("error", OnMissing::Error),
    ("value", OnMissing::Value),
];

/// A byte string. (clap would read a field of type `Vec` as many values.)
type Bytes = Vec<u8>;

/// Where the times of records are, and their format.
#[derive(Clone, Debug)]
pub(crate) struct TimeSource<'a> {
    pub(crate) field: &'a str,
    pub(crate) format: TimeFormat,
}

impl TimeSource<'_> {
    /// Unless there is --csv or --tsv.
    fn is_in_fields(&self) -> bool {
        !self.field.starts_with('/')
    }
}

impl KeyArgs {
    /// The options that select keys, to be stored with the filter.
    fn finders(&self) -> BTreeMap<String, Vec<String>> {
        let separator = self.separator.iter().map(|bytes| value::escape_all(bytes)).collect();
        let all = [
            ("csv", self.csv.clone()),
            ("except", self.except.clone()),
            ("fields", self.fields.clone()),
            ("json", self.json.clone()),
            ("regex", Vec::from_iter(self.regex.clone())),
            ("separator", separator),
            ("tsv", self.tsv.clone()),
        ];
        let given = all.into_iter().filter(|(_, values)| !values.is_empty());
        given.map(|(option, values)| (option.to_owned(), values)).collect()
    }

    /// What finds the key; with --csv also the time, as the last part.
    fn finder(&self, time: Option<&TimeSource<'_>>) -> Result<Finder> {
        let separator = self.separator.as_deref();
        if let Some(dialect) = self.dialect() {
            let time = time.map(|time| Column::parse("--time-field", time.field)).transpose()?;
            let columns = Columns::new(self.choice()?, time, dialect)?;
            return Ok(Finder::Csv(Box::new(columns)));
        }
        if !self.fields.is_empty() {
            return Fields::new(&self.fields.join(","), separator).map(Finder::Fields);
        }
        if separator.is_some() && !time.is_some_and(TimeSource::is_in_fields) {
            return Err(Failure::at("-t", "needs -k, --csv, --tsv or --time-field"));
        }
        if let Some(text) = self.except.iter().find(|text| !text.starts_with('/')) {
            let reason =
                "is not a JSON pointer such as /time; for columns, add --csv '*' or --tsv '*'";
            return Err(Failure::at(format_args!("--except {text}"), reason));
        }
        if !self.except.is_empty() {
            return Pointers::all_but("--except", &self.except).map(Finder::Json);
        }
        if !self.json.is_empty() {
            return Pointers::new("--json", &self.json).map(Finder::Json);
        }
        match &self.regex {
            Some(pattern) => Pattern::new(pattern).map(Finder::Regex),
            None => Ok(Finder::Record),
        }
    }

    /// The beginning of comments.
    fn comment(&self) -> Option<Arc<[u8]>> {
        self.comment.as_ref().map(|comment| comment.as_bytes().into())
    }

    /// The option that selects columns, and its lists.
    fn columns(&self) -> (&'static str, &[String]) {
        if self.tsv.is_empty() { ("--csv", &self.csv) } else { ("--tsv", &self.tsv) }
    }

    /// Which columns make the key.
    fn choice(&self) -> Result<Choice> {
        let (option, lists) = self.columns();
        let parse = |option, lists: &[String]| -> Result<Vec<Column>> {
            let columns = lists.iter().map(|list| Column::parse_list(option, list));
            Ok(columns.collect::<Result<Vec<_>>>()?.concat())
        };
        if *lists == ["*"] {
            return parse("--except", &self.except).map(Choice::AllBut);
        }
        if !self.except.is_empty() {
            let reason = format!("leaves columns out of whole rows; use {option} '*'");
            return Err(Failure::at("--except", reason));
        }
        if lists.iter().any(|list| list == "*") {
            let reason = format!(
                "means all columns, so give it alone; {option} '=*' selects a column named *"
            );
            return Err(Failure::at("'*'", reason));
        }
        parse(option, lists).map(Choice::These)
    }

    fn same_keys(&self) -> Normalize {
        let Self { trim, ignore_case, unicode, .. } = *self;
        let url = self.url.iter().cloned().reduce(|all, form| all.and(&form));
        Normalize { trim, url, ignore_case, unicode }
    }

    /// The dialect of columns, if the key consists of them.
    fn dialect(&self) -> Option<Dialect> {
        let (option, lists) = self.columns();
        let has_quotes = option == "--csv";
        let comma = match self.separator.as_deref() {
            None if has_quotes => b',',
            None => b'\t',
            Some(&[byte]) => byte,
            // Refused later, like other bytes that cannot separate columns.
            Some(_) => b'\n',
        };
        let dialect = Dialect { comma, has_quotes, trims_names: self.trim };
        (!lists.is_empty()).then_some(dialect)
    }

    fn times(&self, time: TimeSource<'_>) -> Result<Times> {
        if !self.columns().1.is_empty() {
            return Ok(Times::new(None, time.format));
        }
        let separator = self.separator.as_deref();
        let finder = if time.is_in_fields() {
            Fields::new(time.field, separator).map(Finder::Fields)
        } else {
            Pointers::new("--time-field", &[time.field.to_owned()]).map(Finder::Json)
        };
        let finder = finder.map_err(|_| {
            let reason = "expected a list of fields such as 2 or 1,2, counted from 1, or a JSON pointer \
                          such as /time; columns need --csv";
            Failure::at(format_args!("--time-field {}", time.field), reason)
        })?;
        Ok(Times::new(Some(finder), time.format))
    }
}

/// The parameters of a new filter. With a window, numbers of items count all generations together. Whatever is given
/// must agree with a filter file that exists.
#[derive(Args, Debug)]
#[command(next_help_heading = "Memory")]
pub(crate) struct FilterArgs {
    /// Different records to expect, such as 10M [default: few; the filter grows]
    ///
    /// The filter has memory for N from the start (with a window, each generation for its share). If there are more, it
    /// grows; a filter with a --rate then says what the rate is. A filter that exists and has no --rate does not compare N.
    #[arg(long, value_name = "N", value_parser = value::items)]
    capacity: Option<u64>,

    /// Share of new records that may count as repeats, such as 0.1%; saves memory
    ///
    /// The share when the filter holds as many items as --capacity says; with fewer items it is lower. Without --rate
    /// the filter remembers all 64 bits of every key's hash. With --when-full stop it takes less memory. In a window of
    /// items, --capacity may be left out: it is what the window holds.
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    rate: Option<f64>,

    /// What to do with more items than --capacity: grow, or stop with exit code 3 [default: grow]
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_name = "WHAT", value_parser = word(&POLICIES))]
    when_full: Option<OnFull>,

    #[command(flatten)]
    secret: SecretArgs,

    #[command(flatten)]
    pub(crate) window: WindowArgs,
}

const POLICIES: [Word<OnFull>; 2] =
    [(OnFull::Grow.name(), OnFull::Grow), (OnFull::Stop.name(), OnFull::Stop)];

impl FilterArgs {
    /// The options in plain form.
    pub(crate) fn spec(&self) -> FilterSpec {
        let Self { capacity, rate, when_full: on_full, .. } = *self;
        let (secret, window) = (self.secret.secret(), self.window.spec());
        FilterSpec { capacity, rate, on_full, secret, window }
    }
}

/// The secret key of a filter's hash.
#[derive(Args, Debug)]
#[command(next_help_heading = "Memory")]
pub(crate) struct SecretArgs {
    /// Hash under the secret key in FILE: 16 bytes, or 32 hexadecimal digits
    ///
    /// For records that an attacker may choose (SipHash-1-3); every command on the file needs it.
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    secret: Option<PathBuf>,
}

impl SecretArgs {
    pub(crate) fn secret(&self) -> Secret {
        Secret::in_file(self.secret.clone())
    }

    /// The options with which an existing filter is opened.
    pub(crate) fn spec(&self) -> FilterSpec {
        FilterSpec { secret: self.secret(), ..FilterSpec::default() }
    }
}

/// The window of a new filter. Whatever is given must agree with a filter file that exists; only --time-field must be
/// repeated.
#[derive(Args, Debug)]
#[command(next_help_heading = "Memory")]
pub(crate) struct WindowArgs {
    /// Forget what is older than LENGTH, such as 7d, or all but the last 1M-items
    ///
    /// A record counts as seen for at least LENGTH (such as 36h or 1d 12h) after it was first seen, and for at most an
    /// eighth, a generation, more. Then the record is new again. Its time is its arrival, unless --time-field is given. With
    /// 1M-items the filter remembers the last 1M different records (rounded up to a multiple of 8), and at most an eighth
    /// more.
    #[arg(long, value_name = "LENGTH", value_parser = value::window)]
    pub(crate) window: Option<WindowLength>,

    /// Count a record's age from when it was first seen, or last seen [default: first]
    ///
    /// With last, each repeat extends the time for which `dedup` and `add --unique` remember a record. In a window of
    /// items it counts as one, unless its generation is the newest.
    #[arg(long = "window-by", hide_short_help = true, hide_possible_values = true, value_name = "WHEN", value_parser = word(&AGES))]
    age_from: Option<AgeFrom>,

    /// Field that holds the time of a record: fields as with -k, a column, or a JSON pointer
    ///
    /// The latest time read so far is the present, so old files can be replayed, and records may be out of order. A
    /// record older than the window counts as new, and is not remembered. A time that cannot be read,
    /// or is more than a generation ahead of the system's clock, counts as a missing key.
    #[arg(long, hide_short_help = true, value_name = "FIELD")]
    pub(crate) time_field: Option<String>,

    /// Format of the time [default: rfc3339, or a number]
    ///
    /// rfc3339; seconds, milliseconds, microseconds or nanoseconds since 1970 (by default told apart by their
    /// magnitude, from 1973 on); or a format such as %d/%b/%Y:%H:%M:%S %z or %Y%m%d. A date without a year is in the last
    /// year in which it is at most a generation in the future. A time without an offset (%z) is in UTC.
    #[arg(long, hide_short_help = true, value_name = "FORMAT", value_parser = TimeFormat::named, requires = "time_field",
          allow_hyphen_values = true)]
    time_format: Option<TimeFormat>,
}

const AGES: [Word<AgeFrom>; 2] = [
    (age_name(AgeFrom::FirstSeen), AgeFrom::FirstSeen),
    (age_name(AgeFrom::LastSeen), AgeFrom::LastSeen),
];

impl WindowArgs {
    /// The options in plain form.
    pub(crate) fn spec(&self) -> WindowSpec {
        WindowSpec {
            length: self.window,
            age_from: self.age_from,
            has_times: self.time_field.is_some(),
        }
    }

    /// Adds the options on which the result depends, except the window itself, which the filter has.
    pub(crate) fn describe(&self, spec: JobSpec) -> JobSpec {
        let format = self.time_format.as_ref();
        spec.with("time-field", self.time_field.as_ref()).with("time-format", format)
    }

    /// Where the times of records are, if they have some.
    pub(crate) fn time_source(&self) -> Option<TimeSource<'_>> {
        let format = || self.time_format.clone().unwrap_or_default();
        self.time_field.as_deref().map(|field| TimeSource { field, format: format() })
    }
}

/// How to run.
#[derive(Args, Debug)]
#[command(next_help_heading = "Running")]
pub(crate) struct RunArgs {
    /// Number of threads [default: processors, at most 16; fewer for small files]
    ///
    /// The output and the filter never depend on it. A filter in a file, with a window or with a limit of items is changed
    /// by one thread.
    #[arg(short = 'j', long, value_name = "N", value_parser = value_parser!(u16).range(1..=256))]
    threads: Option<u16>,

    /// Print statistics to standard error: text, or json (docs/json.md)
    #[arg(long, hide_possible_values = true, value_name = "FORMAT", num_args = 0..=1, require_equals = true,
          default_missing_value = "text", value_parser = word(&FORMATS))]
    stats: Option<ReportFormat>,

    #[command(flatten)]
    quiet: Quiet,
}

/// Whether to print progress, warnings and notes.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Running")]
pub(crate) struct Quiet {
    /// Print only errors: no progress, warnings or notes
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
}

const FORMATS: [Word<ReportFormat>; 2] =
    [("text", ReportFormat::Text), ("json", ReportFormat::Json)];

impl RunArgs {
    pub(crate) fn running(&self) -> Running {
        let threads = self.threads.and_then(|threads| NonZeroUsize::new(threads.into()));
        Running { threads, figures: self.stats, verbosity: self.quiet.verbosity() }
    }
}

impl Quiet {
    pub(crate) fn verbosity(self) -> Verbosity {
        if self.quiet { Verbosity::Quiet } else { Verbosity::Normal }
    }
}

/// Options of commands that change a filter record by record.
#[derive(Args, Debug)]
pub(crate) struct WorkArgs {
    /// Resume an interrupted run, or start a new one
    ///
    /// If the inputs and outputs of a run are files, the filter remembers how far the run has come. The same
    /// command (with the same inputs, outputs, and options that affect the result) and this option reads the inputs
    /// again, and skips the records that are done. Inputs may have grown, and further inputs may be named: what is
    /// new in them is processed. If an input no longer begins with what was processed, the run is refused (the first
    /// and the last 4 KiB of that are compared, or all of a compressed input). The filter also remembers the last 64
    /// completed runs with this option: the same command then does nothing. So use this option from the first run on.
    ///
    /// A last line without a newline is a record too. If it is longer when the run is resumed, the whole line
    /// is another record, and its first part stays in the output and in the filter: with the same key, the whole line is
    /// a repeat. A note says so.
    #[arg(long, help_heading = "Memory")]
    resume: bool,

    /// Seconds between checkpoints of output and filter [default: 5]
    ///
    /// Runs that can be resumed, and `dedup` on streams, save output and filter this often, or less often if that would
    /// take a tenth of the time.
    #[arg(long, help_heading = "Memory", hide_short_help = true, value_name = "SECONDS",
          value_parser = clock::seconds)]
    checkpoint_every: Option<Duration>,

    #[command(flatten)]
    run: RunArgs,
}

impl WorkArgs {
    /// The options for beginning and recording the run.
    pub(crate) fn resume_options(&self, spec: JobSpec) -> ResumeOptions {
        let mode = if self.resume { Mode::Resume } else { Mode::New };
        ResumeOptions { spec, mode, every: self.checkpoint_every }
    }

    pub(crate) fn running(&self) -> Running {
        self.run.running()
    }
}

/// The name of a value, and the value.
pub(crate) type Word<T> = (&'static str, T);

/// One of several words.
pub(crate) fn word<T: Copy + Send + Sync + 'static>(
    words: &'static [Word<T>],
) -> impl TypedValueParser<Value = T> {
    let parser = PossibleValuesParser::new(words.iter().map(|(name, _)| *name));
    parser.map(move |text| {
        words.iter().find(|(name, _)| **name == *text).expect("clap knows the words").1
    })
}

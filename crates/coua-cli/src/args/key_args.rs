//! Options for keys: where they are in records, and which differences to ignore.

use super::value::{self, Word, word};
use crate::clock::TimeFormat;
use crate::key::{
    Choice, Column, Columns, Dialect, Fields, Finder, Normalize, OnMissing, Pattern, Pointers,
    Shard, Times, UrlForm,
};
use crate::terminal::{Failure, Result};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A record's key: the whole record by default. The field names are part of the file format too.
#[derive(Args, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(next_help_heading = "Records and keys (default: a line is its own key)")]
pub(super) struct KeyArgs {
    /// Fields that make the key, counted from 1, such as 2 or 2,4 or 3-5 or 4-
    #[arg(short = 'k', long, value_name = "LIST", group = "finder", allow_hyphen_values = true)]
    pub(super) fields: Vec<String>,

    /// Separator of fields [default: runs of blanks; --csv a comma, --tsv a tab]
    #[arg(short = 't', long, value_name = "SEP", value_parser = value::escaped,
          allow_hyphen_values = true)]
    pub(super) separator: Option<Bytes>,

    /// CSV columns that are the key: names in the header, or numbers
    ///
    /// Separate columns with commas, and quote a name that contains one. With a name, the first record of every file is
    /// a header: it is printed once and is not a record; records equal to it are skipped. If records are printed, all
    /// headers must be equal. Numbers count from 1; `2-4` and `4-` are ranges. A name in the header wins over a number;
    /// `=2020` is always a name; `id[2]` is the second column called id. With numbers only, no header is expected, unless
    /// a number is too high for the first record and is a name in it. Empty lines and a line such as `sep=;` may precede
    /// the header. With `*` the key is the whole row by its values; no header is expected.
    #[arg(long, value_name = "COLUMNS", group = "finder", allow_hyphen_values = true)]
    pub(super) csv: Vec<String>,

    /// Like --csv, for lines with columns between tabs, or -t; quotes are ordinary characters
    #[arg(
        long,
        hide_short_help = true,
        value_name = "COLUMNS",
        group = "finder",
        allow_hyphen_values = true
    )]
    pub(super) tsv: Vec<String>,

    /// Leave PARTS, such as a time, out of the key: of a row (--csv '*'), or of a JSON record
    ///
    /// With `--csv '*'` or `--tsv '*'`, PARTS are columns; if one is a name, every file has a header, and columns are
    /// compared by name, whatever their order. Columns before these that a row lacks are empty. Otherwise PARTS is a JSON
    /// pointer, such as /time.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "PARTS",
        conflicts_with_all = ["fields", "json", "regex"],
        allow_hyphen_values = true
    )]
    pub(super) except: Vec<String>,

    /// Records that begin with TEXT are comments: printed, never compared
    ///
    /// Comments before the header of a second or later file are left out, as that header is.
    #[arg(long, hide_short_help = true, value_name = "TEXT", allow_hyphen_values = true,
          value_parser = NonEmptyStringValueParser::new())]
    pub(super) comment: Option<String>,

    /// JSON pointer to the key, such as /user/id
    ///
    /// As in RFC 6901. The key is the content of a string, or the JSON text of another value, so 1 and "1" are one key;
    /// blanks, the order of members and unnecessary escapes are ignored. Of members with one name, the last counts. Null
    /// counts as absent.
    #[arg(long, value_name = "POINTER", group = "finder")]
    pub(super) json: Vec<String>,

    /// Regular expression that finds the key: its groups, or the whole match
    ///
    /// The first match counts. Groups that did not match, such as one of the two in `id=(\d+)|key=(\w+)`, are left
    /// out, but the key includes which matched. A byte that is not UTF-8 is read as Latin-1.
    #[arg(long, value_name = "REGEX", group = "finder", allow_hyphen_values = true)]
    pub(super) regex: Option<String>,

    /// Ignore the case of ASCII letters, or with --unicode of all letters
    #[arg(short = 'i', long)]
    pub(super) ignore_case: bool,

    /// Treat equivalent Unicode spellings as equal (normal form C); with -i, fold case fully
    #[arg(long, hide_short_help = true)]
    pub(super) unicode: bool,

    /// Ignore blanks around the key, or around each of its parts
    #[arg(long, hide_short_help = true)]
    pub(super) trim: bool,

    /// Normalize URLs before comparing; leave other keys unchanged
    ///
    /// A URL begins with a scheme and `://`. It is normalized by the WHATWG URL standard and RFC 3986 (case of scheme
    /// and host, default ports, `.` and `..`, percent-encoding), and the fragment (`#...`) and a dot at the end of the
    /// host name are removed. OPTIONS, separated by commas, ignore more: the order of parameters (`sort-query`),
    /// parameters called NAME as the URL spells it, with `*` for anything (`drop=NAME`), the values and order of
    /// parameters (`shape`), the scheme, a leading `www.` or a slash at the end of the path (`no-scheme`, `no-www`,
    /// `no-slash`). `keep-fragment` keeps the fragment.
    #[arg(long, value_name = "OPTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(super) url: Vec<UrlForm>,

    /// What to do if the key, or a part of it, is absent, empty or unreadable [default: keep]
    ///
    /// keep treats the record as new, drop skips it, and both count it; error stops with exit code 2. With value, what is
    /// absent or empty is an empty value like any other, and an unreadable record is kept. Such a record is not
    /// remembered, except with value. An empty record is its own key. If no record of a run has a key, the exit code is
    /// 2, unless this option is given.
    #[arg(long, hide_short_help = true, hide_possible_values = true, value_name = "WHAT", value_parser = word(&POLICIES))]
    #[serde(skip)]
    pub(super) missing: Option<OnMissing>,

    /// Process only the records of shard I of N
    ///
    /// The hash of a key decides its shard, so N runs with the same other options can share the work: concatenate their
    /// outputs, and merge their filters. Records without a key, and CSV headers, are in shard 1.
    #[arg(long, hide_short_help = true, value_name = "I/N", value_parser = Shard::parse)]
    pub(super) shard: Option<Shard>,
}

/// What to do with records without a key.
const POLICIES: [Word<OnMissing>; 4] = [
    ("keep", OnMissing::Keep),
    ("drop", OnMissing::Drop),
    ("error", OnMissing::Error),
    ("value", OnMissing::Value),
];

/// A byte string. (clap would read a field of type `Vec` as many values.)
pub(super) type Bytes = Vec<u8>;

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
    pub(super) fn finders(&self) -> BTreeMap<String, Vec<String>> {
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
    pub(super) fn finder(&self, time: Option<&TimeSource<'_>>) -> Result<Finder> {
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
    pub(super) fn comment(&self) -> Option<Arc<[u8]>> {
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

    pub(super) fn same_keys(&self) -> Normalize {
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

    pub(super) fn times(&self, time: TimeSource<'_>) -> Result<Times> {
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

//! The headers of CSV inputs, which name their columns.

use crate::key::column::NoColumn;
use crate::key::csv::Columns;
use crate::record::{Header, Places, unmarked};
use crate::terminal::{Failure, Result};
use coua::KeyHasher;
use std::fmt;
use std::sync::Arc;

/// Bytes of a header that a message shows.
const SHOWN: usize = 200;

/// Whether records under different headers may go to one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mixing {
    /// Records are printed, and would follow a wrong header.
    Refused,
    /// No record is printed.
    Allowed,
}

/// The headers of the inputs, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Headers {
    pub(crate) columns: Columns,
    pub(crate) mixing: Mixing,
    /// The beginning of lines that may precede a header.
    comment: Option<Arc<[u8]>>,
    /// The name of the column that is printed before those of the inputs, if there is one.
    pub(crate) added: Option<&'static str>,
    /// The first file with a header, and the names in it.
    expected: Option<(Arc<str>, Names)>,
    /// An input had a header.
    has_met: bool,
}

impl Headers {
    pub(crate) fn new(columns: Columns, mixing: Mixing, comment: Option<Arc<[u8]>>) -> Self {
        Self { columns, mixing, comment, added: None, expected: None, has_met: false }
    }

    /// The headers of the inputs, after those of files that are appended to.
    pub(crate) fn of_inputs(self) -> Self {
        Self { has_met: false, ..self }
    }

    /// Whether a record is one of the lines that may precede a header: an empty one, a comment, or a `sep=` line for
    /// spreadsheets. Returns an error if that has another separator.
    pub(crate) fn is_before(&self, input: &Arc<str>, record: &[u8]) -> Result<bool> {
        let line = unmarked(record);
        if let [separator] = line.strip_prefix(b"sep=").unwrap_or_default() {
            let wanted = self.columns.dialect.comma;
            if *separator == wanted {
                return Ok(true);
            }
            let [found, wanted] = [*separator, wanted].map(char::from);
            let reason = format_args!(
                "its first line declares {found:?} as the separator, not {wanted:?}; use -t '{found}'"
            );
            return Err(Failure::at(input, reason));
        }
        let is_comment = self.comment.as_ref().is_some_and(|comment| line.starts_with(comment));
        Ok(line.is_empty() || is_comment)
    }

    /// The header that the lines before the next one belong to.
    pub(crate) fn next(&self) -> Header {
        if self.has_met { Header::Further } else { Header::First }
    }

    /// The places of the key's columns in an input with this first record, and which header it is; none if it is not a
    /// header.
    pub(crate) fn take(
        &mut self,
        input: &Arc<str>,
        first: &[u8],
    ) -> Result<Option<(Places, Header)>> {
        let mut names = Names::after(self.added);
        let places = match self.columns.resolve(first, |name| names.add(name)) {
            Ok(None) => return Ok(None),
            Ok(Some(places)) => places,
            Err(NoColumn::Left) => {
                let reason = format_args!(
                    "--except names all columns ({}); none is left for the key",
                    names.in_input()
                );
                return Err(Failure::at(input, reason));
            }
            Err(NoColumn::Missing(name)) => {
                let found = names.in_input();
                let is_one = !found.contains(", ");
                let other =
                    [";", "\\t", "|", ","].into_iter().find(|it| is_one && found.contains(it));
                let remedy = other.map_or_else(String::new, |it| format!("; use -t '{it}'"));
                let reason =
                    format_args!("no column \"{name}\" in the header (found {found}){remedy}");
                return Err(Failure::at(input, reason));
            }
            Err(NoColumn::Ambiguous { name, places: [first, second] }) => {
                let reason = format_args!(
                    "several columns are named \"{name}\" (numbers {first} and {second}); use a number, or \
                     --csv '{name}[2]'"
                );
                return Err(Failure::at(input, reason));
            }
        };
        let header = self.next();
        self.has_met = true;
        let Some((first, expected)) = &self.expected else {
            self.expected = Some((input.clone(), names));
            return Ok(Some((places, header)));
        };
        if self.mixing == Mixing::Refused && names.digest != expected.digest {
            let reason = format_args!(
                "its header differs from that of {first} (found {names}, expected {expected}), but both go \
                 to one output; run them separately, or give both the same columns"
            );
            return Err(Failure::at(input, reason));
        }
        Ok(Some((places, header)))
    }
}

/// The names in a header, without quotes. A header may be giant, so it is compared by a digest.
#[derive(Clone, Debug, Default)]
struct Names {
    digest: u64,
    /// The column that is printed before those of the input, if there is one.
    added: Option<&'static str>,
    /// The first of the input's names.
    shown: String,
}

impl Names {
    fn after(added: Option<&'static str>) -> Self {
        let mut names = Self::default();
        if let Some(name) = added {
            names.add(name.as_bytes());
        }
        Self { added, shown: String::new(), ..names }
    }

    /// The names without the added one.
    fn in_input(&self) -> &str {
        if self.shown.is_empty() { "none" } else { &self.shown }
    }

    fn add(&mut self, name: &[u8]) {
        let hash = |bytes: &[u8]| KeyHasher::default().hash(bytes).to_u64();
        let both = (u128::from(self.digest) << 64) | u128::from(hash(name));
        self.digest = hash(&both.to_le_bytes());
        if self.shown.len() > SHOWN {
            return;
        }
        if !self.shown.is_empty() {
            self.shown.push_str(", ");
        }
        let part = &name[..name.len().min(SHOWN)];
        let has_blanks = part.trim_ascii().len() < part.len();
        let quote = if has_blanks { "\"" } else { "" };
        self.shown.push_str(quote);
        self.shown.extend(String::from_utf8_lossy(part).escape_debug());
        self.shown.push_str(quote);
        if self.shown.len() > SHOWN {
            self.shown.push_str("...");
        }
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.added.iter().try_for_each(|name| write!(f, "{name}, "))?;
        f.write_str(self.in_input())
    }
}

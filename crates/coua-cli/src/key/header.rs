//! The headers of CSV inputs, which name their columns.

use crate::key::csv::{Columns, digest, shown};
use crate::record::{Header, Places, unmarked};
use crate::terminal::{Failure, Result};
use std::sync::Arc;

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
        let places = self.columns.resolve(first).map_err(|reason| Failure::at(input, reason))?;
        let Some(places) = places else { return Ok(None) };
        let names = self.names();
        let header = self.next();
        self.has_met = true;
        let Some((first, expected)) = &self.expected else {
            self.expected = Some((input.clone(), names));
            return Ok(Some((places, header)));
        };
        if self.mixing == Mixing::Refused && names != *expected {
            let reason = format_args!(
                "its header differs from that of {first} (found {}, expected {}), but both go \
                 to one output; run them separately, or give both the same columns",
                names.shown, expected.shown
            );
            return Err(Failure::at(input, reason));
        }
        Ok(Some((places, header)))
    }

    /// The names in the header that was read last, after the one that is added.
    fn names(&self) -> Names {
        let added = self.added.map(str::as_bytes);
        let all: Vec<&[u8]> = added.into_iter().chain(self.columns.names()).collect();
        Names { digest: digest(all.iter().copied()), shown: shown(&all) }
    }
}

/// The names in a header, without quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Names {
    digest: u64,
    /// The first names.
    shown: String,
}

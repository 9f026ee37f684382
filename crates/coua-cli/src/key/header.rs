//! The headers of CSV inputs, which name their columns.

use crate::key::csv::Columns;
use crate::record::Header;
use crate::terminal::{Failure, Result};
use coua::KeyHasher;
use std::fmt;
use std::sync::Arc;

/// Bytes of a header that a message shows.
const SHOWN: usize = 200;

/// Whether records under different headers may go to one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mixing {
    /// Records are printed: they would stand under the header of others.
    Refused,
    /// No record is printed.
    Allowed,
}

/// The headers of the inputs, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Headers {
    pub(crate) columns: Columns,
    mixing: Mixing,
    /// The first input with a header, and the names in it.
    first: Option<(Arc<str>, Names)>,
}

impl Headers {
    pub(crate) fn new(columns: Columns, mixing: Mixing) -> Self {
        Self { columns, mixing, first: None }
    }

    /// Where the columns of the key are in an input with this header, and which header it is.
    pub(crate) fn take(&mut self, input: &Arc<str>, header: &[u8]) -> Result<(Vec<usize>, Header)> {
        let mut names = Names::default();
        let places = self.columns.resolve(header, |name| names.add(name));
        let places = places.map_err(|name| {
            let reason = format_args!("the header has no column \"{name}\" (its columns: {names})");
            Failure::at(input, reason)
        })?;
        let Some((first, expected)) = &self.first else {
            self.first = Some((input.clone(), names));
            return Ok((places, Header::First));
        };
        if self.mixing == Mixing::Refused && names.digest != expected.digest {
            let reason = format_args!(
                "its header differs from that of {first} (found {names}, expected {expected}), and the \
                 records of both go to one output; give both the same columns, or run them one by one"
            );
            return Err(Failure::at(input, reason));
        }
        Ok((places, Header::Repeated))
    }
}

/// The names in a header, whatever quotes they have. A header may be giant: it is compared by a digest.
#[derive(Clone, Debug, Default)]
struct Names {
    digest: u64,
    /// The first of them.
    shown: String,
}

impl Names {
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
        self.shown.extend(String::from_utf8_lossy(part).escape_debug());
        if self.shown.len() > SHOWN {
            self.shown.push_str("...");
        }
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.shown.is_empty() { "none" } else { &self.shown })
    }
}

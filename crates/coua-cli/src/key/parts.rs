//! The parts of a key, and why there are none.

use std::fmt;
use std::sync::Arc;

/// Why a record has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Field(usize),
    Column(usize),
    OpenQuote,
    BrokenJson,
    Pointer(Arc<str>),
    Match,
    Groups,
    Time(String),
    TimeAhead(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(number) => write!(f, "no field {number}"),
            Self::Column(number) => write!(f, "no column {number}"),
            Self::OpenQuote => f.write_str("a quote is never closed"),
            Self::BrokenJson => f.write_str("no valid JSON"),
            Self::Pointer(pointer) => write!(f, "nothing at {pointer}"),
            Self::Match => f.write_str("no match of the regular expression"),
            Self::Groups => f.write_str("no group of the regular expression took part"),
            Self::Time(text) => write!(f, "its time \"{}\" cannot be read", text.escape_debug()),
            Self::TimeAhead(text) => {
                write!(f, "its time \"{}\" has not come yet", text.escape_debug())
            }
        }
    }
}

/// Byte strings, one after the other: the parts of one key, or the keys of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ends: Vec<usize>,
}

impl Parts {
    pub(crate) fn push(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Moves the last part, if there is one, to `to`.
    pub(super) fn pop(&mut self, to: &mut Vec<u8>) {
        if self.ends.pop().is_some() {
            let begin = self.ends.last().copied().unwrap_or(0);
            to.extend(self.bytes.drain(begin..));
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

//! The parts of a key, and why there are none.

use std::fmt;
use std::sync::Arc;

/// Why a record has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Field(usize),
    Column(usize),
    /// A field, column or JSON string without a byte.
    Empty,
    OpenQuote,
    BrokenJson,
    /// It is, or begins, a JSON array of records.
    Array,
    Pointer(Arc<str>),
    Match,
    Groups,
    Time(String),
    TimeAhead(String),
}

impl Missing {
    /// Whether the key is there, but not the time.
    pub(crate) fn is_about_time(&self) -> bool {
        matches!(self, Self::Time(_) | Self::TimeAhead(_))
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(number) => write!(f, "no field {number}"),
            Self::Column(number) => write!(f, "no column {number}"),
            Self::Empty => f.write_str("the key is empty (--empty=key makes it a key)"),
            Self::OpenQuote => f.write_str("a quote is never closed"),
            Self::BrokenJson => f.write_str("no valid JSON"),
            Self::Array => f.write_str("a JSON array; make lines of it with `jq -c '.[]'`"),
            Self::Pointer(pointer) => write!(f, "nothing at {pointer}"),
            Self::Match => f.write_str("no match of the regular expression"),
            Self::Groups => f.write_str("no group of the regular expression took part"),
            Self::Time(text) => {
                let text = text.escape_debug();
                write!(
                    f,
                    "its time \"{text}\" cannot be read; --time-format says how times are written"
                )
            }
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
    /// The numbers (from 0) of the parts that the record lacks, in order, and why. Each stands among the others as an
    /// empty part.
    pub(super) absent: Vec<(usize, Missing)>,
}

impl Parts {
    pub(crate) fn push(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(part);
        self.ends.push(self.bytes.len());
    }

    /// Adds a part that the record lacks.
    pub(super) fn push_absent(&mut self, why: Missing) {
        self.absent.push((self.ends.len(), why));
        self.push(b"");
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.absent.clear();
    }

    /// Moves the last part, if there is one, to `to`. Returns an error if the record lacks it.
    pub(super) fn pop(&mut self, to: &mut Vec<u8>) -> Result<(), Missing> {
        if self.ends.pop().is_some() {
            let begin = self.ends.last().copied().unwrap_or(0);
            to.extend(self.bytes.drain(begin..));
        }
        match self.absent.pop_if(|(number, _)| *number == self.ends.len()) {
            Some((_, why)) => Err(why),
            None => Ok(()),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

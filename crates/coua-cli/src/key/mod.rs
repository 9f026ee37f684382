//! From a record to its key, and to the key's hash.
//!
//! A key is the whole record, or one or more parts of it, each normalized. A key of one part is the
//! part's bytes; a key of several is each part after its length (8 bytes, little endian), so that
//! `a b,c` and `a,b c` differ.

pub(crate) mod answers;
pub(crate) mod csv;
mod fields;
pub(crate) mod hashing;
pub(crate) mod header;
mod json;
pub(crate) mod keyed;
mod normalize;
mod regex;
pub(crate) mod shard;
pub(crate) mod time;

use crate::terminal::message::Failure;
use coua::{KeyHash, KeyHasher};
pub(crate) use normalize::Normalize;
use std::collections::TryReserveError;
use std::fmt;
use std::sync::Arc;
use time::Times;

/// Where the key is in a record.
#[derive(Clone, Debug)]
pub(crate) enum Finder {
    Record,
    Fields(Box<fields::Fields>),
    Csv(Box<csv::Columns>),
    Json(json::Pointers),
    Regex(regex::Pattern),
}

impl Finder {
    /// Fields of a `-k` list, between separators or (without one) blanks.
    pub(crate) fn fields(list: &str, separator: Option<&[u8]>) -> Result<Self, Failure> {
        Ok(Self::Fields(Box::new(fields::Fields::new(list, separator)?)))
    }

    /// Columns of CSV records.
    pub(crate) fn csv(wanted: Vec<csv::Column>, comma: Option<&[u8]>) -> Result<Self, Failure> {
        Ok(Self::Csv(Box::new(csv::Columns::new(wanted, comma)?)))
    }

    /// What JSON pointers find.
    pub(crate) fn json(pointers: &[String]) -> Result<Self, Failure> {
        Ok(Self::Json(json::Pointers::new(pointers)?))
    }

    /// What a regular expression finds.
    pub(crate) fn regex(pattern: &str) -> Result<Self, Failure> {
        Ok(Self::Regex(regex::Pattern::new(pattern)?))
    }

    fn find(&mut self, record: &[u8], parts: &mut Parts) -> Result<(), Missing> {
        match self {
            Self::Record => {
                parts.push(record);
                Ok(())
            }
            Self::Fields(fields) => fields.find(record, parts),
            Self::Csv(columns) => columns.find(record, parts),
            Self::Json(pointers) => pointers.find(record, parts),
            Self::Regex(pattern) => pattern.find(record, parts),
        }
    }

    /// Gives back the memory that a giant record took.
    fn shrink(&mut self) {
        if let Self::Csv(columns) = self {
            columns.shrink();
        }
    }
}

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
    bytes: Vec<u8>,
    ends: Vec<usize>,
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
    fn pop(&mut self, to: &mut Vec<u8>) {
        if self.ends.pop().is_some() {
            let begin = self.ends.last().copied().unwrap_or(0);
            to.extend(self.bytes.drain(begin..));
        }
    }

    /// Bytes of all of them.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// All bytes, and where each of them ends.
    pub(crate) fn pieces(&self) -> (&[u8], &[usize]) {
        (&self.bytes, &self.ends)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// Bytes beyond the record that a key may have, for the lengths of its parts.
const PARTS_LENGTHS: usize = 1 << 20;

/// Finds, normalizes and hashes keys.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    finder: Finder,
    normalize: Normalize,
    times: Option<Times>,
    parts: Parts,
    key: Vec<u8>,
}

impl Keys {
    pub(crate) fn new(finder: Finder, normalize: Normalize, times: Option<Times>) -> Self {
        Self { finder, normalize, times, parts: Parts::default(), key: Vec::new() }
    }

    /// Takes the memory that the key of a giant record needs, so that there is an error rather than an abort if
    /// there is none.
    fn make_room(&mut self, record: usize) -> Result<(), TryReserveError> {
        self.parts.clear();
        self.key.clear();
        self.parts.bytes.try_reserve(record)?;
        self.key.try_reserve(record.saturating_add(PARTS_LENGTHS))?;
        match &mut self.finder {
            Finder::Csv(columns) => columns.make_room(record)?,
            // What is allocated on the way cannot be lent.
            Finder::Json(_) => Vec::<u8>::new().try_reserve(record.saturating_mul(3))?,
            _ => {}
        }
        if self.normalize.url {
            Vec::<u8>::new().try_reserve(record.saturating_mul(3))
        } else {
            Ok(())
        }
    }

    /// Gives back the memory that the key of a giant record took.
    fn shrink(&mut self) {
        (self.parts, self.key) = (Parts::default(), Vec::new());
        self.finder.shrink();
        if let Some(times) = &mut self.times {
            times.shrink();
        }
    }

    /// Whether the key is the record's content as it is, and nothing else is to be found.
    pub(crate) fn is_whole_record(&self) -> bool {
        let is_plain = matches!(self.finder, Finder::Record) && self.normalize.does_nothing();
        is_plain && self.times.is_none()
    }

    /// What finds the times of records, if they have some.
    pub(crate) fn times(&mut self) -> Option<&mut Times> {
        self.times.as_mut()
    }

    /// The CSV columns, if the key is made of such.
    pub(crate) fn csv(&self) -> Option<&csv::Columns> {
        match &self.finder {
            Finder::Csv(columns) => Some(columns),
            _ => None,
        }
    }

    /// From here on, the columns have these numbers.
    pub(crate) fn use_columns(&mut self, numbers: &[usize]) {
        if let Finder::Csv(columns) = &mut self.finder {
            columns.use_numbers(numbers);
        }
    }

    /// The key that was hashed last.
    pub(crate) fn last_key(&self) -> &[u8] {
        &self.key
    }

    /// The hash of the key of a record's content, and the record's time, if it has one.
    pub(crate) fn hash(
        &mut self,
        content: &[u8],
        hasher: KeyHasher,
    ) -> Result<(KeyHash, Option<u64>), Missing> {
        self.parts.clear();
        self.finder.find(content, &mut self.parts)?;
        let times = self.times.as_mut();
        let time = times.map(|times| times.find(content, &mut self.parts)).transpose()?;
        self.key.clear();
        let several = self.parts.ends.len() > 1;
        for part in self.parts.iter() {
            let start = self.key.len();
            if several {
                self.key.extend_from_slice(&[0; 8]);
            }
            self.normalize.append(part, &mut self.key);
            if several {
                let length = (self.key.len() - start - 8) as u64;
                self.key[start..start + 8].copy_from_slice(&length.to_le_bytes());
            }
        }
        Ok((hasher.hash(&self.key), time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(finder: Finder, record: &[u8]) -> Vec<u8> {
        let mut keys = Keys::new(finder, Normalize::default(), None);
        keys.hash(record, KeyHasher::default()).unwrap();
        keys.key
    }

    #[test]
    fn one_part_is_the_key_and_several_are_told_apart() {
        assert_eq!(key(Finder::fields("2", None).unwrap(), b"a bc d"), b"bc");
        let two = key(Finder::fields("1,2", Some(b",")).unwrap(), b"ab,c");
        assert_eq!(two, b"\x02\0\0\0\0\0\0\0ab\x01\0\0\0\0\0\0\0c");
        assert_ne!(two, key(Finder::fields("1,2", Some(b",")).unwrap(), b"a,bc"));
        assert_eq!(key(Finder::regex("(..),(.)(x)?").unwrap(), b"ab,cx")[..19], two);
        assert_eq!(key(Finder::regex("(..),(.)|(x)()").unwrap(), b"ab,c")[..19], two);
        assert_eq!(key(Finder::regex("(..),(.)").unwrap(), b"ab,c"), two);
    }
}

//! From a record to its key, and to the key's hash.
//!
//! A key is the whole record, or one or more parts of it, each normalized. A key of one part is the
//! part's bytes; a key of several is each part after its length (8 bytes, little endian), so that
//! `a b,c` and `a,b c` differ.

mod block_keys;
mod csv;
mod fields;
mod hashing;
mod json;
mod key_spec;
mod regex;
mod url;

pub(crate) use block_keys::{Answers, BlockKeys, Group, Missing, MissingKey, Parts, Reason, Seen};
pub(crate) use csv::{Choice, Column, Columns, Dialect, Headers, Mixing};
pub(crate) use fields::Fields;
pub(crate) use hashing::{Done, Hashing, Known, KnownFilter, OnMissing, Shard, Wanted};
pub(crate) use json::Pointers;
pub(crate) use key_spec::{KeySpec, Normalize};
pub(crate) use regex::Pattern;
pub(crate) use url::UrlForm;

use crate::clock::{self, TimeFormat};
use coua::{KeyHash, KeyHasher};
use std::collections::TryReserveError;
use std::mem;

/// Bytes beyond the record that a key may have, for the lengths of its parts.
const PARTS_LENGTHS: usize = 1 << 20;

/// The name in a CSV header of the number of records with the same key.
pub(crate) const COUNT: &str = "count";

/// Finds, normalizes and hashes keys.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    finder: Finder,
    pub(crate) normalize: Normalize,
    /// A part that is absent or empty is an empty value; otherwise the record has no key.
    pub(crate) allows_empty: bool,
    /// What finds the times of records, if they have some.
    pub(crate) times: Option<Times>,
    parts: Parts,
    /// The key that was hashed last.
    key: Vec<u8>,
}

impl Keys {
    pub(crate) fn new(finder: Finder, normalize: Normalize, times: Option<Times>) -> Self {
        let (parts, key) = (Parts::default(), Vec::new());
        Self { finder, normalize, allows_empty: false, times, parts, key }
    }

    /// Reserves the memory that the key of a giant record needs, so that a lack of it is an error, not an abort.
    fn make_room(&mut self, record: usize) -> Result<(), TryReserveError> {
        self.parts.clear();
        self.key.clear();
        self.parts.bytes.try_reserve(record)?;
        // As many parts as a record may have, each with its length.
        let lengths = if self.parts() > 0 { PARTS_LENGTHS } else { record.saturating_mul(8) };
        self.key.try_reserve(record.saturating_add(lengths))?;
        match &mut self.finder {
            Finder::Csv(columns) => columns.make_room(record)?,
            // The parser allocates its own memory, so this only tries whether it is available.
            Finder::Json(_) => Vec::<u8>::new().try_reserve(record.saturating_mul(3))?,
            _ => {}
        }
        if self.normalize.url.is_some() || self.normalize.unicode {
            Vec::<u8>::new().try_reserve(record.saturating_mul(3))
        } else {
            Ok(())
        }
    }

    /// Whether the key is the unchanged content of the record, and no time is needed.
    pub(crate) fn is_whole_record(&self) -> bool {
        let is_plain = matches!(self.finder, Finder::Record) && self.normalize.does_nothing();
        is_plain && self.times.is_none()
    }

    /// The number of parts of every key; 0 if it differs.
    pub(crate) fn parts(&self) -> usize {
        self.finder.parts()
    }

    /// The CSV columns, if the key consists of columns.
    pub(crate) fn csv(&self) -> Option<&csv::Columns> {
        match &self.finder {
            Finder::Csv(columns) => Some(columns),
            _ => None,
        }
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
        self.check_parts()?;
        self.key.clear();
        if self.parts.ends.len() > 1 || self.parts() != 1 {
            self.join_parts();
        } else if self.normalize.does_nothing() {
            // Avoids a copy; the next record resets the parts.
            mem::swap(&mut self.key, &mut self.parts.bytes);
        } else {
            self.normalize.append(&self.parts.bytes, &mut self.key);
        }
        Ok((hasher.hash(&self.key), time))
    }

    /// Joins several parts to the key.
    fn join_parts(&mut self) {
        for part in self.parts.iter() {
            let start = self.key.len();
            self.key.extend_from_slice(&[0; 8]);
            self.normalize.append(part, &mut self.key);
            let length = (self.key.len() - start - 8) as u64;
            self.key[start..start + 8].copy_from_slice(&length.to_le_bytes());
        }
    }

    /// Returns an error if the record lacks a part of the key.
    fn check_parts(&mut self) -> Result<(), Missing> {
        if self.allows_empty {
            return Ok(());
        }
        if let Some((_, why)) = self.parts.absent.take() {
            return Err(why);
        }
        let mut is_empty = self.parts.iter().map(|part| self.normalize.is_empty(part));
        let lacks = match &self.finder {
            Finder::Regex(pattern) => {
                is_empty.take(pattern.values()).filter(|it| *it).count() > pattern.unmatched()
            }
            finder => finder.finds_values() && is_empty.any(|it| it),
        };
        if lacks { Err(Missing::Empty) } else { Ok(()) }
    }
}

/// Where the key is in a record.
#[derive(Clone, Debug)]
pub(crate) enum Finder {
    Record,
    Fields(fields::Fields),
    Csv(Box<csv::Columns>),
    Json(json::Pointers),
    Regex(regex::Pattern),
}

impl Finder {
    pub(super) fn find(&mut self, record: &[u8], parts: &mut Parts) -> Result<(), Missing> {
        match self {
            Self::Record => parts.push(record),
            Self::Fields(fields) => fields.find(record, parts),
            Self::Csv(columns) => columns.find(record, parts),
            Self::Json(pointers) => return pointers.find(record, parts),
            Self::Regex(pattern) => pattern.find(record, parts),
        }
        Ok(())
    }

    /// The number of parts of every key; 0 if it differs.
    pub(super) fn parts(&self) -> usize {
        match self {
            Self::Record => 1,
            Self::Fields(fields) => fields.parts(),
            Self::Csv(columns) => columns.parts(),
            Self::Json(pointers) => pointers.parts(),
            Self::Regex(pattern) => pattern.parts(),
        }
    }

    /// Whether an empty part counts as missing; an empty record, row or group does not.
    pub(super) fn finds_values(&self) -> bool {
        match self {
            Self::Csv(columns) => !columns.are_all_but_some(),
            Self::Fields(_) | Self::Json(_) => true,
            Self::Record | Self::Regex(_) => false,
        }
    }
}

/// Bytes of a broken time that are shown.
const SHOWN: usize = 40;

/// Finds and reads the times of records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    /// Finds the time, whose parts are joined with blanks; if there is none, the key's finder returns the time after
    /// the key.
    finder: Option<Finder>,
    format: TimeFormat,
    parts: Parts,
    text: Vec<u8>,
    /// How far after the present a time may be, in milliseconds.
    ahead: u64,
    /// The latest time that is accepted.
    latest: u64,
}

impl Times {
    pub(crate) fn new(finder: Option<Finder>, format: TimeFormat) -> Self {
        Self { finder, format, ..Self::default() }
    }

    /// Accepts times up to `ahead` milliseconds after the present.
    pub(crate) fn believe(&mut self, ahead: u64) {
        self.ahead = ahead;
    }

    /// Reads the clock.
    pub(crate) fn look_up(&mut self) {
        self.latest = clock::present().saturating_add(self.ahead);
    }

    /// The time of a record in which the key's finder has found `parts`.
    pub(super) fn find(&mut self, record: &[u8], parts: &mut Parts) -> Result<u64, Missing> {
        self.text.clear();
        match &mut self.finder {
            None => parts.pop(&mut self.text)?,
            Some(finder) => {
                self.parts.clear();
                finder.find(record, &mut self.parts)?;
                if let Some((_, why)) = self.parts.absent.take() {
                    return Err(why);
                }
                for part in self.parts.iter() {
                    if !self.text.is_empty() {
                        self.text.push(b' ');
                    }
                    self.text.extend_from_slice(part);
                }
            }
        }
        let time = self.format.parse(&self.text, self.latest);
        if let Some(time) = time.filter(|time| *time <= self.latest) {
            return Ok(time);
        }
        let (shown, advice) = (self.shown(), self.format.advice(&self.text));
        Err(Missing::Time(match time {
            Some(_) => format!("its time \"{shown}\" is in the future"),
            None => format!("cannot read the time \"{shown}\"{advice}"),
        }))
    }

    fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        let rest = if text.chars().count() > SHOWN { "..." } else { "" };
        text.chars().take(SHOWN).chain(rest.chars()).flat_map(char::escape_debug).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::fields::Fields;
    use crate::key::regex::Pattern;

    fn key(finder: Finder, record: &[u8]) -> Vec<u8> {
        let mut keys = Keys::new(finder, Normalize::default(), None);
        keys.hash(record, KeyHasher::default()).unwrap();
        keys.key
    }

    #[test]
    fn a_part_without_a_byte_is_missing_unless_it_is_a_value() {
        let key = |list, allows_empty, record: &[u8]| {
            let finder = Finder::Fields(Fields::new(list, Some(b",")).unwrap());
            let mut keys =
                Keys::new(finder, Normalize { trim: true, ..Normalize::default() }, None);
            keys.allows_empty = allows_empty;
            keys.hash(record, KeyHasher::default()).map(|_| keys.key)
        };
        assert_eq!(key("2", false, b"a,,c"), Err(Missing::Empty));
        assert_eq!(key("2", false, b"a, ,c"), Err(Missing::Empty), "with --trim");
        assert_eq!(key("1,2", false, b"a,"), Err(Missing::Empty));
        assert_eq!(key("1,3", false, b"a,"), Err(Missing::Field(3)));
        let (one, none) = ([1, 0, 0, 0, 0, 0, 0, 0, b'a'].as_slice(), [0; 8].as_slice());
        for record in [&b"a,,c"[..], b"a, ,c", b"a"] {
            assert_eq!(key("2", true, record), Ok(Vec::new()));
        }
        for record in [&b"a,"[..], b"a", b"a, "] {
            assert_eq!(key("1,2", true, record), Ok([one, none].concat()));
            assert_eq!(key("2,1", true, record), Ok([none, one].concat()));
        }
        assert_eq!(key("1,2", true, b","), Ok([none, none].concat()));
        assert_eq!(key("2-", true, b"x,a"), Ok(one.to_vec()), "as one of several");
    }

    #[test]
    fn one_part_is_the_key_and_several_are_told_apart() {
        let fields = |list, separator| Finder::Fields(Fields::new(list, separator).unwrap());
        let regex = |pattern| Finder::Regex(Pattern::new(pattern).unwrap());
        assert_eq!(key(fields("2", None), b"a bc d"), b"bc");
        let two = key(fields("1,2", Some(b",".as_slice())), b"ab,c");
        assert_eq!(two, b"\x02\0\0\0\0\0\0\0ab\x01\0\0\0\0\0\0\0c");
        let hasher = KeyHasher::default();
        assert_eq!(hasher.hash(&two), hasher.hash(("ab", "c")), "the library's tuples");
        assert_ne!(two, key(fields("1,2", Some(b",")), b"a,bc"));
        assert_eq!(key(regex("(..),(.)(x)?"), b"ab,cx")[..19], two);
        assert_eq!(key(regex("(..),(.)|(x)()"), b"ab,c")[..19], two);
        assert_eq!(key(regex("(..),(.)"), b"ab,c"), two);
    }
}

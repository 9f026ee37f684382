//! From a record to its key, and to the key's hash.
//!
//! A key is the whole record, or one or more parts of it, each normalized. A key of one part is the
//! part's bytes; a key of several is each part after its length (8 bytes, little endian), so that
//! `a b,c` and `a,b c` differ.

mod answers;
mod block_keys;
mod csv;
mod fields;
mod finder;
mod hashing;
mod header;
mod json;
mod normalize;
mod parts;
mod regex;
mod shard;
mod time;

pub(crate) use answers::{Answers, Expectation, Group, Seen};
pub(crate) use block_keys::{BlockKeys, MissingKey, Reason};
pub(crate) use csv::{Column, Columns};
pub(crate) use fields::Fields;
pub(crate) use finder::Finder;
pub(crate) use hashing::{Hashing, OnMissing, Wanted};
pub(crate) use header::{Headers, Mixing};
pub(crate) use json::Pointers;
pub(crate) use normalize::Normalize;
pub(crate) use parts::Missing;
pub(crate) use regex::Pattern;
pub(crate) use shard::Shard;
pub(crate) use time::Times;

use coua::{KeyHash, KeyHasher};
use parts::Parts;
use std::collections::TryReserveError;

/// Bytes beyond the record that a key may have, for the lengths of its parts.
const PARTS_LENGTHS: usize = 1 << 20;

/// Finds, normalizes and hashes keys.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    finder: Finder,
    normalize: Normalize,
    /// What finds the times of records, if they have some.
    pub(crate) times: Option<Times>,
    parts: Parts,
    /// The one that was hashed last.
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

    /// Whether the key is the record's content as it is, and nothing else is to be found.
    pub(crate) fn is_whole_record(&self) -> bool {
        let is_plain = matches!(self.finder, Finder::Record) && self.normalize.does_nothing();
        is_plain && self.times.is_none()
    }

    /// The CSV columns, if the key is made of such.
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
    use crate::key::fields::Fields;
    use crate::key::regex::Pattern;

    fn key(finder: Finder, record: &[u8]) -> Vec<u8> {
        let mut keys = Keys::new(finder, Normalize::default(), None);
        keys.hash(record, KeyHasher::default()).unwrap();
        keys.key
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

//! Keys that a regular expression finds, even in records that are not UTF-8.

use crate::key::block_keys::{Missing, Parts};
use crate::terminal::{Failure, Result};
use regex::bytes::{CaptureLocations, Regex};
use std::fmt::Write;
use std::ops::Range;

/// A pattern. Its groups are the parts of the key; without groups, the key is the whole match.
///
/// A group that did not match is an empty part, and one more part at the end has the numbers of
/// such groups, so `(a)|(b)` finds different keys in `a` and in `b`.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// The pattern itself matches bytes that are not UTF-8.
    matches_bytes: bool,
    groups: CaptureLocations,
    /// The groups that did not match in this record, as decimal text, which normalization does not change.
    absent: String,
}

impl Pattern {
    pub(crate) fn new(pattern: &str) -> Result<Self> {
        let regex = Regex::new(pattern).map_err(|error| {
            // The last line has the reason, without the picture of its place.
            let (text, name) = (error.to_string(), format_args!("--regex {pattern}"));
            let reason = text.lines().last().unwrap_or_default();
            Failure::at(name, reason.strip_prefix("error: ").unwrap_or(reason))
        })?;
        // A regex for texts compiles only if it matches nothing but UTF-8.
        let matches_bytes = regex::Regex::new(pattern).is_err();
        Ok(Self { groups: regex.capture_locations(), regex, matches_bytes, absent: String::new() })
    }

    /// The number of groups, or one for the whole match.
    pub(super) fn values(&self) -> usize {
        (self.groups.len() - 1).max(1)
    }

    /// The number of groups that did not match in the last record.
    pub(super) fn unmatched(&self) -> usize {
        self.absent.split_terminator(',').count()
    }

    /// The number of parts; 0 if it depends on the groups that match.
    pub(super) fn parts(&self) -> usize {
        Some(self.values()).filter(|values| *values == 1).unwrap_or(0)
    }

    /// In a record that is not UTF-8, each invalid byte is read as Latin-1, so `.`, `[^?]` and `\w` match it.
    pub(crate) fn find(&mut self, record: &[u8], parts: &mut Parts) {
        if self.matches_bytes || std::str::from_utf8(record).is_ok() {
            return self.find_in(record, |place| &record[place], parts);
        }
        let text = LatinText::of(record);
        let part = |place: Range<usize>| &record[text.origin(place.start)..text.origin(place.end)];
        self.find_in(text.as_bytes(), part, parts);
    }

    /// Finds the key in `text`; `part` returns the bytes at a place in it.
    fn find_in<'r>(
        &mut self,
        text: &[u8],
        part: impl Fn(Range<usize>) -> &'r [u8],
        parts: &mut Parts,
    ) {
        if self.groups.len() == 1 {
            match self.regex.find(text) {
                Some(found) => parts.push(part(found.range())),
                None => parts.push_absent(Missing::Match),
            }
            return;
        }
        if self.regex.captures_read(&mut self.groups, text).is_none() {
            return parts.push_absent(Missing::Match);
        }
        self.absent.clear();
        let (mut took_part, mut comma) = (false, "");
        for group in 1..self.groups.len() {
            if let Some((start, end)) = self.groups.get(group) {
                parts.push(part(start..end));
                took_part = true;
            } else {
                parts.push(b"");
                write!(self.absent, "{comma}{group}").ok();
                comma = ",";
            }
        }
        if !self.absent.is_empty() {
            parts.push(self.absent.as_bytes());
        }
        if !took_part {
            parts.absent = Some((0, Missing::Groups));
        }
    }
}

/// A text, and the place of its letters in the original bytes.
pub(super) struct LatinText {
    text: String,
    /// The places in the text of letters that were one byte and take two here.
    widened: Vec<usize>,
}

impl LatinText {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut it = Self { text: String::with_capacity(bytes.len() * 2), widened: Vec::new() };
        for chunk in bytes.utf8_chunks() {
            it.text.push_str(chunk.valid());
            for byte in chunk.invalid() {
                it.widened.push(it.text.len());
                it.text.push(char::from(*byte));
            }
        }
        it
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// The place in the bytes for this place in the text, which is between two letters.
    pub(super) fn origin(&self, place: usize) -> usize {
        place - self.widened.partition_point(|widened| *widened < place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, record: &[u8]) -> Result<Vec<Vec<u8>>, Missing> {
        let mut parts = Parts::default();
        Pattern::new(pattern).unwrap().find(record, &mut parts);
        parts.absent.take().map_or(Ok(()), |(_, why)| Err(why))?;
        Ok(parts.iter().map(<[u8]>::to_vec).collect())
    }

    #[test]
    fn whole_match_or_groups() {
        assert_eq!(found("[0-9]+", b"id 17 of 20"), Ok(vec![b"17".to_vec()]));
        assert_eq!(found("id ([0-9]+)", b"id 17"), Ok(vec![b"17".to_vec()]));
        assert_eq!(found("(.)-(.)", b"a-b"), Ok(vec![b"a".to_vec(), b"b".to_vec()]));
        assert_eq!(found("x", b"a"), Err(Missing::Match));
        assert_eq!(found(r"(?-u)\xff(.)", b"\xffz"), Ok(vec![b"z".to_vec()]));
    }

    #[test]
    fn groups_that_took_no_part_are_told_apart() {
        let parts =
            |parts: &[&str]| Ok(parts.iter().map(|part| part.as_bytes().to_vec()).collect());
        assert_eq!(found("(a)|(b)", b"a"), parts(&["a", "", "2"]));
        assert_eq!(found("(a)|(b)", b"b"), parts(&["", "b", "1"]));
        assert_eq!(found("(a)(x)?(b)?", b"a"), parts(&["a", "", "", "2,3"]));
        assert_eq!(found("(a)(x)?(b)?", b"axb"), parts(&["a", "x", "b"]));
        assert_eq!(found("(a*)(b)", b"b"), parts(&["", "b"]), "one that is empty took part");
    }

    #[test]
    fn bytes_that_are_not_utf_8_count_as_letters() {
        let whole = |record: &[u8]| Ok(vec![record.to_vec()]);
        assert_eq!(found("^[^?]*", b"/caf\xe9/a?q"), whole(b"/caf\xe9/a"));
        assert_eq!(found("^.*$", b"\xff\xfe"), whole(b"\xff\xfe"));
        assert_eq!(found(r"\w+", b"- M\xfcller \xe9"), whole(b"M\xfcller"));
        assert_eq!(found(r"\w+$", "\u{e9}t\u{e9}".as_bytes()), whole("\u{e9}t\u{e9}".as_bytes()));
        let groups = found(r"(.+)=(.+)", b"\xc3\xa9\xe9=\xe9\xff").unwrap();
        assert_eq!(groups, [b"\xc3\xa9\xe9".to_vec(), b"\xe9\xff".to_vec()]);
    }

    #[test]
    fn a_broken_pattern_is_an_error() {
        assert!(Pattern::new("(").is_err());
    }
}

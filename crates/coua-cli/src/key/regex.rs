//! Keys that a regular expression finds.

use crate::key::{Missing, Parts};
use crate::message::Failure;
use regex::bytes::{CaptureLocations, Regex};

/// A pattern; with groups, these are the parts of the key, else all that matched.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    groups: CaptureLocations,
}

impl Pattern {
    pub(crate) fn new(pattern: &str) -> Result<Self, Failure> {
        let regex = Regex::new(pattern).map_err(|error| Failure::at("--regex", error))?;
        Ok(Self { groups: regex.capture_locations(), regex })
    }

    pub(crate) fn find(&mut self, record: &[u8], parts: &mut Parts) -> Result<(), Missing> {
        if self.groups.len() == 1 {
            let found = self.regex.find(record).ok_or(Missing::Match)?;
            parts.push(found.as_bytes());
            return Ok(());
        }
        self.regex.captures_read(&mut self.groups, record).ok_or(Missing::Match)?;
        for group in 1..self.groups.len() {
            let (start, end) = self.groups.get(group).ok_or(Missing::Match)?;
            parts.push(&record[start..end]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, record: &[u8]) -> Result<Vec<Vec<u8>>, Missing> {
        let mut parts = Parts::default();
        Pattern::new(pattern).unwrap().find(record, &mut parts)?;
        Ok(parts.iter().map(<[u8]>::to_vec).collect())
    }

    #[test]
    fn whole_match_or_groups() {
        assert_eq!(found("[0-9]+", b"id 17 of 20"), Ok(vec![b"17".to_vec()]));
        assert_eq!(found("id ([0-9]+)", b"id 17"), Ok(vec![b"17".to_vec()]));
        assert_eq!(found("(.)-(.)", b"a-b"), Ok(vec![b"a".to_vec(), b"b".to_vec()]));
        assert_eq!(found("x", b"a"), Err(Missing::Match));
        assert_eq!(found("(a)|(b)", b"a"), Err(Missing::Match));
        assert_eq!(found(r"(?-u)\xff(.)", b"\xffz"), Ok(vec![b"z".to_vec()]));
    }

    #[test]
    fn a_broken_pattern_is_an_error() {
        assert!(Pattern::new("(").is_err());
    }
}

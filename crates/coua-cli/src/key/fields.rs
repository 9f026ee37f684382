//! Keys of numbered fields.

use crate::key::parts::{Missing, Parts};
use crate::terminal::{Failure, Result};
use memchr::memmem;
use std::ops::Range;

/// The highest field number: a typing error such as `1-99999999999` must not fill the memory.
const HIGHEST: usize = 65_535;

/// Which fields make the key, and what is between fields.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    /// Counted from 1, in the order of the key.
    wanted: Vec<usize>,
    highest: usize,
    /// None: runs of blanks, as in awk.
    separator: Option<Box<memmem::Finder<'static>>>,
    places: Vec<Range<usize>>,
}

impl Fields {
    pub(crate) fn new(list: &str, separator: Option<&[u8]>) -> Result<Self> {
        let wanted = parse(list).ok_or_else(|| {
            Failure::at(
                format_args!("-k {list}"),
                "is not a list of fields such as 2 or 2,4 or 3-5, counted from 1",
            )
        })?;
        Ok(Self {
            highest: wanted.iter().copied().max().unwrap_or(0),
            wanted,
            separator: separator.map(|bytes| Box::new(memmem::Finder::new(bytes).into_owned())),
            places: Vec::new(),
        })
    }

    pub(crate) fn find(&mut self, record: &[u8], parts: &mut Parts) -> Result<(), Missing> {
        self.places.clear();
        match &self.separator {
            None => blank_fields(record, self.highest, &mut self.places),
            Some(separator) => {
                let mut start = 0;
                while start <= record.len() && self.places.len() < self.highest {
                    let rest = &record[start..];
                    let length = separator.find(rest).unwrap_or(rest.len());
                    self.places.push(start..start + length);
                    start += length + separator.needle().len();
                }
            }
        }
        for number in &self.wanted {
            let place = self.places.get(number - 1).ok_or(Missing::Field(*number))?;
            parts.push(&record[place.clone()]);
        }
        Ok(())
    }
}

fn blank_fields(record: &[u8], highest: usize, places: &mut Vec<Range<usize>>) {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut at = 0;
    while places.len() < highest {
        let Some(skipped) = record[at..].iter().position(|byte| !blank(byte)) else {
            return;
        };
        let start = at + skipped;
        at = record[start..].iter().position(blank).map_or(record.len(), |length| start + length);
        places.push(start..at);
    }
}

/// `2,4-6` as 2, 4, 5, 6.
fn parse(list: &str) -> Option<Vec<usize>> {
    let number = |text: &str| text.parse().ok().filter(|n| (1..=HIGHEST).contains(n));
    let mut wanted = Vec::new();
    for item in list.split(',') {
        let (from, to) = item.split_once('-').unwrap_or((item, item));
        let range = number(from)?..=number(to)?;
        if range.is_empty() {
            return None;
        }
        wanted.extend(range);
    }
    Some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(list: &str, separator: Option<&[u8]>, record: &[u8]) -> Result<Vec<Vec<u8>>, Missing> {
        let mut parts = Parts::default();
        Fields::new(list, separator).unwrap().find(record, &mut parts)?;
        Ok(parts.iter().map(<[u8]>::to_vec).collect())
    }

    #[test]
    fn lists() {
        assert_eq!(parse("2,4-6,1"), Some(vec![2, 4, 5, 6, 1]));
        for text in ["", "0", "a", "1,", "3-2", "-2", "1-99999999999", "99999999999999999999"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn blanks_separate_as_in_awk() {
        assert_eq!(found("2,1", None, b"  a \t b  c"), Ok(vec![b"b".to_vec(), b"a".to_vec()]));
        assert_eq!(found("4", None, b"  a b c  "), Err(Missing::Field(4)));
        assert_eq!(found("1", None, b""), Err(Missing::Field(1)));
    }

    #[test]
    fn separators_make_empty_fields() {
        assert_eq!(found("2", Some(b"\t"), b"a\t\tc"), Ok(vec![Vec::new()]));
        assert_eq!(found("3", Some(b"::"), b"a::b::c:"), Ok(vec![b"c:".to_vec()]));
        assert_eq!(found("1", Some(b","), b""), Ok(vec![Vec::new()]));
        assert_eq!(found("3", Some(b","), b"a,b"), Err(Missing::Field(3)));
    }
}

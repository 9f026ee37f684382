//! Keys of numbered fields.

use crate::key::block_keys::{Missing, Parts};
use crate::record::Item;
use crate::terminal::{Failure, Result};
use memchr::memmem;
use std::ops::Range;

/// The fields of the key, and the separator.
#[derive(Clone, Debug)]
pub(crate) struct Fields {
    /// In the order of the key.
    wanted: Vec<Item>,
    highest: usize,
    /// None: runs of blanks, as in awk.
    separator: Option<Box<memmem::Finder<'static>>>,
    places: Vec<Range<usize>>,
}

impl Fields {
    pub(crate) fn new(list: &str, separator: Option<&[u8]>) -> Result<Self> {
        let items = list.split(',').map(Item::parse).collect::<Option<Vec<_>>>();
        let wanted = items.map(|items| items.concat()).ok_or_else(|| {
            let reason = "expected a list of fields counted from 1, such as 2 or 2,4 or 3-5 or 4-; for names in a header, use --csv";
            Failure::at(format_args!("-k {list}"), reason)
        })?;
        Ok(Self {
            highest: wanted.iter().map(|item| item.highest()).max().unwrap_or(0),
            wanted,
            separator: separator.map(|bytes| Box::new(memmem::Finder::new(bytes).into_owned())),
            places: Vec::new(),
        })
    }

    /// The number of parts; 0 if it depends on the record.
    pub(super) fn parts(&self) -> usize {
        if self.highest == usize::MAX { 0 } else { self.wanted.len() }
    }

    pub(crate) fn find(&mut self, record: &[u8], parts: &mut Parts) {
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
        for item in &self.wanted {
            let (Item::One(first) | Item::From(first)) = *item;
            let found = self.places.get(first - 1..).unwrap_or_default();
            let Some((place, others)) = found.split_first() else {
                parts.push_absent(Missing::Field(first));
                continue;
            };
            parts.push(&record[place.clone()]);
            let others = if let Item::From(_) = item { others } else { &[] };
            for place in others {
                parts.push(&record[place.clone()]);
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(list: &str, separator: Option<&[u8]>, record: &[u8]) -> Result<Vec<Vec<u8>>, Missing> {
        let mut parts = Parts::default();
        Fields::new(list, separator).unwrap().find(record, &mut parts);
        parts.absent.take().map_or(Ok(()), |(_, why)| Err(why))?;
        Ok(parts.iter().map(<[u8]>::to_vec).collect())
    }

    #[test]
    fn lists() {
        let ones = |numbers: &[usize]| numbers.iter().copied().map(Item::One).collect::<Vec<_>>();
        let wanted = |list| Fields::new(list, None).map(|fields| fields.wanted).ok();
        assert_eq!(wanted("2,4-6,1"), Some(ones(&[2, 4, 5, 6, 1])));
        assert_eq!(wanted("-2"), Some(ones(&[1, 2])));
        assert_eq!(wanted("2-,1"), Some(vec![Item::From(2), Item::One(1)]));
        for text in [
            "",
            "0",
            "a",
            "1,",
            "3-2",
            "-",
            "0-",
            "-0",
            "1-2-",
            "1-99999999999",
            "99999999999999999999",
        ] {
            assert_eq!(wanted(text), None, "{text}");
        }
    }

    #[test]
    fn blanks_separate_as_in_awk() {
        assert_eq!(found("2,1", None, b"  a \t b  c"), Ok(vec![b"b".to_vec(), b"a".to_vec()]));
        assert_eq!(found("4", None, b"  a b c  "), Err(Missing::Field(4)));
        assert_eq!(found("1", None, b""), Err(Missing::Field(1)));
    }

    #[test]
    fn a_list_without_an_end_takes_all_fields() {
        let parts = |parts: &[&str]| Ok(parts.iter().map(|it| it.as_bytes().to_vec()).collect());
        assert_eq!(found("3-", None, b"a b c  d"), parts(&["c", "d"]));
        assert_eq!(found("2-,1", Some(b","), b"a,b,"), parts(&["b", "", "a"]));
        assert_eq!(found("3-", None, b"a b"), Err(Missing::Field(3)));
    }

    #[test]
    fn separators_make_empty_fields() {
        assert_eq!(found("2", Some(b"\t"), b"a\t\tc"), Ok(vec![Vec::new()]));
        assert_eq!(found("3", Some(b"::"), b"a::b::c:"), Ok(vec![b"c:".to_vec()]));
        assert_eq!(found("1", Some(b","), b""), Ok(vec![Vec::new()]));
        assert_eq!(found("3", Some(b","), b"a,b"), Err(Missing::Field(3)));
    }
}

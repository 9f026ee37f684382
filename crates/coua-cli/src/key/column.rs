//! Columns as users name them, and their places in a header.

use crate::key::fields;
use crate::record::Item;
use crate::terminal::{Failure, Result};
use csv_core::{ReadFieldResult, Reader, ReaderBuilder, Terminator};

/// A column as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// The name that it has in the header, if it has that name there.
    pub(super) name: String,
    /// Its place, or those of a range, used if no column has that name. Empty if the text is only a name.
    pub(super) numbers: Vec<Item>,
    /// For `name[N]`: the name and N, used if no column has the whole text as its name.
    nth: Option<(String, usize)>,
}

impl Column {
    /// The columns of a list as the user writes it after an option: one CSV record, or `=` and one name.
    pub(crate) fn parse_list(option: &str, text: &str) -> Result<Vec<Self>> {
        if let Some(name) = text.strip_prefix('=') {
            return Ok(vec![Self { name: name.to_owned(), numbers: Vec::new(), nth: None }]);
        }
        let mut columns = Vec::new();
        // No argument has a zero byte.
        let mut list = ReaderBuilder::new().terminator(Terminator::Any(0)).build();
        each_field(&mut list, text.as_bytes(), Vec::new(), |_, field| {
            columns.push(Self::parse(option, &String::from_utf8_lossy(field)));
        });
        if columns.is_empty() {
            return Err(Failure::at(option, "is empty; expected the name or number of a column"));
        }
        columns.into_iter().collect()
    }

    /// A name, a number or a range as the user writes it after an option.
    pub(crate) fn parse(option: &str, text: &str) -> Result<Self> {
        let numbers = fields::parse(text).filter(|_| !text.starts_with('0')).unwrap_or_default();
        let nth = text.strip_suffix(']').and_then(|rest| {
            let (name, number) = rest.rsplit_once('[')?;
            Some((name.to_owned(), number.parse().ok().filter(|number| *number > 0)?))
        });
        if text == "0" {
            let reason = format!("columns count from 1; {option} '=0' selects a column named 0");
            return Err(Failure::at(format_args!("{option} 0"), reason));
        }
        Ok(Self { name: text.to_owned(), numbers, nth })
    }

    /// The column as one place at most: a range is only a name.
    pub(super) fn single(mut self) -> Self {
        if !matches!(*self.numbers, [Item::One(_)]) {
            self.numbers.clear();
        }
        self
    }

    /// The places of the column in a header with these occurrences of its names.
    pub(super) fn places(&self, found: &Occurrences) -> Result<Vec<Item>, NoColumn> {
        let name = || self.name.clone();
        match (found.first, found.second) {
            (Some(first), Some(second)) => {
                Err(NoColumn::Ambiguous { name: name(), places: [first, second] })
            }
            (first, _) => match first.or(found.nth) {
                Some(place) => Ok(vec![Item::One(place)]),
                None if self.numbers.is_empty() => Err(NoColumn::Missing(name())),
                None => Ok(self.numbers.clone()),
            },
        }
    }
}

/// The places of a column's name in a header, which may be giant.
#[derive(Clone, Debug, Default)]
pub(super) struct Occurrences {
    pub(super) first: Option<usize>,
    second: Option<usize>,
    /// How often the name before a number in brackets was found.
    met: usize,
    /// Its place at that number.
    nth: Option<usize>,
}

impl Occurrences {
    pub(super) fn see(&mut self, column: &Column, number: usize, name: &[u8]) {
        if column.name.as_bytes() == name {
            let place = if self.first.is_none() { &mut self.first } else { &mut self.second };
            place.get_or_insert(number);
        }
        if let Some((_, nth)) = column.nth.as_ref().filter(|(it, _)| it.as_bytes() == name) {
            self.met += 1;
            self.nth = self.nth.or((self.met == *nth).then_some(number));
        }
    }
}

/// Why a header does not determine the place of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoColumn {
    /// All columns are excluded.
    Left,
    Missing(String),
    /// Several have the name: the first two of them.
    Ambiguous {
        name: String,
        places: [usize; 2],
    },
}

/// Calls a function with the fields of a record and their numbers, from 1. There may be as many as the record has
/// bytes, so their ends are not stored.
pub(super) fn each_field(
    reader: &mut Reader,
    record: &[u8],
    mut field: Vec<u8>,
    mut see: impl FnMut(usize, &[u8]),
) {
    reader.reset();
    let (mut rest, mut written, mut number) = (record, 0, 1);
    loop {
        let (result, read, wrote) = reader.read_field(rest, &mut field[written..]);
        rest = &rest[read..];
        written += wrote;
        match result {
            ReadFieldResult::Field { record_end } => {
                see(number, &field[..written]);
                (written, number) = (0, number + 1);
                if record_end {
                    return;
                }
            }
            ReadFieldResult::End => return,
            ReadFieldResult::OutputFull => field.resize(field.len() * 2 + 16, 0),
            // The next call gets no input, which ends the record.
            ReadFieldResult::InputEmpty => {}
        }
    }
}

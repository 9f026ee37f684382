//! Keys of CSV columns.

use crate::key::block_keys::{Missing, Parts};
use crate::terminal::{Failure, Result};
use csv_core::{ReadFieldResult, ReadRecordResult, Reader, ReaderBuilder, Terminator};
use std::collections::TryReserveError;

/// A column as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// The name that it has in the header, if it has that name there.
    name: String,
    /// Its place, counted from 1, if no column has that name.
    position: Option<usize>,
    /// Else the column that has the name before a number in brackets for the second, third, ... time.
    nth: Option<(String, usize)>,
}

impl Column {
    /// The columns of a list as the user writes it: one CSV record, or `=` and one name.
    pub(crate) fn parse_list(text: &str) -> Result<Vec<Self>> {
        if let Some(name) = text.strip_prefix('=') {
            return Ok(vec![Self { name: name.to_owned(), position: None, nth: None }]);
        }
        let mut columns = Vec::new();
        // No argument has a zero byte.
        let mut list = ReaderBuilder::new().terminator(Terminator::Any(0)).build();
        each_field(&mut list, text.as_bytes(), Vec::new(), |_, field| {
            columns.push(Self::parse(&String::from_utf8_lossy(field)));
        });
        if columns.is_empty() {
            return Err(Failure::at("--csv", "is empty; give the name or the number of a column"));
        }
        columns.into_iter().collect()
    }

    /// A name or a number as the user writes it.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let position = (!text.starts_with('0')).then(|| text.parse().ok()).flatten();
        let nth = text.strip_suffix(']').and_then(|rest| {
            let (name, number) = rest.rsplit_once('[')?;
            Some((name.to_owned(), number.parse().ok().filter(|number| *number > 0)?))
        });
        if text == "0" {
            let reason = "columns are counted from 1; --csv '=0' is the column of this name";
            return Err(Failure::at("--csv 0", reason));
        }
        Ok(Self { name: text.to_owned(), position, nth })
    }

    /// Where the column is under a header in which its names were found like this.
    fn place(&self, found: &Occurrences) -> Result<usize, NoColumn> {
        let name = || self.name.clone();
        match (found.first, found.second) {
            (Some(first), Some(second)) => {
                Err(NoColumn::Ambiguous { name: name(), places: [first, second] })
            }
            (Some(place), None) => Ok(place),
            (None, _) => found.nth.or(self.position).ok_or_else(|| NoColumn::Missing(name())),
        }
    }
}

/// Where a column's name stands in a header, which may be giant.
#[derive(Clone, Debug, Default)]
struct Occurrences {
    first: Option<usize>,
    second: Option<usize>,
    /// How often the name before a number in brackets was met.
    met: usize,
    /// Where it was met for that time.
    nth: Option<usize>,
}

impl Occurrences {
    fn see(&mut self, column: &Column, number: usize, name: &[u8]) {
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

/// Why a header does not tell where a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoColumn {
    Missing(String),
    /// Several have the name: the first two of them.
    Ambiguous {
        name: String,
        places: [usize; 2],
    },
}

/// What the first record of a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FirstRecord {
    /// A header, which tells where the wanted columns are.
    Header(Vec<usize>),
    /// A record: columns go by their places.
    Data,
}

/// How fields are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// The byte between fields.
    pub(crate) comma: u8,
    /// Whether quotes have a meaning; else a line is a record.
    pub(crate) has_quotes: bool,
    /// Whether blanks around a name in the header do not count.
    pub(crate) trims_names: bool,
}

/// The columns that make the key.
#[derive(Debug)]
pub(crate) struct Columns {
    wanted: Vec<Column>,
    /// Where they are in the present file, counted from 1.
    numbers: Vec<usize>,
    /// What is after the last of them is not looked at.
    highest: usize,
    pub(crate) dialect: Dialect,
    reader: Reader,
    output: Vec<u8>,
    ends: Vec<usize>,
}

impl Clone for Columns {
    /// With a reader of its own: the copy of one of csv-core's (0.1.13) lacks most of its tables.
    fn clone(&self) -> Self {
        let numbers = self.numbers.clone();
        Self { numbers, highest: self.highest, ..Self::of(self.wanted.clone(), self.dialect) }
    }
}

fn reader(dialect: Dialect) -> Reader {
    // The record has been cut out already: only newlines within quotes are left in it.
    let mut builder = ReaderBuilder::new();
    builder.delimiter(dialect.comma).quoting(dialect.has_quotes);
    builder.terminator(Terminator::Any(b'\n')).build()
}

impl Columns {
    pub(crate) fn new(wanted: Vec<Column>, dialect: Dialect) -> Result<Self> {
        if matches!(dialect.comma, b'"' | b'\n' | b'\r') {
            let reason = "with --csv, the separator is one byte, and no quote or end of line";
            return Err(Failure::at("-t", reason));
        }
        Ok(Self::of(wanted, dialect))
    }

    fn of(wanted: Vec<Column>, dialect: Dialect) -> Self {
        let numbers: Vec<_> = wanted.iter().map_while(|column| column.position).collect();
        let highest = highest(&numbers);
        let (output, ends) = (Vec::new(), Vec::new());
        let reader = reader(dialect);
        Self { wanted, numbers, highest, dialect, reader, output, ends }
    }

    /// Whether the first record of a file must name the columns.
    fn need_header(&self) -> bool {
        self.wanted.iter().any(|column| column.position.is_none())
    }

    /// What the first record of a file is. If all columns are given by number and it has so many, it is no header;
    /// a number that is too high for it may be the name of a column. `see` is shown every field.
    pub(crate) fn resolve(
        &mut self,
        first: &[u8],
        mut see: impl FnMut(&[u8]),
    ) -> Result<FirstRecord, NoColumn> {
        let mut found = vec![Occurrences::default(); self.wanted.len()];
        let mut output = std::mem::take(&mut self.output);
        output.resize(output.len().max(first.len()), 0);
        let (trim, mut fields) = (self.dialect.trims_names, 0);
        each_field(&mut self.reader, first, output, |number, field| {
            see(field);
            fields = number;
            let name = if trim { field.trim_ascii() } else { field };
            for (found, column) in found.iter_mut().zip(&self.wanted) {
                found.see(column, number, name);
            }
        });
        let names_all = found.iter().all(|found| found.first.is_some());
        if !self.need_header() && (self.highest() <= fields || !names_all) {
            return Ok(FirstRecord::Data);
        }
        let places = self.wanted.iter().zip(&found).map(|(column, found)| column.place(found));
        places.collect::<Result<_, _>>().map(FirstRecord::Header)
    }

    /// The highest number among the wanted columns.
    fn highest(&self) -> usize {
        self.wanted.iter().filter_map(|column| column.position).max().unwrap_or(0)
    }

    pub(crate) fn use_numbers(&mut self, numbers: &[usize]) {
        self.numbers.clear();
        self.numbers.extend_from_slice(numbers);
        self.highest = highest(numbers);
    }

    pub(crate) fn find(&mut self, record: &[u8], parts: &mut Parts) {
        let count = self.parse(record);
        for &number in &self.numbers {
            if number > count {
                parts.push_absent(Missing::Column(number));
            } else {
                parts.push(self.field(number - 1));
            }
        }
    }

    /// Takes the memory for a record of so many bytes.
    pub(crate) fn make_room(&mut self, record: usize) -> Result<(), TryReserveError> {
        // Every field but the last costs a comma.
        let fields = self.highest.min(record.saturating_add(1));
        self.ends.try_reserve(fields.saturating_sub(self.ends.len()))?;
        self.output.try_reserve(record.saturating_sub(self.output.len()))
    }

    fn field(&self, field: usize) -> &[u8] {
        let start = field.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.output[start..self.ends[field]]
    }

    /// Takes a record apart, as far as is wanted; returns the number of fields.
    fn parse(&mut self, record: &[u8]) -> usize {
        self.reader.reset();
        // Unquoting never makes a record longer.
        self.output.resize(self.output.len().max(record.len()), 0);
        let (mut rest, mut written, mut fields) = (record, 0, 0);
        while fields < self.highest {
            if fields == self.ends.len() {
                self.ends.resize((fields * 2 + 16).min(self.highest), 0);
            }
            let ends = self.ends.len().min(self.highest);
            let (result, read, wrote, ended) = self.reader.read_record(
                rest,
                &mut self.output[written..],
                &mut self.ends[fields..ends],
            );
            rest = &rest[read..];
            written += wrote;
            fields += ended;
            match result {
                ReadRecordResult::Record | ReadRecordResult::End => break,
                ReadRecordResult::OutputFull => self.output.resize(self.output.len() * 2 + 16, 0),
                // With nothing left, the next call is told so and ends the record.
                ReadRecordResult::InputEmpty | ReadRecordResult::OutputEndsFull => {}
            }
        }
        fields
    }
}

/// Shows the fields of a record with their numbers, from 1. There may be as many as the record has bytes:
/// their ends are not kept.
fn each_field(
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
            // With nothing left, the next call is told so and ends the record.
            ReadFieldResult::InputEmpty => {}
        }
    }
}

fn highest(numbers: &[usize]) -> usize {
    numbers.iter().copied().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAS: Dialect = Dialect { comma: b',', has_quotes: true, trims_names: false };

    fn columns(list: &str, dialect: Dialect) -> Columns {
        Columns::new(Column::parse_list(list).unwrap(), dialect).unwrap()
    }

    fn found(columns: &mut Columns, record: &[u8]) -> Result<Vec<Vec<u8>>, Missing> {
        let mut parts = Parts::default();
        columns.find(record, &mut parts);
        parts.absent.pop().map_or(Ok(()), |(_, why)| Err(why))?;
        Ok(parts.iter().map(<[u8]>::to_vec).collect())
    }

    fn numbered(number: usize) -> Columns {
        columns(&number.to_string(), COMMAS)
    }

    #[test]
    fn columns_by_number() {
        let mut second = numbered(2);
        assert_eq!(found(&mut second, b"a,\"b \"\"x\"\"\n,\",c"), Ok(vec![b"b \"x\"\n,".to_vec()]));
        assert_eq!(found(&mut second, b"a"), Err(Missing::Column(2)));
        assert_eq!(found(&mut second, b""), Err(Missing::Column(2)));
        assert_eq!(found(&mut second, b"a,"), Ok(vec![Vec::new()]));
        let semicolons = Dialect { comma: b';', ..COMMAS };
        assert_eq!(found(&mut columns("2", semicolons), b"a,b;c"), Ok(vec![b"c".to_vec()]));
        let many = b"x,".repeat(1000);
        for number in [1, 16, 17, 1000] {
            assert_eq!(found(&mut numbered(number), &many), Ok(vec![b"x".to_vec()]));
        }
        assert_eq!(found(&mut numbered(1001), &many), Ok(vec![Vec::new()]));
        assert_eq!(found(&mut numbered(1002), &many), Err(Missing::Column(1002)));
        assert_eq!(found(&mut numbered(usize::MAX), b"a"), Err(Missing::Column(usize::MAX)));
    }

    #[test]
    fn fields_after_the_last_one_that_is_wanted_take_no_memory() {
        let many = b"x,".repeat(1000);
        let mut second = numbered(2);
        assert_eq!(found(&mut second, &many), Ok(vec![b"x".to_vec()]));
        assert!(second.ends.capacity() < 32, "{}", second.ends.capacity());
        second.make_room(1 << 20).unwrap();
        assert!(second.ends.capacity() < 32 && second.output.capacity() >= 1 << 20);
        assert_eq!(second.clone().output.capacity(), 0);
    }

    #[test]
    fn columns_by_name() {
        let header = |places: &[usize]| Ok(FirstRecord::Header(places.to_vec()));
        let missing = || Err(NoColumn::Missing("id".to_owned()));
        let mut columns = columns("id,1", COMMAS);
        assert_eq!(columns.resolve(b"name,\"id\"", |_| {}), header(&[2, 1]));
        assert_eq!(columns.resolve(b"\xef\xbb\xbfid,x", |_| {}), header(&[1, 1]));
        let long = [b"x".repeat(1000), b",\"\",,i\"d,id".to_vec()].concat();
        assert_eq!(columns.resolve(&long, |_| {}), header(&[5, 1]));
        assert_eq!(columns.resolve(b"", |_| {}), missing());
        assert_eq!(columns.resolve(b"name,ID", |_| {}), missing());
        assert_eq!(columns.resolve(b"1,x,id", |_| {}), header(&[3, 1]));
        assert_eq!(columns.resolve(b"x,id,1", |_| {}), header(&[2, 3]), "a name wins");
        columns.use_numbers(&[2, 1]);
        for columns in [&mut columns.clone(), &mut columns] {
            assert_eq!(found(columns, b"a,b"), Ok(vec![b"b".to_vec(), b"a".to_vec()]));
        }
    }

    #[test]
    fn a_number_that_is_too_high_may_be_a_name() {
        let mut year = columns("2020", COMMAS);
        assert_eq!(year.resolve(b"x,2019,2020", |_| {}), Ok(FirstRecord::Header(vec![3])));
        assert_eq!(year.resolve(b"x,2019", |_| {}), Ok(FirstRecord::Data));
        let mut second = columns("2", COMMAS);
        assert_eq!(second.resolve(b"2,1", |_| {}), Ok(FirstRecord::Data), "a place");
        let mut always = columns("=2", COMMAS);
        assert_eq!(always.resolve(b"2,1", |_| {}), Ok(FirstRecord::Header(vec![1])));
        let mut zero = columns("03", COMMAS);
        assert_eq!(zero.resolve(b"a,b,c,03", |_| {}), Ok(FirstRecord::Header(vec![4])));
    }

    #[test]
    fn one_of_several_columns_of_a_name_is_chosen_by_number() {
        let places = |list| columns(list, COMMAS).resolve(b"id,x,id,y[2]", |_| {});
        let ambiguous = NoColumn::Ambiguous { name: "id".to_owned(), places: [1, 3] };
        assert_eq!(places("id"), Err(ambiguous));
        assert_eq!(places("id[2]"), Ok(FirstRecord::Header(vec![3])));
        assert_eq!(places("y[2]"), Ok(FirstRecord::Header(vec![4])), "the name itself");
        assert_eq!(places("id[3]"), Err(NoColumn::Missing("id[3]".to_owned())));
    }

    #[test]
    fn blanks_around_names_and_quotes_in_plain_lines() {
        let wanted = || Column::parse_list("name").unwrap();
        let mut trimmed = Columns::new(wanted(), Dialect { trims_names: true, ..COMMAS }).unwrap();
        assert_eq!(trimmed.resolve(b"id, name ", |_| {}), Ok(FirstRecord::Header(vec![2])));
        let tabs = Dialect { comma: b'\t', has_quotes: false, ..COMMAS };
        let mut second = columns("2", tabs);
        assert_eq!(found(&mut second, b"\"a\t\"b\t\"c"), Ok(vec![b"\"b".to_vec()]));
    }

    #[test]
    fn columns_as_the_user_writes_them() {
        let names = |list| -> Vec<String> {
            Column::parse_list(list).unwrap().into_iter().map(|column| column.name).collect()
        };
        assert_eq!(names("url"), ["url"]);
        assert_eq!(names("id,\"a,b\",3"), ["id", "a,b", "3"]);
        assert_eq!(names("=a,b"), ["a,b"]);
        assert!(Column::parse_list("0").is_err() && Column::parse_list("id,0").is_err());
        assert!(Columns::new(vec![], Dialect { comma: b'"', ..COMMAS }).is_err());
    }
}

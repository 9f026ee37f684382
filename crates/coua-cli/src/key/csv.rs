//! Keys of CSV columns.

use crate::key::block_keys::{Missing, Parts};
use crate::key::column::{Column, NoColumn, Occurrences, each_field};
use crate::terminal::{Failure, Result};
use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};
use std::collections::TryReserveError;

/// What the first record of a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FirstRecord {
    /// A header, with the places of the wanted columns.
    Header(Vec<usize>),
    /// A record: columns are selected by number.
    Data,
}

/// The syntax of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// The byte between fields.
    pub(crate) comma: u8,
    /// Whether quotes are special; otherwise a line is a record.
    pub(crate) has_quotes: bool,
    /// Whether blanks around a name in the header are ignored.
    pub(crate) trims_names: bool,
}

/// Which columns make the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// These, in their order.
    These(Vec<Column>),
    /// All but these.
    AllBut(Vec<Column>),
}

/// The columns of the key, and perhaps that of the time, as the last part.
#[derive(Debug)]
pub(crate) struct Columns {
    /// Those that are found by name or number.
    named: Vec<Column>,
    /// If the key is all columns except named ones: the number of those, which are the first in `named`.
    excepted: Option<usize>,
    /// Their places in the present file, counted from 1.
    numbers: Vec<usize>,
    /// Fields after the last of them are not read.
    highest: usize,
    pub(crate) dialect: Dialect,
    reader: Reader,
    output: Vec<u8>,
    ends: Vec<usize>,
}

impl Clone for Columns {
    /// Creates a new reader: a clone of csv-core's (0.1.13) lacks most of its tables.
    fn clone(&self) -> Self {
        let numbers = self.numbers.clone();
        let of_same = Self::of(self.named.clone(), self.excepted, self.dialect);
        Self { numbers, highest: self.highest, ..of_same }
    }
}

fn reader(dialect: Dialect) -> Reader {
    // The record has been split off already: it contains only newlines within quotes.
    let mut builder = ReaderBuilder::new();
    builder.delimiter(dialect.comma).quoting(dialect.has_quotes);
    builder.terminator(Terminator::Any(b'\n')).build()
}

impl Columns {
    pub(crate) fn new(choice: Choice, time: Option<Column>, dialect: Dialect) -> Result<Self> {
        if matches!(dialect.comma, b'"' | b'\n' | b'\r') {
            let reason = "with --csv, the separator must be one byte, not a quote or a line break";
            return Err(Failure::at("-t", reason));
        }
        let (mut named, excepted) = match choice {
            Choice::These(columns) => (columns, None),
            Choice::AllBut(columns) => {
                let count = columns.len();
                (columns, Some(count))
            }
        };
        named.extend(time);
        Ok(Self::of(named, excepted, dialect))
    }

    fn of(named: Vec<Column>, excepted: Option<usize>, dialect: Dialect) -> Self {
        let numbers: Vec<_> = named.iter().map_while(|column| column.position).collect();
        let (output, ends, reader) = (Vec::new(), Vec::new(), reader(dialect));
        let mut columns = Self {
            named,
            excepted,
            numbers: Vec::new(),
            highest: 0,
            dialect,
            reader,
            output,
            ends,
        };
        columns.use_numbers(&numbers);
        columns
    }

    fn excepted(&self) -> usize {
        self.excepted.unwrap_or(0)
    }

    /// Whether the number of parts depends on the record.
    pub(super) fn are_open(&self) -> bool {
        self.excepted.is_some()
    }

    /// Whether the first record of a file must name the columns.
    pub(crate) fn need_header(&self) -> bool {
        self.named.iter().any(|column| column.position.is_none())
    }

    /// Decides whether the first record of a file is a header. If all columns are given by number and it has that many
    /// columns, it is not; a number that is too high for it may be the name of a column. Calls `see` with every field.
    pub(crate) fn resolve(
        &mut self,
        first: &[u8],
        mut see: impl FnMut(&[u8]),
    ) -> Result<FirstRecord, NoColumn> {
        let mut found = vec![Occurrences::default(); self.named.len()];
        let mut output = std::mem::take(&mut self.output);
        output.resize(output.len().max(first.len()), 0);
        let (trim, mut fields) = (self.dialect.trims_names, 0);
        each_field(&mut self.reader, first, output, |number, field| {
            see(field);
            fields = number;
            let name = if trim { field.trim_ascii() } else { field };
            for (found, column) in found.iter_mut().zip(&self.named) {
                found.see(column, number, name);
            }
        });
        let names_all = found.iter().all(|found| found.first.is_some());
        if !self.need_header() && (self.highest() <= fields || !names_all) {
            return Ok(FirstRecord::Data);
        }
        let places = self.named.iter().zip(&found).map(|(column, found)| column.place(found));
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let excepted = &places[..self.excepted()];
        if self.are_open() && (1..=fields).all(|number| excepted.contains(&number)) {
            return Err(NoColumn::Left);
        }
        Ok(FirstRecord::Header(places))
    }

    /// The highest number among the named columns.
    fn highest(&self) -> usize {
        self.named.iter().filter_map(|column| column.position).max().unwrap_or(0)
    }

    pub(crate) fn use_numbers(&mut self, numbers: &[usize]) {
        self.numbers.clear();
        self.numbers.extend_from_slice(numbers);
        let highest = || numbers.iter().copied().max().unwrap_or(0);
        self.highest = if self.are_open() { usize::MAX } else { highest() };
        let excepted = self.excepted().min(numbers.len());
        self.numbers[..excepted].sort_unstable();
    }

    pub(crate) fn find(&mut self, record: &[u8], parts: &mut Parts) {
        let count = self.parse(record);
        let (excepted, named) = self.numbers.split_at(self.excepted());
        if self.are_open() {
            let mut excepted = excepted.iter().peekable();
            for number in 1..=count {
                if excepted.next_if_eq(&&number).is_none() {
                    parts.push(self.field(number - 1));
                }
                while excepted.next_if(|it| **it <= number).is_some() {}
            }
            if parts.ends.is_empty() && !self.numbers.is_empty() {
                parts.push_absent(Missing::OtherColumn);
            }
        }
        for &number in named {
            if number > count {
                parts.push_absent(Missing::Column(number));
            } else {
                parts.push(self.field(number - 1));
            }
        }
    }

    /// Reserves memory for a record of `record` bytes.
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

    /// Splits a record into fields, as far as they are wanted; returns their number.
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
                // The next call gets no input, which ends the record.
                ReadRecordResult::InputEmpty | ReadRecordResult::OutputEndsFull => {}
            }
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAS: Dialect = Dialect { comma: b',', has_quotes: true, trims_names: false };

    fn columns(list: &str, dialect: Dialect) -> Columns {
        Columns::new(Choice::These(Column::parse_list(list).unwrap()), None, dialect).unwrap()
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
        let mut trimmed = columns("name", Dialect { trims_names: true, ..COMMAS });
        assert_eq!(trimmed.resolve(b"id, name ", |_| {}), Ok(FirstRecord::Header(vec![2])));
        let tabs = Dialect { comma: b'\t', has_quotes: false, ..COMMAS };
        let mut second = columns("2", tabs);
        assert_eq!(found(&mut second, b"\"a\t\"b\t\"c"), Ok(vec![b"\"b".to_vec()]));
    }

    #[test]
    fn all_columns_but_some() {
        let but = |list: &str, time: Option<&str>| {
            let excepted = if list.is_empty() { vec![] } else { Column::parse_list(list).unwrap() };
            let time = time.map(|name| Column::parse(name).unwrap());
            Columns::new(Choice::AllBut(excepted), time, COMMAS).unwrap()
        };
        let parts = |parts: &[&str]| Ok(parts.iter().map(|it| it.as_bytes().to_vec()).collect());
        assert_eq!(found(&mut but("", None), b"a,\"b\",,"), parts(&["a", "b", "", ""]));
        assert_eq!(found(&mut but("", None), b""), parts(&[]), "an empty row");
        assert_eq!(found(&mut but("3,1,3,9", None), b"a,b,c,d"), parts(&["b", "d"]));
        assert_eq!(found(&mut but("1", None), b"a"), Err(Missing::OtherColumn));
        assert_eq!(found(&mut but("2", Some("3")), b"a,b,c"), parts(&["a", "c", "c"]));
        assert_eq!(found(&mut but("2", Some("3")), b"a,b"), Err(Missing::Column(3)));
        let many = b"x,".repeat(1000);
        assert_eq!(found(&mut but("7", None), &many).unwrap().len(), 1000);
        assert_eq!(but("", None).resolve(b"a,b", |_| {}), Ok(FirstRecord::Data));
        assert_eq!(but("2", None).resolve(b"a,b", |_| {}), Ok(FirstRecord::Data));
        assert_eq!(but("b,c", None).resolve(b"c,b", |_| {}), Err(NoColumn::Left));
        let mut named = but("at,id", None);
        assert_eq!(named.resolve(b"id,x,at", |_| {}), Ok(FirstRecord::Header(vec![3, 1])));
        named.use_numbers(&[3, 1]);
        for columns in [&mut named.clone(), &mut named] {
            assert_eq!(found(columns, b"1,2,3"), parts(&["2"]));
        }
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
        assert!(
            Columns::new(Choice::AllBut(vec![]), None, Dialect { comma: b'"', ..COMMAS }).is_err()
        );
    }
}

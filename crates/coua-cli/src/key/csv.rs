//! Keys of CSV columns.

use crate::key::parts::{Missing, Parts};
use crate::terminal::{Failure, Result};
use csv_core::{ReadFieldResult, ReadRecordResult, Reader, ReaderBuilder, Terminator};
use std::collections::TryReserveError;

/// A column as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    /// Counted from 1.
    Number(usize),
    /// As the header says.
    Name(String),
}

impl Column {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        match text.parse() {
            Ok(0) => Err(Failure::at("--csv 0", "columns are counted from 1")),
            Ok(number) => Ok(Self::Number(number)),
            Err(_) => Ok(Self::Name(text.to_owned())),
        }
    }
}

/// The columns that make the key.
#[derive(Debug)]
pub(crate) struct Columns {
    wanted: Vec<Column>,
    /// Where they are in the present file, counted from 1.
    numbers: Vec<usize>,
    /// What is after the last of them is not looked at.
    highest: usize,
    /// The byte between fields.
    pub(crate) comma: u8,
    reader: Reader,
    output: Vec<u8>,
    ends: Vec<usize>,
}

impl Clone for Columns {
    /// With a reader of its own: the copy of one of csv-core's (0.1.13) lacks most of its tables.
    fn clone(&self) -> Self {
        let numbers = self.numbers.clone();
        Self { numbers, highest: self.highest, ..Self::of(self.wanted.clone(), self.comma) }
    }
}

fn reader(comma: u8) -> Reader {
    // The record has been cut out already: only newlines within quotes are left in it.
    ReaderBuilder::new().delimiter(comma).terminator(Terminator::Any(b'\n')).build()
}

impl Columns {
    pub(crate) fn new(wanted: Vec<Column>, comma: Option<&[u8]>) -> Result<Self> {
        let comma = match comma {
            None => b',',
            Some(&[byte]) if !matches!(byte, b'"' | b'\n' | b'\r') => byte,
            Some(_) => {
                return Err(Failure::at(
                    "-t",
                    "with --csv, the separator is one byte, and no quote or end of line",
                ));
            }
        };
        Ok(Self::of(wanted, comma))
    }

    fn of(wanted: Vec<Column>, comma: u8) -> Self {
        let number = |column: &Column| match column {
            Column::Number(number) => Some(*number),
            Column::Name(_) => None,
        };
        let numbers: Vec<_> = wanted.iter().map_while(number).collect();
        let highest = highest(&numbers);
        let (reader, output, ends) = (reader(comma), Vec::new(), Vec::new());
        Self { wanted, numbers, highest, comma, reader, output, ends }
    }

    /// Whether the first record of a file names the columns.
    pub(crate) fn need_header(&self) -> bool {
        self.wanted.iter().any(|column| matches!(column, Column::Name(_)))
    }

    /// Where the wanted columns are in a file with this header; else the name that is missing. `see` is
    /// shown every name in the header.
    pub(crate) fn resolve(
        &mut self,
        header: &[u8],
        mut see: impl FnMut(&[u8]),
    ) -> Result<Vec<usize>, String> {
        let mut places = vec![None; self.wanted.len()];
        let mut output = std::mem::take(&mut self.output);
        output.resize(output.len().max(header.len()), 0);
        self.each_field(header, output, |number, field| {
            see(field);
            for (place, column) in places.iter_mut().zip(&self.wanted) {
                let is_it = matches!(column, Column::Name(name) if name.as_bytes() == field);
                *place = place.or(is_it.then_some(number));
            }
        });
        let place = |(column, place): (&Column, Option<usize>)| match column {
            Column::Number(number) => Ok(*number),
            Column::Name(name) => place.ok_or_else(|| name.clone()),
        };
        self.wanted.iter().zip(places).map(place).collect()
    }

    /// Shows the fields of a record with their numbers, from 1. There may be as many as the record has bytes:
    /// their ends are not kept.
    fn each_field(&self, record: &[u8], mut field: Vec<u8>, mut see: impl FnMut(usize, &[u8])) {
        let mut reader = reader(self.comma);
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

    pub(crate) fn use_numbers(&mut self, numbers: &[usize]) {
        self.numbers.clear();
        self.numbers.extend_from_slice(numbers);
        self.highest = highest(numbers);
    }

    pub(crate) fn find(&mut self, record: &[u8], parts: &mut Parts) -> Result<(), Missing> {
        let count = self.parse(record);
        for &number in &self.numbers {
            if number > count {
                return Err(Missing::Column(number));
            }
            parts.push(self.field(number - 1));
        }
        Ok(())
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

fn highest(numbers: &[usize]) -> usize {
    numbers.iter().copied().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(columns: &mut Columns, record: &[u8]) -> Result<Vec<Vec<u8>>, Missing> {
        let mut parts = Parts::default();
        columns.find(record, &mut parts)?;
        Ok(parts.iter().map(<[u8]>::to_vec).collect())
    }

    fn numbered(number: usize, comma: Option<&[u8]>) -> Columns {
        Columns::new(vec![Column::Number(number)], comma).unwrap()
    }

    #[test]
    fn columns_by_number() {
        let mut second = numbered(2, None);
        assert_eq!(found(&mut second, b"a,\"b \"\"x\"\"\n,\",c"), Ok(vec![b"b \"x\"\n,".to_vec()]));
        assert_eq!(found(&mut second, b"a"), Err(Missing::Column(2)));
        assert_eq!(found(&mut second, b""), Err(Missing::Column(2)));
        assert_eq!(found(&mut second, b"a,"), Ok(vec![Vec::new()]));
        assert_eq!(found(&mut numbered(2, Some(b";")), b"a,b;c"), Ok(vec![b"c".to_vec()]));
        let many = b"x,".repeat(1000);
        for number in [1, 16, 17, 1000] {
            assert_eq!(found(&mut numbered(number, None), &many), Ok(vec![b"x".to_vec()]));
        }
        assert_eq!(found(&mut numbered(1001, None), &many), Ok(vec![Vec::new()]));
        assert_eq!(found(&mut numbered(1002, None), &many), Err(Missing::Column(1002)));
        assert_eq!(found(&mut numbered(usize::MAX, None), b"a"), Err(Missing::Column(usize::MAX)));
    }

    #[test]
    fn fields_after_the_last_one_that_is_wanted_take_no_memory() {
        let many = b"x,".repeat(1000);
        let mut second = numbered(2, None);
        assert_eq!(found(&mut second, &many), Ok(vec![b"x".to_vec()]));
        assert!(second.ends.capacity() < 32, "{}", second.ends.capacity());
        second.make_room(1 << 20).unwrap();
        assert!(second.ends.capacity() < 32 && second.output.capacity() >= 1 << 20);
        assert_eq!(second.clone().output.capacity(), 0);
    }

    #[test]
    fn columns_by_name() {
        let wanted = vec![Column::Name("id".into()), Column::Number(1)];
        let mut columns = Columns::new(wanted, None).unwrap();
        assert!(columns.need_header());
        assert_eq!(columns.resolve(b"name,\"id\"", |_| {}), Ok(vec![2, 1]));
        assert_eq!(columns.resolve(b"\xef\xbb\xbfid,id", |_| {}), Ok(vec![1, 1]));
        let long = [b"x".repeat(1000), b",\"\",,i\"d,id".to_vec()].concat();
        assert_eq!(columns.resolve(&long, |_| {}), Ok(vec![5, 1]));
        assert_eq!(columns.resolve(b"", |_| {}), Err("id".to_owned()));
        assert_eq!(columns.resolve(b"name,ID", |_| {}), Err("id".to_owned()));
        columns.use_numbers(&[2, 1]);
        for columns in [&mut columns.clone(), &mut columns] {
            assert_eq!(found(columns, b"a,b"), Ok(vec![b"b".to_vec(), b"a".to_vec()]));
        }
    }

    #[test]
    fn columns_as_the_user_writes_them() {
        assert_eq!(Column::parse("3").unwrap(), Column::Number(3));
        assert_eq!(Column::parse("url").unwrap(), Column::Name("url".into()));
        assert!(Column::parse("0").is_err());
        assert!(Columns::new(vec![], Some(b"ab")).is_err());
    }
}

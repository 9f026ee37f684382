//! Keys of CSV columns.

use crate::key::block_keys::{Missing, Parts};
use crate::key::column::{Column, NoColumn, Occurrences, each_field};
use crate::record::{Item, Places};
use crate::terminal::{Failure, Result};
use coua::KeyHasher;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};
use std::collections::{BTreeSet, TryReserveError};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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

impl Choice {
    fn named(&self) -> &[Column] {
        let (Self::These(columns) | Self::AllBut(columns)) = self;
        columns
    }

    /// The columns of the key, if these are the places of the named ones.
    fn key(&self, named: Vec<Item>) -> Vec<Item> {
        match self {
            Self::These(_) => named,
            Self::AllBut(_) => others(&named),
        }
    }
}

/// All columns but these.
fn others(excepted: &[Item]) -> Vec<Item> {
    let (mut ones, mut open) = (BTreeSet::new(), None);
    for item in excepted {
        match *item {
            Item::One(number) => drop(ones.insert(number)),
            Item::From(number) => open = Some(open.map_or(number, |it| number.min(it))),
        }
    }
    let end = open.unwrap_or(ones.last().map_or(1, |last| last + 1));
    let before = (1..end).filter(|number| !ones.contains(number)).map(Item::One);
    before.chain(open.is_none().then_some(Item::From(end))).collect()
}

/// The columns of the key, and perhaps that of the time.
#[derive(Debug)]
pub(crate) struct Columns {
    choice: Choice,
    time: Option<Column>,
    /// Where they are in the present file.
    places: Arc<Places>,
    /// Fields after this one are not read.
    highest: usize,
    /// The most fields of a row without a header, if the key is all columns but some.
    widest: Arc<AtomicUsize>,
    pub(crate) dialect: Dialect,
    reader: Reader,
    output: Vec<u8>,
    ends: Vec<usize>,
}

impl Clone for Columns {
    /// Creates a new reader: a clone of csv-core's (0.1.13) lacks most of its tables.
    fn clone(&self) -> Self {
        let (choice, time, places) = (self.choice.clone(), self.time.clone(), self.places.clone());
        Self { widest: self.widest.clone(), ..Self::of(choice, time, places, self.dialect) }
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
            let reason = "the separator of columns must be one byte, not a quote or a line break";
            return Err(Failure::at("-t", reason));
        }
        let time = time.map(Column::single);
        let numbers = |columns: &[Column]| -> Vec<Item> {
            columns.iter().flat_map(|column| column.numbers.clone()).collect()
        };
        let key = choice.key(numbers(choice.named()));
        let time_at = numbers(time.as_slice()).first().map(|item| item.highest());
        let places = Places { key, time: time_at, names: None };
        Ok(Self::of(choice, time, places.into(), dialect))
    }

    fn of(choice: Choice, time: Option<Column>, places: Arc<Places>, dialect: Dialect) -> Self {
        let (output, ends, reader) = (Vec::new(), Vec::new(), reader(dialect));
        let highest = places.highest();
        let widest = Arc::default();
        Self { choice, time, places, highest, widest, dialect, reader, output, ends }
    }

    /// Whether the key is all columns but some.
    pub(super) fn are_all_but_some(&self) -> bool {
        matches!(self.choice, Choice::AllBut(_))
    }

    /// Whether the number of parts depends on the record.
    pub(super) fn are_open(&self) -> bool {
        let is_open = |column: &Column| matches!(*column.numbers, [Item::From(_)]);
        self.are_all_but_some() || self.choice.named().iter().any(is_open)
    }

    /// The number of parts; 0 if it depends on the record or, with ranges that may be names, on the header.
    pub(super) fn parts(&self) -> usize {
        let is_one = self.choice.named().iter().all(|column| column.numbers.len() < 2);
        if is_one && !self.are_open() { self.choice.named().len() } else { 0 }
    }

    /// The columns that are named, the time last.
    fn named(&self) -> impl Iterator<Item = &Column> + Clone {
        self.choice.named().iter().chain(&self.time)
    }

    /// Whether the first record of a file must name the columns.
    pub(crate) fn need_header(&self) -> bool {
        self.named().any(|column| column.numbers.is_empty())
    }

    /// The places of the wanted columns, if the first record of a file is a header. If all columns are given by number and it has that many
    /// columns, it is not; a number that is too high for it may be the name of a column. Calls `see` with every field.
    pub(crate) fn resolve(
        &mut self,
        first: &[u8],
        mut see: impl FnMut(&[u8]),
    ) -> Result<Option<Places>, NoColumn> {
        let mut found = vec![Occurrences::default(); self.named().count()];
        let mut output = mem::take(&mut self.output);
        output.resize(output.len().max(first.len()), 0);
        let (is_all, mut header, mut fields) = (self.are_all_but_some(), Vec::new(), 0);
        let (trim, named) =
            (self.dialect.trims_names, self.choice.named().iter().chain(&self.time));
        each_field(&mut self.reader, first, output, |number, field| {
            see(field);
            fields = number;
            let name = if trim { field.trim_ascii() } else { field };
            for (found, column) in found.iter_mut().zip(named.clone()) {
                found.see(column, number, name);
            }
            header.extend(is_all.then(|| name.to_vec()));
        });
        let names_all = found.iter().all(|found| found.first.is_some());
        if !self.need_header() && (self.highest_number() <= fields || !names_all) {
            return Ok(None);
        }
        let places = self.named().zip(&found).map(|(column, found)| column.places(found));
        let mut places = places.collect::<Result<Vec<_>, _>>()?;
        let time = self.time.as_ref().and_then(|_| places.pop()?.first().map(|it| it.highest()));
        let mut places = Places { key: self.choice.key(places.concat()), time, names: None };
        if is_all {
            order_by_name(&mut places, &header)?;
        }
        Ok(Some(places))
    }

    /// The highest number among the named columns.
    fn highest_number(&self) -> usize {
        let numbers = self.named().flat_map(|column| &column.numbers);
        let number = |item: &Item| match *item {
            Item::One(number) | Item::From(number) => number,
        };
        numbers.map(number).max().unwrap_or(0)
    }

    /// Finds the columns at these places from now on.
    pub(crate) fn use_places(&mut self, places: &Arc<Places>) {
        (self.places, self.highest) = (places.clone(), places.highest());
    }

    /// With all columns but some, a column that the record lacks is an empty part.
    pub(crate) fn find(&mut self, record: &[u8], parts: &mut Parts) {
        let count = self.parse(record);
        let is_all = self.are_all_but_some();
        let Places { key, time, names } = &*self.places;
        if let Some(names) = names {
            parts.push(names.as_bytes());
        } else if is_all && count > self.widest.load(Relaxed) {
            self.widest.fetch_max(count, Relaxed);
        }
        for item in key {
            match *item {
                Item::One(number) if number > count && is_all => parts.push(b""),
                Item::One(number) | Item::From(number) if number > count => {
                    if !is_all {
                        parts.push_absent(Missing::Column(number));
                    }
                }
                Item::One(number) => parts.push(self.field(number - 1)),
                Item::From(number) => {
                    (number..=count).for_each(|number| parts.push(self.field(number - 1)));
                }
            }
        }
        if parts.ends.is_empty() && !self.choice.named().is_empty() {
            parts.push_absent(Missing::OtherColumn);
        }
        match *time {
            Some(number) if number > count => parts.push_absent(Missing::Column(number)),
            Some(number) => parts.push(self.field(number - 1)),
            None => {}
        }
    }

    /// What to say of columns that are left out by number, but that no record has.
    pub(super) fn hints(&self) -> Vec<String> {
        let widest = self.widest.load(Relaxed);
        let named = self.choice.named().iter().filter(|_| widest > 0);
        let unused = named.filter(|it| matches!(*it.numbers, [Item::One(n)] if n > widest));
        let hint =
            |it: &Column| format!("--except {}: no record has more than {widest} columns", it.name);
        unused.map(hint).collect()
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

/// Orders the columns of the key by their names in the header, so that files whose columns are in another order have the
/// same keys. Fields beyond the header stay at the end.
fn order_by_name(places: &mut Places, header: &[Vec<u8>]) -> Result<(), NoColumn> {
    let (mut named, mut beyond) = (Vec::new(), Vec::new());
    for item in mem::take(&mut places.key) {
        match item {
            Item::One(number) if number <= header.len() => named.push(number),
            Item::One(_) => beyond.push(item),
            Item::From(number) => {
                named.extend(number..=header.len());
                beyond.push(Item::From(number.max(header.len() + 1)));
            }
        }
    }
    if named.is_empty() {
        return Err(NoColumn::Left);
    }
    let name = |number: &usize| &header[number - 1];
    named.sort_by_key(|number| name(number));
    let mut all = Vec::new();
    for name in named.iter().map(name) {
        all.extend((name.len() as u64).to_le_bytes());
        all.extend(name);
    }
    places.names = Some(format!("{:016x}", KeyHasher::default().hash(all).to_u64()));
    places.key = named.into_iter().map(Item::One).chain(beyond).collect();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAS: Dialect = Dialect { comma: b',', has_quotes: true, trims_names: false };

    fn columns(list: &str, dialect: Dialect) -> Columns {
        Columns::new(Choice::These(Column::parse_list("--csv", list).unwrap()), None, dialect)
            .unwrap()
    }

    fn found(columns: &mut Columns, record: &[u8]) -> Result<Vec<Vec<u8>>, Missing> {
        let mut parts = Parts::default();
        columns.find(record, &mut parts);
        parts.absent.take().map_or(Ok(()), |(_, why)| Err(why))?;
        Ok(parts.iter().map(<[u8]>::to_vec).collect())
    }

    fn header(places: &[usize]) -> Places {
        let key = places.iter().copied().map(Item::One).collect();
        Places { key, ..Places::default() }
    }

    /// Reads the header, and finds columns as it says.
    fn begin(columns: &mut Columns, first: &[u8]) {
        let resolved = columns.resolve(first, |_| {});
        let Ok(Some(places)) = resolved else { panic!("{resolved:?}") };
        columns.use_places(&Arc::new(places));
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
    }

    #[test]
    fn ranges_of_columns() {
        let parts = |parts: &[&str]| Ok(parts.iter().map(|it| it.as_bytes().to_vec()).collect());
        assert_eq!(found(&mut columns("2-3,1", COMMAS), b"a,b,c,d"), parts(&["b", "c", "a"]));
        assert_eq!(found(&mut columns("-2", COMMAS), b"a,b,c"), parts(&["a", "b"]));
        assert_eq!(found(&mut columns("2-", COMMAS), b"a,b,c"), parts(&["b", "c"]));
        assert_eq!(found(&mut columns("2-", COMMAS), b"a"), Err(Missing::Column(2)));
        assert_eq!(found(&mut columns("2-3", COMMAS), b"a,b"), Err(Missing::Column(3)));
        let mut named = columns("1-3", COMMAS);
        assert_eq!(named.resolve(b"x,y,z,1-3", |_| {}), Ok(None), "places");
        assert_eq!(named.resolve(b"x,1-3", |_| {}), Ok(Some(header(&[2]))), "a name");
        let mut mixed = columns("id,2-3", COMMAS);
        assert_eq!(mixed.resolve(b"x,y,z,id", |_| {}), Ok(Some(header(&[4, 2, 3]))));
        assert!(columns("70000", COMMAS).need_header(), "no record has that many columns");
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
        let missing = || Err(NoColumn::Missing("id".to_owned()));
        let mut columns = columns("id,1", COMMAS);
        assert_eq!(columns.resolve(b"name,\"id\"", |_| {}), Ok(Some(header(&[2, 1]))));
        assert_eq!(columns.resolve(b"\xef\xbb\xbfid,x", |_| {}), Ok(Some(header(&[1, 1]))));
        let long = [b"x".repeat(1000), b",\"\",,i\"d,id".to_vec()].concat();
        assert_eq!(columns.resolve(&long, |_| {}), Ok(Some(header(&[5, 1]))));
        assert_eq!(columns.resolve(b"", |_| {}), missing());
        assert_eq!(columns.resolve(b"name,ID", |_| {}), missing());
        assert_eq!(columns.resolve(b"1,x,id", |_| {}), Ok(Some(header(&[3, 1]))));
        assert_eq!(columns.resolve(b"x,id,1", |_| {}), Ok(Some(header(&[2, 3]))), "a name wins");
        begin(&mut columns, b"name,id");
        for columns in [&mut columns.clone(), &mut columns] {
            assert_eq!(found(columns, b"a,b"), Ok(vec![b"b".to_vec(), b"a".to_vec()]));
        }
    }

    #[test]
    fn a_number_that_is_too_high_may_be_a_name() {
        let mut year = columns("2020", COMMAS);
        assert_eq!(year.resolve(b"x,2019,2020", |_| {}), Ok(Some(header(&[3]))));
        assert_eq!(year.resolve(b"x,2019", |_| {}), Ok(None));
        let mut second = columns("2", COMMAS);
        assert_eq!(second.resolve(b"2,1", |_| {}), Ok(None), "a place");
        let mut always = columns("=2", COMMAS);
        assert_eq!(always.resolve(b"2,1", |_| {}), Ok(Some(header(&[1]))));
        let mut zero = columns("03", COMMAS);
        assert_eq!(zero.resolve(b"a,b,c,03", |_| {}), Ok(Some(header(&[4]))));
    }

    #[test]
    fn one_of_several_columns_of_a_name_is_chosen_by_number() {
        let places = |list| columns(list, COMMAS).resolve(b"id,x,id,y[2]", |_| {});
        let ambiguous = NoColumn::Ambiguous { name: "id".to_owned(), places: [1, 3] };
        assert_eq!(places("id"), Err(ambiguous));
        assert_eq!(places("id[2]"), Ok(Some(header(&[3]))));
        assert_eq!(places("y[2]"), Ok(Some(header(&[4]))), "the name itself");
        assert_eq!(places("id[3]"), Err(NoColumn::Missing("id[3]".to_owned())));
    }

    #[test]
    fn blanks_around_names_and_quotes_in_plain_lines() {
        let mut trimmed = columns("name", Dialect { trims_names: true, ..COMMAS });
        assert_eq!(trimmed.resolve(b"id, name ", |_| {}), Ok(Some(header(&[2]))));
        let tabs = Dialect { comma: b'\t', has_quotes: false, ..COMMAS };
        let mut second = columns("2", tabs);
        assert_eq!(found(&mut second, b"\"a\t\"b\t\"c"), Ok(vec![b"\"b".to_vec()]));
    }

    #[test]
    fn all_columns_but_some() {
        let but = |list: &str, time: Option<&str>| {
            let excepted =
                if list.is_empty() { vec![] } else { Column::parse_list("--csv", list).unwrap() };
            let time = time.map(|name| Column::parse("--time-field", name).unwrap());
            Columns::new(Choice::AllBut(excepted), time, COMMAS).unwrap()
        };
        let parts = |parts: &[&str]| Ok(parts.iter().map(|it| it.as_bytes().to_vec()).collect());
        assert_eq!(found(&mut but("", None), b"a,\"b\",,"), parts(&["a", "b", "", ""]));
        assert_eq!(found(&mut but("", None), b""), parts(&[]), "an empty row");
        assert_eq!(found(&mut but("3,1,3", None), b"a,b,c,d"), parts(&["b", "d"]));
        assert_eq!(found(&mut but("3-,1", None), b"a,b,c,d"), parts(&["b"]));
        assert_eq!(found(&mut but("4", None), b"a"), parts(&["a", "", ""]), "cells that it lacks");
        assert_eq!(found(&mut but("1", None), b"a"), Err(Missing::OtherColumn));
        assert_eq!(found(&mut but("2", Some("3")), b"a,b,c"), parts(&["a", "c", "c"]));
        assert_eq!(found(&mut but("2", Some("3")), b"a,b"), Err(Missing::Column(3)));
        let many = b"x,".repeat(1000);
        assert_eq!(found(&mut but("7", None), &many).unwrap().len(), 1000);
        assert_eq!(but("", None).resolve(b"a,b", |_| {}), Ok(None));
        assert_eq!(but("2", None).resolve(b"a,b", |_| {}), Ok(None));
        assert_eq!(but("b,c", None).resolve(b"c,b", |_| {}), Err(NoColumn::Left));
    }

    #[test]
    fn all_columns_but_some_are_ordered_by_name() {
        let excepted = Column::parse_list("--except", "at").unwrap();
        let mut columns = Columns::new(Choice::AllBut(excepted), None, COMMAS).unwrap();
        let mut key = |first: &[u8], record: &[u8]| {
            begin(&mut columns, first);
            assert_eq!(found(&mut columns.clone(), record), found(&mut columns, record));
            found(&mut columns, record).unwrap()
        };
        let one = key(b"at,home,away", b"1,p,q");
        assert_eq!(one[1..], [b"q", b"p"]);
        assert_eq!(key(b"home,at,away", b"p,2,q"), one);
        assert_eq!(key(b"away,home,at", b"q,p,3"), one);
        assert_ne!(key(b"at,away,home", b"1,p,q"), one);
        assert_ne!(key(b"at,home,guest", b"1,p,q"), one, "another column");
        assert_eq!(key(b"at,home,away", b"1,p,q,x")[1..], [b"q", b"p", b"x"], "beyond the header");
        assert_eq!(key(b"at,home,away", b"1,p")[1..], [&b""[..], b"p"], "a cell that it lacks");
        assert_eq!(key(b"x,at,x", b"1,2,3")[1..], [b"1", b"3"], "two of a name");
    }

    #[test]
    fn columns_as_the_user_writes_them() {
        let names = |list| -> Vec<String> {
            Column::parse_list("--csv", list)
                .unwrap()
                .into_iter()
                .map(|column| column.name)
                .collect()
        };
        assert_eq!(names("url"), ["url"]);
        assert_eq!(names("id,\"a,b\",3"), ["id", "a,b", "3"]);
        assert_eq!(names("=a,b"), ["a,b"]);
        assert!(Column::parse_list("--csv", "0").is_err());
        assert!(
            Columns::new(Choice::AllBut(vec![]), None, Dialect { comma: b'"', ..COMMAS }).is_err()
        );
    }
}

//! Keys of CSV columns: columns as users name them, headers, and the fields of a row.

use crate::key::block_keys::{Missing, Parts};
use crate::record::{HIGHEST, Header, Item, Places, unmarked};
use crate::terminal::{Failure, Result};
use coua::KeyHasher;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};
use std::collections::{BTreeSet, TryReserveError};
use std::fmt::Write;
use std::mem;
use std::sync::Arc;

/// A column as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// The name that it has in the header, if it has that name there.
    name: String,
    /// Its place, or those of a range, used if no column has that name. Empty if the text is only a name.
    numbers: Vec<Item>,
    /// For `name[N]`: the name and N, used if no column has the whole text as its name.
    nth: Option<(String, usize)>,
}

impl Column {
    /// The columns of a list as the user writes it after an option: one CSV record, or `=` and one name.
    pub(crate) fn parse_list(option: &str, text: &str) -> Result<Vec<Self>> {
        if let Some(name) = text.strip_prefix('=') {
            return Ok(vec![Self { name: name.to_owned(), numbers: Vec::new(), nth: None }]);
        }
        // No argument has a zero byte.
        let commas = Dialect { comma: b',', has_quotes: true, trims_names: false };
        let mut list = Row::new(commas, 0);
        if list.split(text.as_bytes(), usize::MAX) == 0 {
            return Err(Failure::at(option, "is empty; expected the name or number of a column"));
        }
        let column = |field| Self::parse(option, &String::from_utf8_lossy(field));
        list.fields().map(column).collect()
    }

    /// A name, a number or a range as the user writes it after an option.
    pub(crate) fn parse(option: &str, text: &str) -> Result<Self> {
        let numbers = Item::parse(text).filter(|_| !text.starts_with('0')).unwrap_or_default();
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
    fn single(mut self) -> Self {
        if !matches!(*self.numbers, [Item::One(_)]) {
            self.numbers.clear();
        }
        self
    }

    /// The places of the column in a header, or the reason why it has none there.
    fn places(&self, header: &[&[u8]]) -> Result<Vec<Item>, String> {
        let places = |wanted: &str| {
            let wanted = wanted.as_bytes().to_vec();
            let named = (1..).zip(header).filter(move |(_, name)| **name == wanted);
            named.map(|(place, _)| place)
        };
        let (name, mut found) = (&self.name, places(&self.name));
        if let (Some(first), second) = (found.next(), found.next()) {
            return second.map_or(Ok(vec![Item::One(first)]), |second| {
                Err(format!(
                    "several columns are named \"{name}\" (numbers {first} and {second}); use a number, or \
                     --csv '{name}[2]'"
                ))
            });
        }
        match self.nth.as_ref().and_then(|(name, nth)| places(name).nth(nth - 1)) {
            Some(place) => Ok(vec![Item::One(place)]),
            None if self.numbers.is_empty() => Err(missing(name, header)),
            None => Ok(self.numbers.clone()),
        }
    }
}

/// What to say if no column has this name.
fn missing(name: &str, header: &[&[u8]]) -> String {
    let found = shown(header);
    let other =
        [";", "\\t", "|", ","].into_iter().find(|it| header.len() < 2 && found.contains(it));
    let remedy = other.map_or_else(String::new, |it| format!("; use -t '{it}'"));
    format!("no column \"{name}\" in the header (found {found}){remedy}")
}

/// Bytes of a header that a message shows.
const SHOWN: usize = 200;

/// The first names of a header, for a message.
fn shown(header: &[&[u8]]) -> String {
    let mut shown = String::new();
    for name in header {
        let comma = if shown.is_empty() { "" } else { ", " };
        let name = String::from_utf8_lossy(&name[..name.len().min(SHOWN)]);
        let quote = if name.trim_ascii().len() < name.len() { "\"" } else { "" };
        write!(shown, "{comma}{quote}{}{quote}", name.escape_debug()).ok();
        if shown.len() > SHOWN {
            return shown + "...";
        }
    }
    if shown.is_empty() { "none".to_owned() } else { shown }
}

/// The names of a header as one number: a header may be giant.
fn digest<'h>(header: impl Iterator<Item = &'h [u8]>) -> u64 {
    let mut all = Vec::new();
    for name in header {
        all.extend((name.len() as u64).to_le_bytes());
        all.extend(name);
    }
    KeyHasher::default().hash(all).to_u64()
}

/// Splits records into fields.
#[derive(Debug)]
struct Row {
    reader: Reader,
    output: Vec<u8>,
    ends: Vec<usize>,
    /// The number of fields of the present record.
    fields: usize,
}

impl Row {
    /// `end` is a byte that stands in no record, except within quotes.
    fn new(Dialect { comma, has_quotes, .. }: Dialect, end: u8) -> Self {
        let mut reader = ReaderBuilder::new();
        reader.delimiter(comma).quoting(has_quotes).terminator(Terminator::Any(end));
        Self { reader: reader.build(), output: Vec::new(), ends: Vec::new(), fields: 0 }
    }

    /// Splits a record into fields, `most` at most; returns their number.
    fn split(&mut self, record: &[u8], most: usize) -> usize {
        self.reader.reset();
        // Unquoting never makes a record longer.
        self.output.resize(self.output.len().max(record.len()), 0);
        let (mut rest, mut written, mut fields) = (record, 0, 0);
        while fields < most {
            if fields == self.ends.len() {
                self.ends.resize((fields * 2 + 16).min(most), 0);
            }
            let ends = self.ends.len().min(most);
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
        self.fields = fields;
        fields
    }

    /// The field with this number, from 1.
    fn field(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(2).map_or(0, |before| self.ends[before]);
        &self.output[start..self.ends[number - 1]]
    }

    /// All fields of the present record.
    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        (1..=self.fields).map(|number| self.field(number))
    }

    /// Reserves memory for a record of `record` bytes, and for `most` of its fields.
    fn make_room(&mut self, record: usize, most: usize) -> Result<(), TryReserveError> {
        // Every field but the last costs a comma.
        let fields = most.min(record.saturating_add(1));
        self.ends.try_reserve(fields.saturating_sub(self.ends.len()))?;
        self.output.try_reserve(record.saturating_sub(self.output.len()))
    }
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
    /// Where they are in a file without a header.
    numbered: Arc<Places>,
    /// Where they are in the present file.
    places: Arc<Places>,
    /// Fields after this one are not read.
    highest: usize,
    pub(crate) dialect: Dialect,
    row: Row,
}

impl Clone for Columns {
    /// Creates a new reader: a clone of csv-core's (0.1.13) lacks most of its tables.
    fn clone(&self) -> Self {
        let Self { choice, time, numbered, places, dialect, .. } = self;
        let mut clone = Self::of(choice.clone(), time.clone(), numbered.clone(), *dialect);
        clone.use_places(Some(places));
        clone
    }
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

    fn of(choice: Choice, time: Option<Column>, numbered: Arc<Places>, dialect: Dialect) -> Self {
        // The record has been split off already: it contains only newlines within quotes.
        let row = Row::new(dialect, b'\n');
        let (places, highest) = (numbered.clone(), numbered.highest());
        Self { choice, time, numbered, places, highest, dialect, row }
    }

    /// Whether the key is all columns but some.
    pub(super) fn are_all_but_some(&self) -> bool {
        matches!(self.choice, Choice::AllBut(_))
    }

    /// The number of parts; 0 if it depends on the record or, with ranges that may be names, on the header.
    pub(super) fn parts(&self) -> usize {
        let Choice::These(columns) = &self.choice else { return 0 };
        let is_one = |column: &Column| matches!(*column.numbers, [] | [Item::One(_)]);
        if columns.iter().all(is_one) { columns.len() } else { 0 }
    }

    /// The columns that are named, the time last.
    fn named(&self) -> impl Iterator<Item = &Column> + Clone {
        self.choice.named().iter().chain(&self.time)
    }

    /// Whether the first record of a file must name the columns.
    pub(crate) fn need_header(&self) -> bool {
        self.named().any(|column| column.numbers.is_empty())
    }

    /// The places of the wanted columns, if the first record of a file is a header, or the reason why it has none. If all
    /// columns are given by number and it has that many columns, it is not; a number that is too high for it may be the
    /// name of a column.
    pub(crate) fn resolve(&mut self, first: &[u8]) -> Result<Option<Places>, String> {
        let fields = self.row.split(first, HIGHEST);
        let trim = self.dialect.trims_names;
        let names = self.row.fields().map(|name| if trim { name.trim_ascii() } else { name });
        let names: Vec<&[u8]> = names.collect();
        let names_all = self.named().all(|column| names.contains(&column.name.as_bytes()));
        if !self.need_header() && (self.highest_number() <= fields || !names_all) {
            return Ok(None);
        }
        let places = self.named().map(|column| column.places(&names));
        let mut places = places.collect::<Result<Vec<_>, _>>()?;
        let time = self.time.as_ref().and_then(|_| places.pop()?.first().map(|it| it.highest()));
        let mut places = Places { key: self.choice.key(places.concat()), time, names: None };
        if self.are_all_but_some() {
            order_by_name(&mut places, &names)?;
        }
        Ok(Some(places))
    }

    /// The highest number among the named columns.
    fn highest_number(&self) -> usize {
        let numbers = self.named().flat_map(|column| &column.numbers);
        let number = |(Item::One(number) | Item::From(number)): &Item| *number;
        numbers.map(number).max().unwrap_or(0)
    }

    /// Finds the columns of a file from now on, at the places that its header gives them, if it has one.
    pub(crate) fn use_places(&mut self, of_header: Option<&Arc<Places>>) {
        self.places.clone_from(of_header.unwrap_or(&self.numbered));
        self.highest = self.places.highest();
    }

    /// With all columns but some, a column that the record lacks is an empty part.
    pub(crate) fn find(&mut self, record: &[u8], parts: &mut Parts) {
        let count = self.row.split(record, self.highest);
        let (is_all, row) = (self.are_all_but_some(), &self.row);
        let Places { key, time, names } = &*self.places;
        if let Some(names) = names {
            parts.push(names.as_bytes());
        }
        for item in key {
            match *item {
                Item::One(number) if number > count && is_all => parts.push(b""),
                Item::One(number) | Item::From(number) if number > count => {
                    if !is_all {
                        parts.push_absent(Missing::Column(number));
                    }
                }
                Item::One(number) => parts.push(row.field(number)),
                Item::From(number) => {
                    (number..=count).for_each(|number| parts.push(row.field(number)));
                }
            }
        }
        if parts.ends.is_empty() && !self.choice.named().is_empty() {
            parts.push_absent(Missing::OtherColumn);
        }
        match *time {
            Some(number) if number > count => parts.push_absent(Missing::Column(number)),
            Some(number) => parts.push(row.field(number)),
            None => {}
        }
    }

    /// Reserves memory for a record of `record` bytes.
    pub(crate) fn make_room(&mut self, record: usize) -> Result<(), TryReserveError> {
        self.row.make_room(record, self.highest)
    }
}

/// Orders the columns of the key by their names in the header, so that files whose columns are in another order have the
/// same keys. Fields beyond the header stay at the end.
fn order_by_name(places: &mut Places, header: &[&[u8]]) -> Result<(), String> {
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
        let all = shown(header);
        return Err(format!("--except names all columns ({all}); none is left for the key"));
    }
    named.sort_by_key(|number| header[number - 1]);
    places.names = Some(format!("{:016x}", digest(named.iter().map(|number| header[number - 1]))));
    places.key = named.into_iter().map(Item::One).chain(beyond).collect();
    Ok(())
}

/// Whether records under different headers may go to one output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mixing {
    /// Records are printed, and would follow a wrong header.
    Refused,
    /// No record is printed.
    Allowed,
}

/// The headers of the inputs, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Headers {
    pub(crate) columns: Columns,
    pub(crate) mixing: Mixing,
    /// The beginning of lines that may precede a header.
    comment: Option<Arc<[u8]>>,
    /// The name of the column that is printed before those of the inputs, if there is one.
    pub(crate) added: Option<&'static str>,
    /// The first file with a header, and the names in it.
    expected: Option<(Arc<str>, Names)>,
    /// An input had a header.
    has_met: bool,
}

impl Headers {
    pub(crate) fn new(columns: Columns, mixing: Mixing, comment: Option<Arc<[u8]>>) -> Self {
        Self { columns, mixing, comment, added: None, expected: None, has_met: false }
    }

    /// The headers of the inputs, after those of files that are appended to.
    pub(crate) fn of_inputs(self) -> Self {
        Self { has_met: false, ..self }
    }

    /// Whether a record is one of the lines that may precede a header: an empty one, a comment, or a `sep=` line for
    /// spreadsheets. Returns an error if that has another separator.
    pub(crate) fn is_before(&self, input: &Arc<str>, record: &[u8]) -> Result<bool> {
        let line = unmarked(record);
        if let [separator] = line.strip_prefix(b"sep=").unwrap_or_default() {
            let wanted = self.columns.dialect.comma;
            if *separator == wanted {
                return Ok(true);
            }
            let [found, wanted] = [*separator, wanted].map(char::from);
            let reason = format_args!(
                "its first line declares {found:?} as the separator, not {wanted:?}; use -t '{found}'"
            );
            return Err(Failure::at(input, reason));
        }
        let is_comment = self.comment.as_ref().is_some_and(|comment| line.starts_with(comment));
        Ok(line.is_empty() || is_comment)
    }

    /// The header that the lines before the next one belong to.
    pub(crate) fn next(&self) -> Header {
        if self.has_met { Header::Further } else { Header::First }
    }

    /// The places of the key's columns in an input with this first record, and which header it is; none if it is not a
    /// header.
    pub(crate) fn take(
        &mut self,
        input: &Arc<str>,
        first: &[u8],
    ) -> Result<Option<(Places, Header)>> {
        let places = self.columns.resolve(first).map_err(|reason| Failure::at(input, reason))?;
        let Some(places) = places else { return Ok(None) };
        let names = self.names();
        let header = self.next();
        self.has_met = true;
        let Some((first, expected)) = &self.expected else {
            self.expected = Some((input.clone(), names));
            return Ok(Some((places, header)));
        };
        if self.mixing == Mixing::Refused && names != *expected {
            let reason = format_args!(
                "its header differs from that of {first} (found {}, expected {}), but both go \
                 to one output; run them separately, or give both the same columns",
                names.shown, expected.shown
            );
            return Err(Failure::at(input, reason));
        }
        Ok(Some((places, header)))
    }

    /// The names in the header that was read last, after the one that is added.
    fn names(&self) -> Names {
        let added = self.added.map(str::as_bytes);
        let all: Vec<&[u8]> = added.into_iter().chain(self.columns.row.fields()).collect();
        Names { digest: digest(all.iter().copied()), shown: shown(&all) }
    }
}

/// The names in a header, without quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Names {
    digest: u64,
    /// The first names.
    shown: String,
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
        let resolved = columns.resolve(first);
        let Ok(Some(places)) = resolved else { panic!("{resolved:?}") };
        columns.use_places(Some(&Arc::new(places)));
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
        assert_eq!(named.resolve(b"x,y,z,1-3"), Ok(None), "places");
        assert_eq!(named.resolve(b"x,1-3"), Ok(Some(header(&[2]))), "a name");
        let mut mixed = columns("id,2-3", COMMAS);
        assert_eq!(mixed.resolve(b"x,y,z,id"), Ok(Some(header(&[4, 2, 3]))));
        assert!(columns("70000", COMMAS).need_header(), "no record has that many columns");
    }

    #[test]
    fn fields_after_the_last_one_that_is_wanted_take_no_memory() {
        let many = b"x,".repeat(1000);
        let mut second = numbered(2);
        assert_eq!(found(&mut second, &many), Ok(vec![b"x".to_vec()]));
        let ends = second.row.ends.capacity();
        assert!(ends < 32, "{ends}");
        second.make_room(1 << 20).unwrap();
        let [ends, output] = [second.row.ends.capacity(), second.row.output.capacity()];
        assert!(ends < 32 && output >= 1 << 20);
        let Row { ends, output, .. } = second.clone().row;
        assert_eq!([ends.capacity(), output.capacity()], [0, 0]);
    }

    #[test]
    fn columns_by_name() {
        let lacks = |found: Result<_, String>| {
            assert!(found.unwrap_err().starts_with("no column \"id\" in the header"));
        };
        let mut columns = columns("id,1", COMMAS);
        assert_eq!(columns.resolve(b"name,\"id\""), Ok(Some(header(&[2, 1]))));
        assert_eq!(columns.resolve(b"\xef\xbb\xbfid,x"), Ok(Some(header(&[1, 1]))));
        let long = [b"x".repeat(1000), b",\"\",,i\"d,id".to_vec()].concat();
        assert_eq!(columns.resolve(&long), Ok(Some(header(&[5, 1]))));
        lacks(columns.resolve(b""));
        lacks(columns.resolve(b"name,ID"));
        assert_eq!(columns.resolve(b"1,x,id"), Ok(Some(header(&[3, 1]))));
        assert_eq!(columns.resolve(b"x,id,1"), Ok(Some(header(&[2, 3]))), "a name wins");
        begin(&mut columns, b"name,id");
        for columns in [&mut columns.clone(), &mut columns] {
            assert_eq!(found(columns, b"a,b"), Ok(vec![b"b".to_vec(), b"a".to_vec()]));
        }
    }

    #[test]
    fn a_number_that_is_too_high_may_be_a_name() {
        let mut year = columns("2020", COMMAS);
        assert_eq!(year.resolve(b"x,2019,2020"), Ok(Some(header(&[3]))));
        begin(&mut year, b"x,2019,2020");
        assert_eq!(found(&mut year, b"a,b,c"), Ok(vec![b"c".to_vec()]));
        assert_eq!(year.resolve(b"x,2019"), Ok(None));
        year.use_places(None);
        assert_eq!(found(&mut year, b"a,b,c"), Err(Missing::Column(2020)), "of the next file");
        let mut second = columns("2", COMMAS);
        assert_eq!(second.resolve(b"2,1"), Ok(None), "a place");
        let mut always = columns("=2", COMMAS);
        assert_eq!(always.resolve(b"2,1"), Ok(Some(header(&[1]))));
        let mut zero = columns("03", COMMAS);
        assert_eq!(zero.resolve(b"a,b,c,03"), Ok(Some(header(&[4]))));
    }

    #[test]
    fn one_of_several_columns_of_a_name_is_chosen_by_number() {
        let places = |list| columns(list, COMMAS).resolve(b"id,x,id,y[2]");
        let ambiguous = "several columns are named \"id\" (numbers 1 and 3)";
        assert!(places("id").unwrap_err().starts_with(ambiguous));
        assert_eq!(places("id[2]"), Ok(Some(header(&[3]))));
        assert_eq!(places("y[2]"), Ok(Some(header(&[4]))), "the name itself");
        assert!(places("id[3]").unwrap_err().starts_with("no column \"id[3]\""));
    }

    #[test]
    fn blanks_around_names_and_quotes_in_plain_lines() {
        let mut trimmed = columns("name", Dialect { trims_names: true, ..COMMAS });
        assert_eq!(trimmed.resolve(b"id, name "), Ok(Some(header(&[2]))));
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
        assert_eq!(but("", None).resolve(b"a,b"), Ok(None));
        assert_eq!(but("2", None).resolve(b"a,b"), Ok(None));
        assert!(but("b,c", None).resolve(b"c,b").unwrap_err().contains("none is left"));
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

//! Where records end. In CSV they are lines, except newlines in quotes; a byte order mark before a record is skipped, as
//! it is before a key. And blocks of whole records.

use crate::runs::Checksum;
use crate::terminal::{Failure, Result};
use memchr::{memchr, memchr_iter, memchr2, memmem};
use std::array;
use std::sync::Arc;

/// The format of records: what ends one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordFormat {
    /// A single byte, such as NUL, or a newline: a carriage return before that belongs to it.
    Byte(u8),
    /// Several bytes.
    Sequence(Arc<[u8]>),
    /// A newline outside quotes; a carriage return before it belongs to it (RFC 4180).
    CsvLine {
        /// The byte between fields: a quote after it begins a quoted field.
        comma: u8,
        /// The beginning of lines in which quotes are ordinary.
        comment: Option<Arc<[u8]>>,
    },
}

impl RecordFormat {
    /// The separator `bytes`, which are not empty.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        match bytes {
            [byte] => Self::Byte(*byte),
            _ => Self::Sequence(bytes.into()),
        }
    }

    /// What to write between two records if the first lacks its separator.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Byte(byte) => std::slice::from_ref(byte),
            Self::Sequence(bytes) => bytes,
            Self::CsvLine { .. } => b"\n",
        }
    }

    /// The number of bytes at the end of an input that begin its last separator, which is cut off: after it, records
    /// that end in such bytes would be read otherwise. Only separators that begin as they end, such as two newlines, are
    /// recognized by their beginning.
    pub(crate) fn cut_separator(&self, bytes: &[u8]) -> usize {
        let Self::Sequence(separator) = self else { return 0 };
        let mut beginnings = (1..separator.len()).rev().map(|length| &separator[..length]);
        let overlaps = beginnings.clone().any(|beginning| separator.ends_with(beginning));
        let cut = beginnings.find(|beginning| overlaps && bytes.ends_with(beginning));
        cut.map_or(0, <[u8]>::len)
    }

    /// A record without its separator, which only the last record of an input may lack.
    #[inline]
    pub(crate) fn content<'r>(&self, record: &'r [u8]) -> &'r [u8] {
        match self {
            Self::Byte(b'\n') | Self::CsvLine { .. } => {
                let ([content @ .., b'\r', b'\n'] | [content @ .., b'\n' | b'\r']) = record else {
                    return record;
                };
                content
            }
            Self::Byte(byte) => record.strip_suffix(&[*byte]).unwrap_or(record),
            Self::Sequence(bytes) => record.strip_suffix(&**bytes).unwrap_or(record),
        }
    }
}

/// Content without the byte order marks at its beginning, which are not part of a key.
#[inline]
pub(crate) fn unmarked(mut content: &[u8]) -> &[u8] {
    // Most contents differ in the first byte: a branch for each byte is faster than a comparison of all.
    while let [0xef, 0xbb, 0xbf, rest @ ..] = content {
        content = rest;
    }
    content
}

/// Finds the ends of records in bytes that arrive in pieces.
#[derive(Debug)]
pub(crate) enum Splitter {
    Byte(u8),
    Sequence(Box<memmem::Finder<'static>>),
    Csv(Quotes),
}

impl Splitter {
    pub(crate) fn new(format: &RecordFormat) -> Self {
        match format {
            RecordFormat::Byte(byte) => Self::Byte(*byte),
            RecordFormat::Sequence(bytes) => {
                Self::Sequence(Box::new(memmem::Finder::new(bytes).into_owned()))
            }
            RecordFormat::CsvLine { comma, comment } => {
                Self::Csv(Quotes::new(*comma, comment.clone()))
            }
        }
    }

    /// Appends to `ends` the end (after the separator) of every record completed in
    /// `bytes[from..]`, and returns where to continue when more bytes have arrived.
    pub(crate) fn split(&mut self, bytes: &[u8], from: usize, ends: &mut Vec<usize>) -> usize {
        match self {
            Self::Byte(byte) => {
                ends_of_byte(*byte, bytes, from, ends);
                bytes.len()
            }
            Self::Sequence(finder) => {
                let length = finder.needle().len();
                let mut next = from;
                while let Some(at) = finder.find(&bytes[next..]) {
                    next += at + length;
                    ends.push(next);
                }
                // The separator may have begun in the last bytes.
                next.max(bytes.len().saturating_sub(length - 1))
            }
            Self::Csv(quotes) => quotes.split(bytes, from, ends),
        }
    }

    /// The number of records before the first one in which something follows a closing quote, or a blank precedes an
    /// opening one, in the bytes that were split last.
    pub(crate) fn take_stray(&mut self) -> Option<usize> {
        if let Self::Csv(quotes) = self { quotes.stray.take() } else { None }
    }

    /// Whether the bytes so far end inside quotes.
    pub(crate) fn inside_quotes(&self) -> bool {
        matches!(self, Self::Csv(quotes) if quotes.place == QuoteState::Quoted)
    }
}

/// Appends to `ends` the end (after the byte) of every record completed in `bytes[from..]`.
///
/// Most records are short, and a search for the next byte would start again in each. This finds all that end in 64 bytes
/// at once, and is compiled to vectors.
fn ends_of_byte(wanted: u8, bytes: &[u8], from: usize, ends: &mut Vec<usize>) {
    let (chunks, rest) = bytes[from..].as_chunks::<64>();
    let mut before = from;
    for chunk in chunks {
        // The nth of eight bytes sets the nth bit if it is equal. The sum of the eight is the bit mask.
        let bit = |nth| if chunk[nth] == wanted { 1_u8 << (nth % 8) } else { 0 };
        let bits: [u8; 64] = array::from_fn(bit);
        let (eights, _) = bits.as_chunks::<8>();
        let sum = |nth: usize| eights[nth].iter().fold(0, |sum: u8, bit| sum.wrapping_add(*bit));
        let mut found = u64::from_le_bytes(array::from_fn(sum));
        while found != 0 {
            ends.push(before + found.trailing_zeros() as usize + 1);
            found &= found - 1;
        }
        before += chunk.len();
    }
    ends.extend(memchr_iter(wanted, rest).map(|at| before + at + 1));
}

/// A byte order mark in UTF-8.
pub(crate) const MARK: [u8; 3] = *b"\xef\xbb\xbf";

/// Parses just enough CSV to know which newlines end a record: a quote opens a quoted field only at the
/// beginning of a field, and two quotes inside it are one quote.
#[derive(Debug)]
pub(crate) struct Quotes {
    comma: u8,
    comment: Option<Arc<[u8]>>,
    place: QuoteState,
    /// See [`Splitter::take_stray`].
    stray: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuoteState {
    RecordStart,
    FieldStart,
    Comment,
    Plain,
    Quoted,
    /// After a quote inside a quoted field: its end, or the first of two.
    QuoteInQuoted,
}

impl Quotes {
    fn new(comma: u8, comment: Option<Arc<[u8]>>) -> Self {
        Self { comma, comment, place: QuoteState::RecordStart, stray: None }
    }

    /// Appends to `ends` the end of every record completed in `bytes[from..]`, and returns where to continue.
    fn split(&mut self, bytes: &[u8], from: usize, ends: &mut Vec<usize>) -> usize {
        let mut at = from;
        while at < bytes.len() {
            let mut rest = &bytes[at..];
            if self.place == QuoteState::RecordStart {
                rest = unmarked(rest);
                if MARK.starts_with(rest) {
                    return at;
                }
                if self.comment.as_ref().is_some_and(|comment| rest.starts_with(comment)) {
                    self.place = QuoteState::Comment;
                } else if self.comment.as_ref().is_some_and(|comment| comment.starts_with(rest)) {
                    return at;
                }
                at = bytes.len() - rest.len();
            }
            let is_start = matches!(self.place, QuoteState::RecordStart | QuoteState::FieldStart);
            if is_start && rest.starts_with(b" \"") && self.comma != b' ' {
                self.stray.get_or_insert(ends.len());
            }
            // Skips bytes that cannot change the state, or only from the start of a field to its inside.
            let skipped = match self.place {
                QuoteState::Quoted => memchr(b'"', rest),
                QuoteState::Comment => memchr(b'\n', rest),
                QuoteState::Plain => memchr2(self.comma, b'\n', rest),
                _ if is_start && rest[0] != b'"' => memchr2(self.comma, b'\n', rest),
                _ => Some(0),
            };
            let Some(skipped) = skipped else {
                if is_start {
                    self.place = QuoteState::Plain;
                }
                return bytes.len();
            };
            at += skipped + 1;
            let (byte, before) = (rest[skipped], self.place);
            self.place = self.after(byte);
            let follows_quote = before == QuoteState::QuoteInQuoted && byte != b'\r';
            if follows_quote && self.place == QuoteState::Plain {
                self.stray.get_or_insert(ends.len());
            }
            if self.place == QuoteState::RecordStart {
                ends.push(at);
            }
        }
        at
    }

    fn after(&self, byte: u8) -> QuoteState {
        match (self.place, byte) {
            (QuoteState::Quoted, b'"') => QuoteState::QuoteInQuoted,
            (QuoteState::Quoted, _)
            | (
                QuoteState::RecordStart | QuoteState::FieldStart | QuoteState::QuoteInQuoted,
                b'"',
            ) => QuoteState::Quoted,
            (_, b'\n') => QuoteState::RecordStart,
            (_, byte) if byte == self.comma => QuoteState::FieldStart,
            _ => QuoteState::Plain,
        }
    }
}

/// Bytes in a block, unless a record is longer. Block, hashes and answers together fit the
/// second-level cache of one core.
pub(crate) const BLOCK: usize = 256 * 1024;

/// Bytes in a block where threads share the filter: they wait for each other less often, and each shard has more keys,
/// whose evictions are interleaved.
pub(crate) const LARGE_BLOCK: usize = 4 * BLOCK;

/// From this size on, a block holds a giant record: its memory is limited, and freed afterwards.
pub(crate) const GIANT_BLOCK: usize = 2 * LARGE_BLOCK + 1;

/// Whole records of one input. Blocks are recycled, so nothing is allocated per record.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// All initialized; the records are the first `ends.last()` bytes.
    pub(crate) bytes: Vec<u8>,
    /// Where each record ends, its separator included. It begins where the one before ends.
    pub(crate) ends: Vec<usize>,
    /// The input's name.
    pub(crate) name: Arc<str>,
    /// The input's number, from 0.
    pub(crate) input: usize,
    /// Records of the input before this block.
    pub(crate) records_before: u64,
    /// Where the CSV columns of the key are.
    pub(crate) columns: Option<Arc<Places>>,
    /// The number of first records that are a CSV header and the lines before it.
    pub(crate) leading: usize,
    /// Which header that is.
    pub(crate) header: Header,
    /// The content of the input's header, if it has one. A record that equals it is a header too: files were joined.
    pub(crate) header_again: Option<Arc<[u8]>>,
    /// How the last record ends.
    pub(crate) ending: BlockEnd,
    /// The input has no more bytes at the moment, so the output should be flushed.
    pub(crate) drained: bool,
    /// The failure that ends the input after this block.
    pub(crate) failure: Option<Failure>,
    /// Raw bytes read from all inputs when this block was complete.
    pub(crate) consumed: u64,
    /// Raw bytes of the inputs before this one.
    pub(crate) consumed_before: u64,
    /// The checksum of the raw bytes of this input.
    pub(crate) sum: Checksum,
}

/// A part of a list of fields or columns, which are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    One(usize),
    /// This one, and all after it.
    From(usize),
}

/// The highest number of a field or column: a typing error such as `1-99999999999` must not fill the memory.
pub(crate) const HIGHEST: usize = 65_535;

impl Item {
    /// A number or a range: `4-6` as 4, 5, 6; `-3` as 1, 2, 3; `4-` as 4 and all after it.
    pub(crate) fn parse(item: &str) -> Option<Vec<Self>> {
        let number = |text: &str| text.parse().ok().filter(|n| (1..=HIGHEST).contains(n));
        match item.split_once('-') {
            None => Some(vec![Self::One(number(item)?)]),
            Some((from, "")) => Some(vec![Self::From(number(from)?)]),
            Some((from, to)) => {
                let range = if from.is_empty() { 1 } else { number(from)? }..=number(to)?;
                (!range.is_empty()).then(|| range.map(Self::One).collect())
            }
        }
    }

    pub(crate) fn highest(self) -> usize {
        match self {
            Self::One(number) => number,
            Self::From(_) => usize::MAX,
        }
    }
}

/// The columns of the key and of the time in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Those of the key, in its order.
    pub(crate) key: Vec<Item>,
    pub(crate) time: Option<usize>,
    /// If the key is all columns but some of a header: a digest of their names, which is part of the key.
    pub(crate) names: Option<String>,
}

impl Places {
    /// The highest column.
    pub(crate) fn highest(&self) -> usize {
        let all = self.key.iter().map(|item| item.highest()).chain(self.time);
        all.max().unwrap_or(0)
    }
}

/// How the last record of a block ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum BlockEnd {
    #[default]
    Separator,
    /// The input ended without a separator.
    EndOfInput,
    /// The input ended within quotes.
    OpenQuote,
}

/// The kind of a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Header {
    #[default]
    First,
    /// That of a later file.
    Further,
    /// Repeated within a file: files were joined.
    Repeated,
}

/// The failure for a record that is too long for the memory.
pub(crate) fn no_memory(name: &str, bytes: usize) -> Failure {
    Failure::at(name, format_args!("no memory for a record of more than {bytes} bytes"))
}

impl Block {
    /// Whether the record at this place is the input's header, and not a line before it.
    pub(crate) fn has_header_at(&self, place: usize) -> bool {
        place + 1 == self.leading && self.header_again.is_some()
    }

    /// Number of records.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The records, each with its separator.
    pub(crate) fn records(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let record = &self.bytes[start..end];
            start = end;
            record
        })
    }

    /// The record at this place, with its separator.
    pub(crate) fn record(&self, place: usize) -> Option<&[u8]> {
        let end = *self.ends.get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(&self.bytes[start..end])
    }

    /// Bytes of all records.
    pub(crate) fn size(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Prepares the block for records of an input, with `room` for bytes.
    pub(crate) fn begin(&mut self, name: &Arc<str>, room: usize) -> Result<()> {
        self.shrink();
        // The content of a block must not depend on the block that used the memory before.
        self.bytes.truncate(room);
        if self.bytes.len() < room {
            self.resize(room, name)?;
        }
        self.ends.clear();
        self.name = name.clone();
        self.records_before = 0;
        self.leading = 0;
        self.ending = BlockEnd::Separator;
        self.drained = false;
        self.failure = None;
        Ok(())
    }

    /// Makes room for a record longer than the block.
    pub(crate) fn grow(&mut self, name: &str) -> Result<()> {
        self.resize(self.bytes.len().saturating_mul(2), name)
    }

    fn resize(&mut self, size: usize, name: &str) -> Result<()> {
        let more = size - self.bytes.len();
        let room = self.bytes.try_reserve_exact(more);
        room.map_err(|_| no_memory(name, self.bytes.len()))?;
        self.bytes.resize(size, 0);
        Ok(())
    }

    /// Whether the block holds a giant record.
    pub(crate) fn is_giant(&self) -> bool {
        self.bytes.len() >= GIANT_BLOCK
    }

    /// Frees the memory of a giant record.
    pub(crate) fn shrink(&mut self) {
        if self.is_giant() {
            *self = Self::default();
        }
    }

    /// Forgets the records from this place on.
    pub(crate) fn cut(&mut self, place: usize) {
        if place < self.ends.len() {
            self.ends.truncate(place);
            self.ending = BlockEnd::Separator;
        }
    }

    /// The number within its input, from 1, of the record at this place.
    pub(crate) fn record_number(&self, place: usize) -> u64 {
        self.records_before + place as u64 + 1
    }

    /// What messages call the record at this place.
    pub(crate) fn record_name(&self, place: usize) -> String {
        format!("{}: record {}", self.name, self.record_number(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CSV: RecordFormat = RecordFormat::CsvLine { comma: b',', comment: None };

    fn ends_in_pieces(format: &RecordFormat, bytes: &[u8], piece: usize) -> Vec<usize> {
        let mut splitter = Splitter::new(format);
        let (mut ends, mut from) = (Vec::new(), 0);
        let mut have = 0;
        while have < bytes.len() {
            have = (have + piece).min(bytes.len());
            from = splitter.split(&bytes[..have], from, &mut ends);
        }
        ends
    }

    #[test]
    fn separators_are_found_across_pieces() {
        let sequence = RecordFormat::of(b"--");
        for piece in 1..12 {
            assert_eq!(
                ends_in_pieces(&sequence, b"a--b---c----", piece),
                [3, 6, 10, 12],
                "{piece}"
            );
            assert_eq!(ends_in_pieces(&RecordFormat::of(b"\n"), b"a\n\nbc\nd", piece), [2, 3, 6]);
        }
    }

    #[test]
    fn newlines_in_quotes_end_no_record() {
        let text = b"a,\"x\ny\",\"q\"\"\n\"\nb\"c\n\n\"d";
        for piece in 1..text.len() {
            assert_eq!(ends_in_pieces(&CSV, text, piece), [15, 19, 20], "{piece}");
        }
    }

    #[test]
    fn quotes_in_comments_open_nothing() {
        let comment = Some(b"##".as_slice().into());
        let format = RecordFormat::CsvLine { comma: b',', comment };
        let text = b"##\"x,\"\n#\"a\n#,\"##\ny\"\n##\n#";
        for piece in 1..text.len() {
            assert_eq!(ends_in_pieces(&format, text, piece), [7, 11, 20, 23], "{piece}");
        }
        for start in [&b"\xef\xbb\xbf"[..], b"##\n\xef\xbb\xbf"] {
            let text = [start, b"##\"\na\n"].concat();
            let ends = ends_in_pieces(&format, &text, 1);
            assert_eq!(ends[ends.len() - 2..], [start.len() + 4, start.len() + 6]);
        }
    }

    #[test]
    fn a_byte_order_mark_is_before_the_first_field() {
        let text = b"\xef\xbb\xbf\"x\ny\"\nz\n";
        for piece in 1..text.len() {
            assert_eq!(ends_in_pieces(&CSV, text, piece), [9, 11], "{piece}");
        }
        // A part of one is the beginning of a field.
        assert_eq!(ends_in_pieces(&CSV, b"\xef\xbb\"x\ny\"\n", 1), [5, 8]);
        // A record in the middle may have one, for files are joined, or more.
        assert_eq!(ends_in_pieces(&CSV, b"a\n\xef\xbb\xbf\"\n\"\n", 1), [2, 9]);
        assert_eq!(ends_in_pieces(&CSV, b"a\n\xef\xbb\xbf\xef\xbb\xbf\"\n\"\n", 1), [2, 12]);
    }

    #[test]
    fn content_is_the_record_without_its_end() {
        let lines = RecordFormat::Byte(b'\n');
        for format in [&lines, &CSV] {
            assert_eq!(format.content(b"a\r\n"), b"a");
            assert_eq!(format.content(b"a\n"), b"a");
            assert_eq!(format.content(b"a\r\r\n"), b"a\r");
            assert_eq!(format.content(b"a\rb"), b"a\rb");
            assert_eq!(format.content(b"a\r"), b"a", "the last line");
            assert_eq!(format.content(b""), b"");
        }
        assert_eq!(RecordFormat::Byte(0).content(b"a\r\0"), b"a\r");
        assert_eq!(RecordFormat::of(b"--").content(b"a--"), b"a");
    }

    proptest! {
        /// The records are those that csv-core, the model for quoting, finds.
        #[test]
        fn csv_records_agree_with_csv_core(
            text in proptest::collection::vec(prop::sample::select(b"a,\"\n ".as_slice()), 0..40),
            mark in prop::sample::select(vec![b"" as &[u8], b"\xef", b"\xef\xbb", b"\xef\xbb\xbf"]),
            piece in 1_usize..10,
        ) {
            let text = [mark, &text].concat();
            let ends = ends_in_pieces(&CSV, &text, piece);
            // csv-core knows a whole mark.
            let mut start = if mark.len() == 3 { 3 } else { 0 };
            let mut records = Vec::new();
            for end in ends.into_iter().chain([text.len()]) {
                // csv-core skips empty lines.
                if text[start..end].iter().any(|byte| *byte != b'\n') {
                    records.push(text[start..end].to_vec());
                }
                start = end;
            }
            prop_assert_eq!(records.len(), count_with_csv_core(&text));
        }
    }

    fn count_with_csv_core(text: &[u8]) -> usize {
        let mut reader =
            csv_core::ReaderBuilder::new().terminator(csv_core::Terminator::Any(b'\n')).build();
        let (mut output, mut ends) = ([0; 256], [0; 64]);
        let (mut rest, mut records) = (text, 0);
        loop {
            let (result, used, ..) = reader.read_record(rest, &mut output, &mut ends);
            rest = &rest[used..];
            match result {
                csv_core::ReadRecordResult::Record => records += 1,
                csv_core::ReadRecordResult::End => return records,
                _ => {}
            }
        }
    }

    #[test]
    fn a_giant_record_does_not_keep_its_memory() {
        let mut block = Block::default();
        block.begin(&"x".into(), BLOCK).unwrap();
        for size in [2 * BLOCK, 4 * BLOCK, 2 * LARGE_BLOCK] {
            block.grow("x").unwrap();
            block.shrink();
            assert_eq!(block.bytes.len(), size);
        }
        block.grow("x").unwrap();
        assert!(block.is_giant());
        block.shrink();
        assert_eq!(block.bytes.capacity(), 0);
        block.begin(&"x".into(), BLOCK).unwrap();
        assert_eq!(block.bytes.len(), BLOCK);
    }
}

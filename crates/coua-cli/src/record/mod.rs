//! Where records end. In CSV they are lines, except newlines in quotes; a byte order mark before them is skipped, as by
//! the reader of their columns.

mod block;

pub(crate) use block::{
    BLOCK, Block, BlockEnd, Budget, GIANT_BLOCK, Header, Item, LARGE_BLOCK, Places, no_memory,
};

use memchr::{memchr, memchr_iter, memchr2, memmem};
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

    /// Whether these first bytes of an input belong to no record: a byte order mark before CSV.
    pub(crate) fn is_mark(&self, bytes: &[u8]) -> bool {
        matches!(self, Self::CsvLine { .. }) && bytes == MARK
    }

    /// What to write between two records if the first lacks its separator.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Byte(byte) => std::slice::from_ref(byte),
            Self::Sequence(bytes) => bytes,
            Self::CsvLine { .. } => b"\n",
        }
    }

    /// A record without its separator, which only the last record of an input may lack.
    #[inline]
    pub(crate) fn content<'r>(&self, record: &'r [u8]) -> &'r [u8] {
        match self {
            Self::Byte(b'\n') | Self::CsvLine { .. } => {
                let content = record.strip_suffix(b"\n").unwrap_or(record);
                content.strip_suffix(b"\r").unwrap_or(content)
            }
            Self::Byte(byte) => record.strip_suffix(&[*byte]).unwrap_or(record),
            Self::Sequence(bytes) => record.strip_suffix(&**bytes).unwrap_or(record),
        }
    }
}

/// Content without a byte order mark at its beginning, which is not part of a key.
#[inline]
pub(crate) fn unmarked(content: &[u8]) -> &[u8] {
    match content {
        // Most contents differ in the first byte.
        [first, ..] if *first != MARK[0] => content,
        _ => content.strip_prefix(&MARK).unwrap_or(content),
    }
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
                ends.extend(memchr_iter(*byte, &bytes[from..]).map(|at| from + at + 1));
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
        matches!(self, Self::Csv(quotes) if quotes.are_open())
    }
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
    /// Bytes of the mark so far, if the input so far is part of it.
    marked: Option<usize>,
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
        let (place, marked) = (QuoteState::RecordStart, Some(0));
        Self { comma, comment, place, marked, stray: None }
    }

    /// Whether the bytes so far end inside quotes.
    fn are_open(&self) -> bool {
        self.place == QuoteState::Quoted
    }

    /// Appends to `ends` the end of every record completed in `bytes[from..]`, and returns where to continue.
    fn split(&mut self, bytes: &[u8], from: usize, ends: &mut Vec<usize>) -> usize {
        let mut at = from;
        self.pass_mark(bytes, &mut at);
        while at < bytes.len() {
            if let (QuoteState::RecordStart, Some(comment)) = (self.place, &self.comment) {
                let rest = &bytes[at..];
                if rest.starts_with(comment) {
                    self.place = QuoteState::Comment;
                } else if comment.starts_with(rest) {
                    return at;
                }
            }
            // Skips bytes that cannot change the state.
            let skipped = match self.place {
                QuoteState::Plain => memchr2(self.comma, b'\n', &bytes[at..]),
                QuoteState::Quoted => memchr(b'"', &bytes[at..]),
                QuoteState::Comment => memchr(b'\n', &bytes[at..]),
                _ => Some(0),
            };
            let Some(skipped) = skipped else { return bytes.len() };
            at += skipped;
            let byte = bytes[at];
            at += 1;
            let before = self.place;
            self.place = self.after(byte);
            let is_first = matches!(before, QuoteState::RecordStart | QuoteState::FieldStart);
            let precedes_quote = is_first && byte == b' ' && bytes.get(at) == Some(&b'"');
            let follows_quote = before == QuoteState::QuoteInQuoted && byte != b'\r';
            if precedes_quote || follows_quote && self.place == QuoteState::Plain {
                self.stray.get_or_insert(ends.len());
            }
            if self.place == QuoteState::RecordStart {
                ends.push(at);
            }
        }
        at
    }

    /// Skips the mark at the beginning of an input; its bytes may arrive one by one.
    fn pass_mark(&mut self, bytes: &[u8], at: &mut usize) {
        while let Some(passed) = self.marked
            && let Some(&byte) = bytes.get(*at)
        {
            if byte != MARK[passed] {
                self.marked = None;
                // An incomplete mark is the beginning of a field.
                if passed > 0 {
                    self.place = QuoteState::Plain;
                }
                return;
            }
            *at += 1;
            self.marked = Some(passed + 1).filter(|passed| *passed < MARK.len());
        }
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
        assert_eq!(ends_in_pieces(&format, b"\xef\xbb\xbf##\"\na\n", 1), [7, 9]);
    }

    #[test]
    fn a_byte_order_mark_is_before_the_first_field() {
        let text = b"\xef\xbb\xbf\"x\ny\"\nz\n";
        for piece in 1..text.len() {
            assert_eq!(ends_in_pieces(&CSV, text, piece), [9, 11], "{piece}");
        }
        // A part of one is the beginning of a field.
        assert_eq!(ends_in_pieces(&CSV, b"\xef\xbb\"x\ny\"\n", 1), [5, 8]);
        assert_eq!(ends_in_pieces(&CSV, b"\xef\n\xef\xbb\xbf\"\n", 1), [2, 7]);
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
}

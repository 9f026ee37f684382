//! CSV records: lines, unless a newline stands in quotes. A byte order mark before them is passed over, as by
//! the reader of their columns.

use memchr::{memchr, memchr2};

/// A byte order mark in UTF-8.
pub(crate) const MARK: [u8; 3] = *b"\xef\xbb\xbf";

/// Reads just enough CSV to know which newlines end a record: a quote opens a quoted field at the
/// beginning of a field only, and two quotes inside one are a quote.
#[derive(Debug)]
pub(crate) struct Quotes {
    comma: u8,
    place: QuoteState,
    /// Bytes of the mark so far, if all of the input so far is of it.
    marked: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuoteState {
    FieldStart,
    Plain,
    Quoted,
    /// Behind a quote inside a quoted field: its end, or the first of two.
    QuoteInQuoted,
}

impl Quotes {
    pub(super) fn new(comma: u8) -> Self {
        Self { comma, place: QuoteState::FieldStart, marked: Some(0) }
    }

    /// Whether the bytes so far end inside quotes.
    pub(super) fn are_open(&self) -> bool {
        self.place == QuoteState::Quoted
    }

    /// Appends to `ends` the end of every record completed in `bytes[from..]`.
    pub(super) fn split(&mut self, bytes: &[u8], from: usize, ends: &mut Vec<usize>) {
        let mut at = from;
        self.pass_mark(bytes, &mut at);
        while at < bytes.len() {
            // Where nothing can change, skip ahead.
            let skipped = match self.place {
                QuoteState::Plain => memchr2(self.comma, b'\n', &bytes[at..]),
                QuoteState::Quoted => memchr(b'"', &bytes[at..]),
                QuoteState::FieldStart | QuoteState::QuoteInQuoted => Some(0),
            };
            let Some(skipped) = skipped else { return };
            at += skipped;
            let byte = bytes[at];
            at += 1;
            self.place = self.after(byte);
            if byte == b'\n' && self.place == QuoteState::FieldStart {
                ends.push(at);
            }
        }
    }

    /// Passes over the mark at the beginning of an input; the bytes may come one by one.
    fn pass_mark(&mut self, bytes: &[u8], at: &mut usize) {
        while let Some(passed) = self.marked
            && let Some(&byte) = bytes.get(*at)
        {
            if byte != MARK[passed] {
                self.marked = None;
                // A part of the mark is the beginning of a field.
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
            | (QuoteState::FieldStart | QuoteState::QuoteInQuoted, b'"') => QuoteState::Quoted,
            (_, b'\n') => QuoteState::FieldStart,
            (_, byte) if byte == self.comma => QuoteState::FieldStart,
            _ => QuoteState::Plain,
        }
    }
}

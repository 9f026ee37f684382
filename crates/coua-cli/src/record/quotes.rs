//! CSV records: lines, unless a newline stands in quotes.

use memchr::{memchr, memchr2};

/// Reads just enough CSV to know which newlines end a record: a quote opens a quoted field at the
/// beginning of a field only, and two quotes inside one are a quote.
#[derive(Debug)]
pub(crate) struct Quotes {
    comma: u8,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    FieldStart,
    Plain,
    Quoted,
    /// Behind a quote inside a quoted field: its end, or the first of two.
    QuoteInQuoted,
}

impl Quotes {
    pub(super) fn new(comma: u8) -> Self {
        Self { comma, place: Place::FieldStart }
    }

    /// Forgets the input so far.
    pub(super) fn restart(&mut self) {
        self.place = Place::FieldStart;
    }

    /// Whether the bytes so far end inside quotes.
    pub(super) fn are_open(&self) -> bool {
        self.place == Place::Quoted
    }

    /// Appends to `ends` the end of every record completed in `bytes[from..]`.
    pub(super) fn split(&mut self, bytes: &[u8], from: usize, ends: &mut Vec<usize>) {
        let mut at = from;
        while at < bytes.len() {
            // Where nothing can change, skip ahead.
            let skipped = match self.place {
                Place::Plain => memchr2(self.comma, b'\n', &bytes[at..]),
                Place::Quoted => memchr(b'"', &bytes[at..]),
                Place::FieldStart | Place::QuoteInQuoted => Some(0),
            };
            let Some(skipped) = skipped else { return };
            at += skipped;
            let byte = bytes[at];
            at += 1;
            self.place = self.after(byte);
            if byte == b'\n' && self.place == Place::FieldStart {
                ends.push(at);
            }
        }
    }

    fn after(&self, byte: u8) -> Place {
        match (self.place, byte) {
            (Place::Quoted, b'"') => Place::QuoteInQuoted,
            (Place::Quoted, _) | (Place::FieldStart | Place::QuoteInQuoted, b'"') => Place::Quoted,
            (_, b'\n') => Place::FieldStart,
            (_, byte) if byte == self.comma => Place::FieldStart,
            _ => Place::Plain,
        }
    }
}

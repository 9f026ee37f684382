//! Texts in other encodings, as UTF-8.

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8};
use std::io::{self, Read};

/// Raw bytes that are decoded at a time.
const PIECE: usize = 64 * 1024;

/// The most raw bytes that a decoder has taken beyond the beginning of an invalid sequence.
const LONGEST: usize = 16;

/// Decodes a text to UTF-8. A byte order mark overrides the encoding. Invalid bytes of UTF-8 stay as they are; in other
/// encodings an invalid sequence becomes one byte that is not UTF-8. So a record with one is not UTF-8 either.
pub(super) struct TextReader<R> {
    bytes: R,
    decoder: Decoder,
    /// The last decoded bytes, and those to decode, which begin at `at`.
    raw: Vec<u8>,
    at: usize,
    /// The decoded text up to `end`; its bytes before `given` were read.
    text: Vec<u8>,
    end: usize,
    given: usize,
    is_last: bool,
    is_done: bool,
}

impl<R: Read> TextReader<R> {
    pub(super) fn new(bytes: R, encoding: &'static Encoding) -> Self {
        let (decoder, text) = (encoding.new_decoder(), vec![0; 3 * PIECE]);
        let (raw, is_last, is_done) = (Vec::new(), false, false);
        Self { bytes, decoder, raw, at: 0, text, end: 0, given: 0, is_last, is_done }
    }

    /// Reads further raw bytes.
    fn refill(&mut self) -> io::Result<()> {
        self.raw.drain(..self.raw.len().saturating_sub(LONGEST));
        self.at = self.raw.len();
        self.raw.resize(self.at + PIECE, 0);
        let read = self.bytes.read(&mut self.raw[self.at..]);
        self.raw.truncate(self.at + read.as_ref().unwrap_or(&0));
        self.is_last = read? == 0;
        Ok(())
    }

    /// Decodes the raw bytes, as many as the text has room for.
    fn decode(&mut self) {
        (self.given, self.end) = (0, 0);
        let most = self.text.len() - LONGEST;
        while self.end < most {
            let (result, read, written) = self.decoder.decode_to_utf8_without_replacement(
                &self.raw[self.at..],
                &mut self.text[self.end..most],
                self.is_last,
            );
            self.at += read;
            self.end += written;
            let invalid = match result {
                DecoderResult::InputEmpty => {
                    self.is_done = self.is_last;
                    return;
                }
                DecoderResult::OutputFull => return,
                DecoderResult::Malformed(length, after) if self.decoder.encoding() == UTF_8 => {
                    let end = self.at - usize::from(after);
                    &self.raw[end - usize::from(length)..end]
                }
                DecoderResult::Malformed(..) => &[0xff],
            };
            self.text[self.end..self.end + invalid.len()].copy_from_slice(invalid);
            self.end += invalid.len();
        }
    }
}

impl<R: Read> Read for TextReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.end && !self.is_done {
            if self.at == self.raw.len() && !self.is_last {
                self.refill()?;
            }
            self.decode();
        }
        let rest = &self.text[self.given..self.end];
        let read = buffer.len().min(rest.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        self.given += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{SHIFT_JIS, UTF_16LE};

    /// Reads a few bytes at a time.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = self.1.min(buffer.len());
            self.0.read(&mut buffer[..most])
        }
    }

    fn decoded(raw: &[u8], encoding: &'static Encoding) -> Vec<u8> {
        let of_pieces = |piece| {
            let mut text = Vec::new();
            TextReader::new(Pieces(raw, piece), encoding).read_to_end(&mut text).unwrap();
            text
        };
        let whole = of_pieces(PIECE);
        assert!(raw.len() > 100 || (1..5).all(|piece| of_pieces(piece) == whole));
        assert!([999, PIECE - 1].iter().all(|piece| of_pieces(*piece) == whole));
        whole
    }

    #[test]
    fn invalid_bytes_never_become_valid() {
        let odd = b"caf\xe9\ncaf\xe8\n\xf0\x9f\x98\n\xed\xa0\x80\xc3\xa9\xff";
        assert_eq!(decoded(odd, UTF_8), odd);
        assert_eq!(decoded(b"\xef\xbb\xbfa\xe2\x82", UTF_8), b"a\xe2\x82");
        assert_eq!(decoded(b"a\0\x0a\xd8b\0\x0a\0\xe9", UTF_16LE), b"a\xffb\n\xff");
        assert_eq!(decoded(b"\xfe\xff\0a\xdc\x0a", UTF_8), b"a\xff", "a mark overrides");
        assert_eq!(decoded(b"\x83\x41\x83\x0a\xfd", SHIFT_JIS), b"\xe3\x82\xa2\xff\n\xff");
    }

    #[test]
    fn long_texts() {
        let text = "a\u{e9}\u{20ac}\u{1f600}\n".repeat(PIECE / 3);
        assert!(decoded(text.as_bytes(), UTF_8) == text.as_bytes());
        let invalid = vec![0xfe; 3 * PIECE + 7];
        assert!(decoded(&invalid, UTF_8) == invalid);
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(decoded(&wide, UTF_16LE) == text.as_bytes());
    }
}

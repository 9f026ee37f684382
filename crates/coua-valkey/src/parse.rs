//! Strict parsing of a command's words: whole keywords in any case, each at most once, and plain decimal
//! numbers. Errors name the word.

use std::fmt::{Display, Write as _};

use crate::error::CommandError;

/// A range as in errors, with its limits.
pub(crate) struct Range {
    pub(crate) least: i64,
    pub(crate) most: i64,
    pub(crate) shown: &'static str,
}

/// A whole number as the server itself writes it: no plus sign, no leading zeros, no spaces.
pub(crate) fn integer(word: &[u8]) -> Option<i64> {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    let plain = digits.iter().all(u8::is_ascii_digit)
        && (digits.first().is_some_and(|&first| first != b'0') || word == b"0");
    if !plain {
        return None;
    }
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// A real number, finite.
pub(crate) fn real(word: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(word).ok()?;
    // Rust also reads words such as "inf" and a leading plus sign.
    let plain =
        text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'-' | b'+'))
            && !text.starts_with('+');
    text.parse().ok().filter(|number: &f64| plain && number.is_finite())
}

/// 32 hexadecimal digits.
fn key_of_hash(word: &[u8]) -> Option<[u8; 16]> {
    let digits: &[u8; 32] = word.try_into().ok()?;
    let mut key = [0; 16];
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = (high * 16 + low) as u8;
    }
    Some(key)
}

/// Words of a command, in one piece of memory: none of them has a space.
#[derive(Debug)]
pub(crate) struct ArgumentList(String);

impl ArgumentList {
    /// None yet.
    pub(crate) fn new() -> Self {
        /// Bytes of a filter's description, and more.
        const ROOM: usize = 128;
        Self(String::with_capacity(ROOM))
    }

    /// Adds a word.
    pub(crate) fn push(&mut self, word: impl Display) -> &mut Self {
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        // Writing to memory cannot fail.
        write!(self.0, "{word}").ok();
        self
    }

    /// Adds this key in the form of [`key_of_hash`].
    pub(crate) fn push_key(&mut self, key: [u8; 16]) {
        self.0.push(' ');
        let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
        self.0.extend(key.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
    }

    /// The words.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.0.as_bytes().split(|&byte| byte == b' ')
    }
}

/// The words after the fixed ones, read from left to right.
pub(crate) struct Options<'a> {
    rest: &'a [&'a [u8]],
}

impl<'a> Options<'a> {
    /// Options from these words.
    pub(crate) fn new(rest: &'a [&'a [u8]]) -> Self {
        Self { rest }
    }

    /// The next word, which must be one of these keywords; `None` if no word is left.
    pub(crate) fn keyword(
        &mut self,
        known: &[&'static str],
    ) -> Result<Option<&'static str>, CommandError> {
        let Some((&word, rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        let keyword = known.iter().find(|name| word.eq_ignore_ascii_case(name.as_bytes()));
        keyword.copied().map(Some).ok_or_else(|| CommandError::unknown(word))
    }

    /// The value of the keyword just read.
    pub(crate) fn value(&mut self) -> Result<&'a [u8], CommandError> {
        let (&word, rest) = self.rest.split_first().ok_or(CommandError::Arity)?;
        self.rest = rest;
        Ok(word)
    }

    /// The value of the keyword just read, as a number in a range.
    pub(crate) fn number(
        &mut self,
        name: &'static str,
        range: &Range,
    ) -> Result<i64, CommandError> {
        let number = integer(self.value()?).ok_or(CommandError::NotANumber(name))?;
        if (range.least..=range.most).contains(&number) {
            Ok(number)
        } else {
            Err(CommandError::OutOfRange(name, range.shown))
        }
    }

    /// The value of the keyword just read, as the key of a hash.
    pub(crate) fn hash_key(&mut self) -> Result<[u8; 16], CommandError> {
        key_of_hash(self.value()?).ok_or(CommandError::Seed)
    }

    /// All words that are left.
    pub(crate) fn rest(&self) -> &'a [&'a [u8]] {
        self.rest
    }
}

/// Stores an option's value; refused if it has one.
pub(crate) fn once<T>(
    place: &mut Option<T>,
    name: &'static str,
    value: T,
) -> Result<(), CommandError> {
    if place.replace(value).is_some() { Err(CommandError::Twice(name)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_the_server_writes_them() {
        for (word, number) in
            [("0", 0), ("1024", 1024), ("-1", -1), ("9223372036854775807", i64::MAX)]
        {
            assert_eq!(integer(word.as_bytes()), Some(number), "{word}");
        }
        for word in
            ["", "-", "+1", "01", "-0", " 1", "1 ", "1.0", "1e3", "0x10", "9223372036854775808"]
        {
            assert_eq!(integer(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn real_numbers_are_finite() {
        assert_eq!(real(b"0.01"), Some(0.01));
        assert_eq!(real(b"1e-6"), Some(1e-6));
        for word in ["", "inf", "nan", "+1", "1e999", "0.1 ", "infinity", "1_0"] {
            assert_eq!(real(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn a_key_of_the_hash_is_32_digits() {
        assert_eq!(
            key_of_hash(b"000102030405060708090a0b0C0D0E0F"),
            Some([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
        );
        for word in
            ["", "00", "000102030405060708090a0b0C0D0E0G", "+00102030405060708090a0b0C0D0E0F"]
        {
            assert_eq!(key_of_hash(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn an_option_without_a_value_is_one_word_too_few() {
        let words: [&[u8]; 1] = [b"EXPANSION"];
        let mut options = Options::new(&words);
        assert_eq!(options.keyword(&["EXPANSION"]), Ok(Some("EXPANSION")));
        assert_eq!(options.value(), Err(CommandError::Arity));
    }

    #[test]
    fn keywords_are_whole_words_in_any_case() {
        let words: [&[u8]; 2] = [b"eXpansion", b"E"];
        let mut options = Options::new(&words);
        assert_eq!(options.keyword(&["CAPACITY", "EXPANSION"]), Ok(Some("EXPANSION")));
        assert_eq!(options.keyword(&["EXPANSION"]), Err(CommandError::unknown(b"E")));
        assert_eq!(options.keyword(&["EXPANSION"]), Ok(None));
    }
}

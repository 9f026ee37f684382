//! Parses numbers, rates and escaped bytes of the command line.

use crate::clock;
use crate::filter::WindowLength;
use crate::terminal::byte_of;

/// A number of things: `1000`, `20_000_000`, `14M`, `1e9`, `1.5G`.
pub(crate) fn count(text: &str) -> Result<u64, &'static str> {
    let number = text.strip_suffix(|last: char| last.is_ascii_alphabetic()).unwrap_or(text);
    let multiplier = text[number.len()..].chars().next().map_or(Some(1), decimal_unit);
    let count = multiplier.and_then(|m| whole(number, m));
    count.ok_or("expected a whole number below 2^64, such as 1000, 20_000, 14M or 1e9")
}

/// A number of items, at least one.
pub(crate) fn items(text: &str) -> Result<u64, &'static str> {
    let items = count(text)?;
    if items == 0 { Err("expected at least one item") } else { Ok(items) }
}

/// The length of a window: a length of time such as `7d`, or a number such as `1M-items`.
pub(crate) fn window(text: &str) -> Result<WindowLength, String> {
    if let Some(number) = text.strip_suffix("items") {
        let number = number.trim_end_matches(['-', ' ']);
        return match count(number) {
            Ok(items) => Ok(WindowLength::Items(items)),
            Err(reason) => Err(format!("for a number of items, {reason}")),
        };
    }
    clock::duration(text)
        .map(WindowLength::Time)
        .map_err(|reason| format!("{reason}, or a number of items such as 1M-items"))
}

/// A probability: `0.001`, `1e-6`, `0.1%`.
pub(crate) fn rate(text: &str) -> Result<f64, &'static str> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|p| p / 100.0),
        None => text.parse::<f64>(),
    };
    let rate = value.ok().filter(|rate| *rate > 0.0 && *rate < 1.0);
    rate.ok_or("expected a rate between 0 and 1, such as 0.001, 1e-6 or 0.1%")
}

/// Parses bytes with the escapes `\t`, `\n`, `\r`, `\0`, `\\` and `\xHH`.
pub(crate) fn escaped(text: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let (byte, used) = match first {
            b'\\' => escape(after).ok_or(r"unknown escape; expected \t \n \r \0 \\ or \xHH")?,
            _ => (first, 0),
        };
        bytes.push(byte);
        rest = &after[used..];
    }
    if bytes.is_empty() { Err("expected at least one byte") } else { Ok(bytes) }
}

/// Writes bytes with escapes.
pub(crate) fn escape_all(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

/// The byte that the characters after a backslash stand for, and their number.
fn escape(after: &[u8]) -> Option<(u8, usize)> {
    Some(match after {
        [b't', ..] => (b'\t', 1),
        [b'n', ..] => (b'\n', 1),
        [b'r', ..] => (b'\r', 1),
        [b'0', ..] => (0, 1),
        [b'\\', ..] => (b'\\', 1),
        [b'x', high, low, ..] => (byte_of([*high, *low])?, 3),
        _ => return None,
    })
}

fn decimal_unit(letter: char) -> Option<u64> {
    if letter.eq_ignore_ascii_case(&'b') {
        return Some(1_000_000_000);
    }
    let power = "kmgt".find(letter.to_ascii_lowercase())?;
    Some(1000_u64.pow(power as u32 + 1))
}

/// `number * multiplier`, if that is a whole number that fits in 64 bits.
fn whole(number: &str, multiplier: u64) -> Option<u64> {
    let number = number.replace('_', "");
    let (decimal, exponent) = number.split_once(['e', 'E']).unwrap_or((&number, "0"));
    let (before, after) = decimal.split_once('.').unwrap_or((decimal, ""));
    let figures = [before, after].concat();
    if !figures.bytes().all(|figure| figure.is_ascii_digit()) {
        return None;
    }
    // A float cannot hold every whole number above 2^53.
    let value = figures.parse::<u128>().ok()?.checked_mul(multiplier.into())?;
    let exponent = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(after.len()).ok()?)?;
    let power = 10_u128.checked_pow(u32::try_from(exponent.unsigned_abs()).ok()?)?;
    let value = match exponent {
        0.. => value.checked_mul(power)?,
        _ if value % power == 0 => value / power,
        _ => return None,
    };
    u64::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        let good = [
            ("0", 0),
            ("20_000", 20_000),
            ("14M", 14_000_000),
            ("1e9", 1_000_000_000),
            ("1.5k", 1500),
            (".5k", 500),
            ("1.", 1),
            ("1.25e2", 125),
            ("1500e-2", 15),
            ("1e16", 10_000_000_000_000_000),
            ("1e+18", 1_000_000_000_000_000_000),
            ("9007199254740993e0", 9_007_199_254_740_993),
            ("18446744073709551615", u64::MAX),
            ("18446744073709.551615M", u64::MAX),
        ];
        for (text, value) in good {
            assert_eq!(count(text), Ok(value), "{text}");
        }
        for text in
            ["", "-1", "1.5", "x", "M", "99999999999T", "nan", "inf", "1 000", ".", "e3", "1e-1"]
        {
            assert!(count(text).is_err(), "{text}");
        }
        for text in ["18446744073709551616", "1e20", "1e999999999999", "1e-99", "0.0000001M"] {
            assert!(count(text).unwrap_err().contains("below 2^64"), "{text}");
        }
    }

    #[test]
    fn rates() {
        assert_eq!(rate("0.1%"), Ok(0.001));
        assert_eq!(rate("1e-6"), Ok(1e-6));
        for text in ["0", "1", "-0.1", "nan", "x", "100%"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn escapes() {
        assert_eq!(escaped(r"\t,\x00\\").unwrap(), b"\t,\0\\");
        assert_eq!(escaped("\u{e4}").unwrap(), "\u{e4}".as_bytes());
        for text in ["", r"\", r"\x1", r"\q", r"\xzz"] {
            assert!(escaped(text).is_err(), "{text}");
        }
    }
}

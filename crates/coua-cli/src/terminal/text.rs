//! Formatting of numbers and texts for people.

use std::borrow::Cow;

/// Text from a file or a file name, with control characters escaped: a terminal would obey them, and a newline could
/// forge a line.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return text.into();
    }
    text.chars().map(escaped).collect::<String>().into()
}

fn escaped(letter: char) -> String {
    if letter.is_control() { letter.escape_default().collect() } else { letter.into() }
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun: `1 record`, `1,234 records`.
pub(crate) fn counted(number: u64, one: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {one}{ending}", grouped(number))
}

/// A secret key in hexadecimal digits.
pub(crate) fn hexadecimal(key: [u8; 16]) -> String {
    format!("{:032x}", u128::from_le_bytes(key).swap_bytes())
}

/// The byte of two hexadecimal digits.
pub(crate) fn byte_of(digits: [u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
    u8::try_from(high? * 16 + low?).ok()
}

/// Bytes with a decimal unit: `1.3 GB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    // 999.95 would be printed as 1000.0.
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A positive number with three significant digits: `0.00123`, `4.5e-9`, `12.3`.
pub(crate) fn significant(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let exponent = number.abs().log10().floor();
    if (-4.0..6.0).contains(&exponent) {
        let decimals = (2.0 - exponent).max(0.0) as usize;
        format!("{number:.decimals$}")
    } else {
        format!("{number:.2e}")
    }
}

/// The text of a number, if it is known.
pub(crate) fn known(number: Option<f64>, words: impl Fn(f64) -> String) -> String {
    number.map_or_else(|| "unknown".to_owned(), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let texts = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn one_is_no_plural() {
        let texts = [0, 1, 1_234].map(|number| counted(number, "record"));
        assert_eq!(texts, ["0 records", "1 record", "1,234 records"]);
    }

    #[test]
    fn sizes_have_units() {
        let texts = [0, 999, 1000, 1_299_999, 999_999, u64::MAX].map(size);
        assert_eq!(texts, ["0 B", "999 B", "1.0 kB", "1.3 MB", "1.0 MB", "18.4 EB"]);
    }

    #[test]
    fn three_digits_count() {
        let texts = [0.0, 0.001_234, 4.56e-9, 12.34, 1.0, 123_456.0, 5e7].map(significant);
        assert_eq!(texts, ["0", "0.00123", "4.56e-9", "12.3", "1.00", "123456", "5.00e7"]);
    }
}

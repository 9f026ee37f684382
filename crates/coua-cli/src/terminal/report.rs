//! Reports: a table for people, and a JSON object for programs. Numbers as people read them.

use serde::{Serialize, Serializer};
use serde_json::Value;

/// The format of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    /// A table for people.
    Text,
    /// JSON.
    Json,
}

/// Figures in the order of the table. The field names are part of the program's interface; `docs/json.md` describes
/// them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    fields: Vec<(&'static str, Value)>,
    rows: Vec<(String, String)>,
}

impl Report {
    /// Appends another report.
    pub(crate) fn append(&mut self, other: Self) {
        self.fields.extend(other.fields);
        self.rows.extend(other.rows);
    }

    /// Adds a field for programs only.
    pub(crate) fn field(&mut self, field: &'static str, value: impl Into<Value>) {
        self.fields.push((field, value.into()));
    }

    /// Adds a row for people only.
    pub(crate) fn row(&mut self, name: impl Into<String>, words: impl Into<String>) {
        self.rows.push((name.into(), printable(&words.into())));
    }

    /// Adds a row for people only, if there is one.
    pub(crate) fn row_if_any(&mut self, name: &str, words: Option<String>) {
        if let Some(words) = words {
            self.row(name, words);
        }
    }

    /// Adds the same text for both.
    pub(crate) fn text(&mut self, field: &'static str, name: &str, text: &str) {
        self.field(field, text);
        self.row(name, text);
    }

    /// Adds a number.
    pub(crate) fn number(&mut self, field: &'static str, name: &str, number: u64) {
        self.field(field, number);
        self.row(name, grouped(number));
    }

    /// Adds a number of bytes.
    pub(crate) fn bytes(&mut self, field: &'static str, name: &str, bytes: u64) {
        self.field(field, bytes);
        self.row(name, size(bytes));
    }

    /// Adds a measure, if it is known, and its text.
    pub(crate) fn measure(
        &mut self,
        field: &'static str,
        name: &str,
        value: impl Into<Option<f64>>,
        words: impl Fn(f64) -> String,
    ) {
        let value = value.into();
        self.field(field, value);
        self.row(name, known(value, words));
    }

    /// The table, or the JSON object on several lines.
    pub(crate) fn print_as(&self, format: ReportFormat) -> String {
        match format {
            ReportFormat::Text => self.table(),
            ReportFormat::Json => serde_json::to_string_pretty(self).unwrap_or_default() + "\n",
        }
    }

    /// The table: names on the left, values on the right.
    pub(crate) fn table(&self) -> String {
        let widest = |column: fn(&(String, String)) -> usize| {
            self.rows.iter().map(column).max().unwrap_or(0)
        };
        let (left, right) = (widest(|row| row.0.len()), widest(|row| row.1.len()));
        let line = |(name, words): &(String, String)| format!("{name:left$}  {words:>right$}\n");
        self.rows.iter().map(line).collect()
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.fields.iter().map(|(field, value)| (field, value)))
    }
}

/// Text from a file or a file name, with control characters escaped: a terminal would obey them, and a newline could
/// forge a line.
pub(crate) fn printable(text: &str) -> String {
    let escaped = |letter: char| {
        if letter.is_control() { letter.escape_default().to_string() } else { letter.into() }
    };
    text.chars().map(escaped).collect()
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
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
    fn tables_are_aligned() {
        let mut report = Report::default();
        report.number("a", "a", 1);
        report.number("b", "bcd", 23);
        assert_eq!(report.print_as(ReportFormat::Text), "a     1\nbcd  23\n");
    }

    #[test]
    fn a_name_cannot_forge_a_row_or_command_the_terminal() {
        let mut report = Report::default();
        report.text("file", "file", "a\u{1b}]0;x\u{7}\nitems  7");
        let escaped = "file  a\\u{1b}]0;x\\u{7}\\nitems  7\n";
        assert_eq!(report.print_as(ReportFormat::Text), escaped);
    }

    #[test]
    fn what_is_not_known_is_null() {
        let mut report = Report::default();
        report.measure("load", "load", None, |_| String::new());
        report.measure("rate", "rate", 0.5, |rate| rate.to_string());
        assert_eq!(serde_json::to_string(&report).unwrap(), r#"{"load":null,"rate":0.5}"#);
        assert_eq!(report.table(), "load  unknown\nrate      0.5\n");
    }

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

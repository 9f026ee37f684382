//! What there is to say of something: a table for people, and a JSON object for programs.

use crate::terminal::text::{grouped, known, printable, size};
use serde::{Serialize, Serializer};
use serde_json::Value;

/// How to print figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportFormat {
    /// A table for people.
    Text,
    /// JSON.
    Json,
}

/// Figures in the order in which the table shows them. The names of the fields are part of the program's
/// interface; `docs/json.md` documents them.
#[derive(Debug, Default)]
pub(crate) struct Report {
    fields: Vec<(&'static str, Value)>,
    rows: Vec<(String, String)>,
}

impl Report {
    /// All of another one.
    pub(crate) fn append(&mut self, other: Self) {
        self.fields.extend(other.fields);
        self.rows.extend(other.rows);
    }

    /// For programs alone.
    pub(crate) fn field(&mut self, field: &'static str, value: impl Into<Value>) {
        self.fields.push((field, value.into()));
    }

    /// For people alone.
    pub(crate) fn row(&mut self, name: impl Into<String>, words: impl Into<String>) {
        self.rows.push((name.into(), printable(&words.into()).into_owned()));
    }

    /// For people alone, where there is something to say.
    pub(crate) fn row_if_any(&mut self, name: &str, words: Option<String>) {
        if let Some(words) = words {
            self.row(name, words);
        }
    }

    /// The same text for both.
    pub(crate) fn text(&mut self, field: &'static str, name: &str, text: &str) {
        self.field(field, text);
        self.row(name, text);
    }

    /// A number of things.
    pub(crate) fn number(&mut self, field: &'static str, name: &str, number: u64) {
        self.field(field, number);
        self.row(name, grouped(number));
    }

    /// A number of bytes.
    pub(crate) fn bytes(&mut self, field: &'static str, name: &str, bytes: u64) {
        self.field(field, bytes);
        self.row(name, size(bytes));
    }

    /// A measure, if it is known, and how it is said.
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

    /// The table, or the object on several lines.
    pub(crate) fn print_as(&self, format: ReportFormat) -> String {
        match format {
            ReportFormat::Text => self.table(),
            ReportFormat::Json => serde_json::to_string_pretty(self).unwrap_or_default() + "\n",
        }
    }

    /// Names to the left, words to the right.
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
}

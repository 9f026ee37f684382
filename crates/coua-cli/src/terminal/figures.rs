//! Figures about a run, on standard error: `--stats`.

use crate::terminal::message::Failure;
use crate::terminal::stream::Stream;
use crate::terminal::text::{grouped, known, percent, significant, size};
use coua::window::Generations;
use serde::Serialize;
use std::io::{self, Write};

/// How to print figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// A table for people.
    Text,
    /// JSON.
    Json,
}

/// Figures about a run. The names of the fields are part of the program's interface; `docs/json.md`
/// documents them.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Figures {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    #[serde(flatten)]
    pub(crate) answers: Answers,
    pub(crate) without_key: u64,
    #[serde(flatten)]
    pub(crate) filter: FilterFigures,
    pub(crate) seconds: f64,
}

/// What a command answered; each has its own.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Answers {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unique: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repeats: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) added: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) removed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) found: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_found: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expected_wrongly_dropped: Option<f64>,
}

/// The filter at the end of the run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct FilterFigures {
    pub(crate) items: u64,
    /// None, as the others: it is on a server, and in another module's layout.
    pub(crate) load: Option<f64>,
    pub(crate) bits_per_item: f64,
    pub(crate) memory_bytes: u64,
    pub(crate) hash_bits: Option<f64>,
    pub(crate) false_positive_rate: Option<f64>,
    /// What a window has done.
    #[serde(flatten)]
    pub(crate) window: Option<WindowFigures>,
}

/// What only filters that forget have.
#[derive(Debug, Serialize)]
pub(crate) struct WindowFigures {
    max_items: Option<u64>,
    rate_at_max_items: Option<f64>,
    generations: usize,
    forgotten: u64,
    outdated: u64,
}

impl From<&Generations> for FilterFigures {
    fn from(filter: &Generations) -> Self {
        let memory_bytes = filter.memory_bytes() as u64;
        let max_items = Some(filter.max_items()).filter(|items| *items != u64::MAX);
        Self {
            items: filter.len(),
            load: Some(filter.load()),
            bits_per_item: 8.0 * memory_bytes as f64 / filter.len().max(1) as f64,
            memory_bytes,
            hash_bits: Some(filter.hash_bits()),
            false_positive_rate: Some(filter.false_positive_rate()),
            window: filter.window().map(|_| WindowFigures {
                max_items,
                rate_at_max_items: max_items.map(|items| items as f64 / filter.hash_bits().exp2()),
                generations: filter.generations().count(),
                forgotten: filter.forgotten(),
                outdated: filter.outdated(),
            }),
        }
    }
}

impl Figures {
    /// Prints the figures. They were asked for: that they cannot be written is an error.
    pub(crate) fn print(&self, format: Format) -> Result<(), Failure> {
        let text = match format {
            Format::Text => self.table(),
            Format::Json => serde_json::to_string(self).unwrap_or_default() + "\n",
        };
        let written = io::stderr().lock().write_all(text.as_bytes());
        written.map_err(|error| Failure::write(Stream::Error.name(), &error))
    }

    fn table(&self) -> String {
        let mut table = Table::default();
        table.row("records", grouped(self.records));
        table.row("bytes", size(self.bytes));
        let answers = &self.answers;
        for (name, number) in [
            ("unique", answers.unique),
            ("repeats", answers.repeats),
            ("added", answers.added),
            ("removed", answers.removed),
            ("found", answers.found),
            ("not found", answers.not_found),
            ("without key", Some(self.without_key).filter(|number| *number > 0)),
        ] {
            if let Some(number) = number {
                table.row(name, grouped(number));
            }
        }
        if let Some(expected) = answers.expected_wrongly_dropped {
            table.row("expected wrongly dropped", significant(expected));
        }
        let filter = &self.filter;
        table.row("items in filter", grouped(filter.items));
        table.row("load", percent(filter.load));
        table.row("bits per item", format!("{:.1}", filter.bits_per_item));
        table.row("memory", size(filter.memory_bytes));
        table.row("hash bits", known(filter.hash_bits, significant));
        table.row("false-positive rate", known(filter.false_positive_rate, significant));
        if let Some(window) = &filter.window {
            if let Some(rate) = window.rate_at_max_items {
                table.row("max items", window.max_items.map_or_else(String::new, grouped));
                table.row("false-positive rate at max items", significant(rate));
            }
            table.row("generations", grouped(window.generations as u64));
            table.row("items forgotten", grouped(window.forgotten));
            table.row("records too old", grouped(window.outdated));
        }
        table.row("seconds", format!("{:.3}", self.seconds));
        table.text()
    }
}

/// Names and values, aligned.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<(String, String)>,
}

impl Table {
    pub(crate) fn row(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.rows.push((name.into(), value.into()));
    }

    /// Names to the left, values to the right.
    pub(crate) fn text(&self) -> String {
        let widest = |column: fn(&(String, String)) -> usize| {
            self.rows.iter().map(column).max().unwrap_or(0)
        };
        let (left, right) = (widest(|row| row.0.len()), widest(|row| row.1.len()));
        let line = |(name, value): &(String, String)| format!("{name:left$}  {value:>right$}\n");
        self.rows.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_the_documented_names() {
        let figures = Figures {
            answers: Answers { unique: Some(3), ..Answers::default() },
            ..Figures::default()
        };
        let json: serde_json::Value = serde_json::to_value(&figures).unwrap();
        let names: Vec<&String> = json.as_object().unwrap().keys().collect();
        assert_eq!(
            names,
            [
                "bits_per_item",
                "bytes",
                "false_positive_rate",
                "hash_bits",
                "items",
                "load",
                "memory_bytes",
                "records",
                "seconds",
                "unique",
                "without_key",
            ]
        );
    }

    #[test]
    fn tables_are_aligned() {
        let mut table = Table::default();
        table.row("a", "1");
        table.row("bcd", "23");
        assert_eq!(table.text(), "a     1\nbcd  23\n");
    }
}

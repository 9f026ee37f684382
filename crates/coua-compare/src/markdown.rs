//! Tables that can be pasted into a document and read as they stand.

use std::fmt;

use crate::measure::Summary;

/// A Markdown table with columns as wide as they need.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With these column heads.
    pub(crate) fn new<S: Into<String>>(heads: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![heads.into_iter().map(Into::into).collect()] }
    }

    /// Appends a row.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<String>, column| row.get(column).cloned().unwrap_or_default();
        let widths: Vec<usize> = (0..columns)
            .map(|column| self.rows.iter().map(|row| cell(row, column).len()).max().unwrap_or(0))
            .collect();
        for (place, row) in self.rows.iter().enumerate() {
            for (column, width) in widths.iter().enumerate() {
                write!(out, "| {:width$} ", cell(row, column))?;
            }
            writeln!(out, "|")?;
            if place == 0 {
                widths.iter().try_for_each(|width| write!(out, "|{}", "-".repeat(width + 2)))?;
                writeln!(out, "|")?;
            }
        }
        Ok(())
    }
}

/// Median, half the spread, ratio: `12.3 +-4 % x1.40`.
pub(crate) fn cell(summary: Option<&Summary>) -> String {
    let Some(summary) = summary else {
        return "-".into();
    };
    let ratio = summary.ratio.map_or(String::new(), |ratio| format!(" x{ratio:.2}"));
    format!("{} +-{:.0} %{ratio}", short(summary.median), summary.spread_percent())
}

/// Three significant digits.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        small if small < 1e-2 => format!("{value:.1e}"),
        small if small < 0.1 => format!("{value:.3}"),
        small if small < 1.0 => format!("{value:.2}"),
        small if small < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// Thousands set apart: 10,000,000.
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

#[cfg(test)]
mod tests {
    use super::{Table, cell, grouped, short};
    use crate::measure::Summary;

    #[test]
    fn a_table_is_aligned_markdown() {
        let mut table = Table::new(["name", "ns"]);
        table.row(["a", "1234"]);
        assert_eq!(table.to_string(), "| name | ns   |\n|------|------|\n| a    | 1234 |\n");
    }

    #[test]
    fn figures_have_the_digits_that_mean_something() {
        assert_eq!(cell(None), "-");
        let summary = Summary { median: 12.345, low: 12.0, high: 13.0, ratio: Some(1.5) };
        assert_eq!(cell(Some(&summary)), "12.3 +-4 % x1.50");
        assert_eq!(
            [7, 1000, 123_456, 10_000_000].map(grouped),
            ["7", "1,000", "123,456", "10,000,000"]
        );
        assert_eq!([0.0, 0.000_12, 0.5, 123.4].map(short), ["0", "1.2e-4", "0.50", "123"]);
    }
}

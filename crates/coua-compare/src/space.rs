//! Bits per key against the false-positive rate they buy.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::chart::{Axis, Chart, Scale, Series};
use crate::contestant::{Contestant, Entry, Plan, Way};
use crate::host::{self, Circumstances};
use crate::keys::Row;
use crate::markdown::{Table, short};
use crate::measure::timed;
use crate::output::{Failure, save};
use crate::peers::chosen;

/// Bits per key against the measured rate, with the limit that no filter can go below.
#[derive(Debug, clap::Args)]
pub(crate) struct Space {
    /// Items to insert. The powers of two that many peers round up to lie just above 996,000.
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    items: u64,
    /// The false-positive rates to ask for.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0.03,0.01,0.001,0.0001,0.00001",
        value_name = "P,..."
    )]
    rates: Vec<f64>,
    /// Only contestants whose name contains one of these words, beside Coua.
    #[arg(long, value_delimiter = ',', value_name = "WORD,...")]
    only: Vec<String>,
    /// Where JSON and the plot go.
    #[arg(long, default_value = "target/compare", value_name = "DIR")]
    out: PathBuf,
}

/// Points above are in the table only.
const MOST_BITS: f64 = 45.0;

#[derive(Clone, Copy, Debug, Serialize)]
struct Point {
    asked: f64,
    measured: f64,
    bits_per_key: f64,
}

#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    points: Vec<Point>,
}

#[derive(Debug, Serialize)]
struct Sheet {
    circumstances: Circumstances,
    items: u64,
    lines: Vec<Line>,
}

impl Space {
    /// Measures, prints, writes `space.json` and `space.svg`.
    ///
    /// # Errors
    ///
    /// If a contestant cannot be made, or results cannot be written.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let circumstances = Circumstances::now();
        let mut entries = chosen::<u64>(&self.only);
        // The single calls and the batches of one filter take the same memory.
        entries.retain(|entry| entry.fixed.is_some() && !entry.twin);
        let mut lines = Vec::new();
        for entry in &entries {
            eprintln!("{}: {}", self.items, entry.name);
            let points: Result<_, String> =
                self.rates.iter().map(|&rate| self.point(entry, rate)).collect();
            let points = points.map_err(|why| Failure::of(entry.name, &why))?;
            lines.push(Line { name: entry.name, points });
        }
        let sheet = Sheet { circumstances, items: self.items, lines };
        println!("{}\n{sheet}", sheet.circumstances.markdown());
        save(&self.out, "space", &sheet)?;
        sheet.chart().save(&self.out.join("space.svg"))
    }

    fn point(&self, entry: &Entry<u64>, rate: f64) -> Result<Point, String> {
        let before = host::allocated();
        let make = entry.make(Way::Stated).ok_or("it only grows")?;
        let mut filter: Box<dyn Contestant<u64>> = make(Plan { items: self.items, rate })?;
        let mut refused = Vec::new();
        timed(Row::Present.keys(0..self.items), |block| {
            filter.insert(block, &mut refused);
        });
        filter.seal();
        let counted = host::allocated().saturating_sub(before);
        let bytes = filter.memory_bytes().unwrap_or(counted);
        // About a thousand wrong answers, where that does not take too long.
        let strangers = (1000.0 / rate).clamp(100_000.0, 100_000_000.0) as u64;
        let mut found = 0;
        timed(Row::Absent.keys(0..strangers), |block| {
            found += filter.contains(block);
        });
        Ok(Point {
            asked: rate,
            measured: found as f64 / strangers as f64,
            bits_per_key: bytes as f64 * 8.0 / (self.items - refused.len() as u64) as f64,
        })
    }
}

impl Sheet {
    fn chart(&self) -> Chart {
        let mut series: Vec<Series> = self.lines.iter().map(Line::series).collect();
        let limit = |exponent: i32| (f64::from(exponent), f64::from(exponent));
        series.push(Series {
            name: "limit: log2(1/rate)".into(),
            points: (4..=18).map(limit).collect(),
        });
        Chart {
            title: format!("Memory for a false-positive rate, {} items", self.items),
            x: Axis { label: "log2(1 / measured rate)", scale: Scale::Linear },
            y: Axis { label: "bits per key", scale: Scale::Linear },
            series,
        }
    }
}

impl Line {
    fn series(&self) -> Series {
        // Exact sets have no rate to show, and what takes many times the others' memory would press
        // them together.
        let shown = |point: &&Point| point.measured > 0.0 && point.bits_per_key < MOST_BITS;
        let honest = self.points.iter().filter(shown);
        let points = honest.map(|point| (-point.measured.log2(), point.bits_per_key)).collect();
        Series { name: self.name.into(), points }
    }
}

impl fmt::Display for Sheet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "### Memory: {} u64 keys\n", self.items)?;
        let mut table =
            Table::new(["contestant", "rate asked", "measured", "bits/key", "above the limit"]);
        for line in &self.lines {
            for point in &line.points {
                let above = point.bits_per_key + point.measured.log2();
                table.row([
                    line.name.to_owned(),
                    short(point.asked),
                    short(point.measured),
                    short(point.bits_per_key),
                    if above.is_finite() { short(above) } else { "-".into() },
                ]);
            }
        }
        writeln!(out, "{table}")
    }
}

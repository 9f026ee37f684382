//! Bits per key against the false-positive rate they buy.

mod planned;

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::chart::{Axis, Chart, Scale, Series};
use crate::contestant::{Contestant, Entry, Plan, Way};
use crate::host::{self, Circumstances};
use crate::keys::Row;
use crate::markdown::{Table, grouped, short};
use crate::measure::timed;
use crate::output::{Failure, Report};
use crate::terms::Terms;
use planned::Planned;

/// Bits per key against the measured rate, with the limit that no filter can go below.
#[derive(Debug, clap::Args)]
pub(crate) struct Space {
    /// Items to insert. The powers of two that many peers round up to lie just above 996,000.
    #[arg(long, default_value_t = 1_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    items: u64,
    /// The false-positive rates to ask for.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0.03,0.01,0.001,0.0001,0.00001",
        value_name = "P,..."
    )]
    rates: Vec<f64>,
    /// Items of Coua's filters whose memory is compared with the plan; 0: none. With few, whole huge
    /// pages weigh more than what is in them.
    #[arg(long, default_value_t = 100_000_000, value_name = "N")]
    planned_items: u64,
    #[command(flatten)]
    terms: Terms,
}

/// Points above are in the table only.
const MOST_BITS: f64 = 45.0;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Point {
    asked: f64,
    measured: f64,
    bits_per_key: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    name: String,
    points: Vec<Point>,
}

/// All contestants at one size, and Coua's memory beside its plans.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sheet {
    items: u64,
    lines: Vec<Line>,
    planned_items: u64,
    planned: Vec<Planned>,
}

impl Space {
    /// Measures, prints, writes `space-ITEMS.json` and the plot. Memory does not vary: one round.
    ///
    /// # Errors
    ///
    /// If a contestant cannot be made, or results cannot be written.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let circumstances = Circumstances::now();
        let told = |why: coua::BuildError| Failure::of("a filter as planned", &why);
        let planned = match self.planned_items {
            0 => Vec::new(),
            items => planned::measure(items).map_err(told)?,
        };
        // The single calls and the batches of one filter take the same memory.
        let fits = |entry: &Entry<u64>| entry.fixed.is_some() && !entry.twin;
        let (entries, _) = self.terms.entries::<u64>(self.items, fits);
        let mut lines = Vec::new();
        for entry in &entries {
            eprintln!("{}: {}", self.items, entry.name);
            let points: Result<_, String> =
                self.rates.iter().map(|&rate| self.point(entry, rate)).collect();
            let points = points.map_err(|why| Failure::of(entry.name, &why))?;
            lines.push(Line { name: entry.name.to_owned(), points });
        }
        let sheet = Sheet { items: self.items, lines, planned_items: self.planned_items, planned };
        let report = Report { circumstances, sheet };
        println!("{report}");
        report.save(&self.terms.out, &format!("space-{}", self.items))?;
        report.sheet.draw(&self.terms.out)
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
    /// Draws bits per key against the rate.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub(crate) fn draw(&self, directory: &Path) -> Result<(), Failure> {
        self.chart().save(&directory.join(format!("space-{}.svg", self.items)))
    }

    fn chart(&self) -> Chart {
        let mut series: Vec<Series> = self.lines.iter().map(Line::series).collect();
        let limit = |exponent: i32| (f64::from(exponent), f64::from(exponent));
        series.push(Series {
            name: "limit: log2(1/rate)".into(),
            points: (4..=19).map(limit).collect(),
        });
        Chart {
            title: format!("Memory for a false-positive rate, {} items", grouped(self.items)),
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
        Series { name: self.name.clone(), points }
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
                    line.name.clone(),
                    short(point.asked),
                    short(point.measured),
                    short(point.bits_per_key),
                    if above.is_finite() { short(above) } else { "-".into() },
                ]);
            }
        }
        writeln!(out, "{table}")?;
        if self.planned.is_empty() {
            return Ok(());
        }
        writeln!(out, "### Coua's memory beside the plan: {} u64 keys\n", self.planned_items)?;
        writeln!(out, "{}", planned::table(&self.planned))
    }
}

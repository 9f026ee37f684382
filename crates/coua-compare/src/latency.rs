//! Single calls, each by itself: how long the usual one takes, and the rare one.

use std::collections::BTreeMap;
use std::fmt;
use std::hint::black_box;
use std::time::Instant;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::contestant::{Entry, Plan, Way};
use crate::host::Circumstances;
use crate::keys::Row;
use crate::markdown::{Table, short};
use crate::measure::{median, timed};
use crate::output::{Failure, Report};
use crate::terms::{Absent, Terms};
use crate::warmth::{Touches, Warmth};

/// Single calls, each timed by itself.
#[derive(Debug, clap::Args)]
pub(crate) struct Latency {
    /// Items to insert, and then to look up and remove.
    #[arg(long, default_value_t = 10_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    items: u64,
    /// The false-positive rate to ask for, at that many items.
    #[arg(long, default_value_t = 0.001, value_name = "P")]
    rate: f64,
    /// Whether filters have room from the start.
    #[arg(long, value_enum, default_value = "stated")]
    way: Way,
    #[command(flatten)]
    terms: Terms,
}

/// The quantiles that are told; the last is the longest call.
const QUANTILES: [(&str, f64); 5] =
    [("median", 0.5), ("99 %", 0.99), ("99.9 %", 0.999), ("99.99 %", 0.9999), ("longest", 1.0)];

/// Calls, in the order of a filter's life.
const CALLS: [&str; 4] = ["insert", "present", "absent", "remove"];

type Quantiles = [f64; QUANTILES.len()];

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    name: String,
    /// Nanoseconds by call: medians of the rounds; of the longest calls the least.
    nanoseconds: BTreeMap<String, Quantiles>,
}

/// All contestants at one size.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sheet {
    items: u64,
    rate: f64,
    way: Way,
    rounds: u32,
    /// What reading the clock takes; part of every figure.
    clock_nanoseconds: f64,
    lines: Vec<Line>,
    absent: Absent,
    /// What new memory costs.
    #[serde(default)]
    touches: Option<Touches>,
}

impl Latency {
    /// Measures, prints, writes `latency-WAY-ITEMS.json`.
    ///
    /// # Errors
    ///
    /// If a contestant cannot be made, or results cannot be written.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let circumstances = Circumstances::now();
        let fits = |entry: &Entry<u64>| !entry.batched && entry.make(self.way).is_some();
        let (entries, absent) = self.terms.entries::<u64>(self.items, fits);
        let mut warmth = Warmth::default();
        let mut all: Vec<BTreeMap<&str, Vec<Quantiles>>> = vec![BTreeMap::new(); entries.len()];
        for round in 1..=self.terms.rounds {
            for (entry, rounds) in entries.iter().zip(&mut all) {
                eprintln!("{}, round {round} of {}: {}", self.items, self.terms.rounds, entry.name);
                let life =
                    self.life(entry, &mut warmth).map_err(|why| Failure::of(entry.name, &why))?;
                for (call, quantiles) in life {
                    rounds.entry(call).or_default().push(quantiles);
                }
            }
        }
        let line = |(entry, rounds): (&Entry<u64>, &BTreeMap<&str, Vec<Quantiles>>)| Line {
            name: entry.name.to_owned(),
            nanoseconds: rounds
                .iter()
                .map(|(call, rounds)| ((*call).to_owned(), summary(rounds)))
                .collect(),
        };
        let sheet = Sheet {
            items: self.items,
            rate: self.rate,
            way: self.way,
            rounds: self.terms.rounds,
            clock_nanoseconds: clock(),
            lines: entries.iter().zip(&all).map(line).collect(),
            absent,
            touches: warmth.touches(),
        };
        let report = Report { circumstances, sheet };
        println!("{report}");
        let name = format!("latency-{:?}-{}", self.way, self.items).to_lowercase();
        report.save(&self.terms.out, &name)
    }

    fn life(
        &self,
        entry: &Entry<u64>,
        warmth: &mut Warmth,
    ) -> Result<Vec<(&'static str, Quantiles)>, String> {
        let make = entry.make(self.way).ok_or("it does not fill in that way")?;
        let plan = Plan { items: self.items, rate: self.rate };
        warmth.begin(entry, plan);
        let mut filter = make(plan)?;
        let filter = filter.as_mut();
        let mut life = Vec::new();
        let mut refused = Vec::new();
        life.push((
            CALLS[0],
            each(Row::Present, self.items, Some(warmth), |key| {
                filter.insert(key, &mut refused);
            }),
        ));
        filter.seal();
        for (call, row) in [(CALLS[1], Row::Present), (CALLS[2], Row::Absent)] {
            let look = |key: &[u64]| {
                black_box(filter.contains(key));
            };
            life.push((call, each(row, self.items, None, look)));
        }
        if filter.remove(&[]).is_some() {
            let take = |key: &[u64]| {
                black_box(filter.remove(key));
            };
            life.push((CALLS[3], each(Row::Present, self.items, None, take)));
        }
        Ok(life)
    }
}

/// Calls `work` for each key of the row, and tells the quantiles of its duration. Memory is kept warm for
/// what takes more and more of it.
fn each(
    row: Row,
    keys: u64,
    mut warmth: Option<&mut Warmth>,
    mut work: impl FnMut(&[u64]),
) -> Quantiles {
    // Two digits, up to a minute.
    let mut histogram =
        Histogram::<u64>::new_with_max(60_000_000_000, 2).expect("these bounds are allowed");
    timed(row.keys::<u64>(0..keys), |block| {
        if let Some(warmth) = &mut warmth {
            warmth.keep();
        }
        for key in block {
            let start = Instant::now();
            work(std::slice::from_ref(key));
            histogram.saturating_record(start.elapsed().as_nanos() as u64);
        }
    });
    QUANTILES.map(|(_, quantile)| histogram.value_at_quantile(quantile) as f64)
}

/// What an empty call takes by this method.
fn clock() -> f64 {
    each(Row::Present, 100_000, None, |key| {
        black_box(key);
    })[0]
}

/// Medians over the rounds; of the longest the least, since pauses that the system makes only add.
fn summary(rounds: &Vec<Quantiles>) -> Quantiles {
    let mut places = 0..;
    QUANTILES.map(|(_, quantile)| {
        let place = places.next().unwrap_or(0);
        let values: Vec<f64> = rounds.iter().map(|round: &Quantiles| round[place]).collect();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        if quantile < 1.0 { median(&values) } else { least }
    })
}

impl fmt::Display for Sheet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "### Single calls, {}: {} u64 keys, rate asked {}, {} rounds\n\n\
             ns by the clock, of which reading the clock is {}.\n",
            self.way.name(),
            self.items,
            self.rate,
            self.rounds,
            short(self.clock_nanoseconds)
        )?;
        let mut table =
            Table::new(["contestant", "call"].into_iter().chain(QUANTILES.map(|(name, _)| name)));
        for line in &self.lines {
            for call in CALLS {
                if let Some(quantiles) = line.nanoseconds.get(call) {
                    let names = [line.name.clone(), call.to_owned()];
                    table.row(names.into_iter().chain(quantiles.map(short)));
                }
            }
        }
        writeln!(out, "{table}")?;
        if let Some(touches) = self.touches {
            writeln!(out, "{touches}\n")?;
        }
        for (name, reason) in &self.absent {
            writeln!(out, "- {name}: not run, {reason}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{each, summary};
    use crate::keys::Row;

    #[test]
    fn the_rare_long_call_is_seen() {
        let mut calls = 0;
        let quantiles = each(Row::Present, 1000, None, |_| {
            calls += 1;
            if calls == 500 {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        });
        assert_eq!(calls, 1000);
        assert!(quantiles.is_sorted() && quantiles[4] >= 2e6);
    }

    #[test]
    fn rounds_give_medians_and_the_least_longest() {
        let rounds = vec![[1.0; 5], [5.0; 5], [9.0; 5]];
        let expected = [5.0, 5.0, 5.0, 5.0, 1.0f64];
        let found = summary(&rounds);
        assert!(found.iter().zip(expected).all(|(found, wanted)| (found - wanted).abs() < 1e-9));
    }
}

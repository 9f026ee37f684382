//! What inserts cost as a filter fills, and as it grows.

mod course;
mod plot;
mod sheet;

use std::path::PathBuf;

use serde::Serialize;

use crate::contestant::{Entry, Family, Make, Plan, Way};
use crate::host::Circumstances;
use crate::keys::Key;
use crate::output::{Failure, save};
use crate::peers::{REFERENCE, chosen};
use course::{Course, longest, windows};
use sheet::{Rounds, Sheet};

/// Insert cost against load; cost, longest insert and memory while growing.
#[derive(Debug, clap::Args)]
pub(crate) struct Growth {
    /// Items to insert.
    #[arg(long, default_value_t = 10_000_000, value_name = "N")]
    items: u64,
    /// The false-positive rate to ask for, at that many items.
    #[arg(long, default_value_t = 0.0001, value_name = "P")]
    rate: f64,
    /// Rounds; each runs every contestant once.
    #[arg(long, default_value_t = 3, value_name = "N")]
    rounds: usize,
    /// Only contestants whose name contains one of these words, beside Coua.
    #[arg(long, value_delimiter = ',', value_name = "WORD,...")]
    only: Vec<String>,
    /// Contestants that would take more are not run.
    #[arg(long, default_value_t = 8, value_name = "GIB")]
    memory_limit: u64,
    /// Where JSON and plots go.
    #[arg(long, default_value = "target/compare", value_name = "DIR")]
    out: PathBuf,
}

#[derive(Serialize)]
struct Report<'a> {
    circumstances: &'a Circumstances,
    sheets: [&'a Sheet; 2],
}

/// Contestants that fill in the same way.
struct Field {
    way: Way,
    entries: Vec<(Entry<u64>, Make<u64>)>,
    rounds: Vec<Rounds>,
    absent: Vec<(&'static str, String)>,
}

impl Growth {
    /// Measures, prints, writes `growth.json` and the plots.
    ///
    /// # Errors
    ///
    /// If a contestant cannot be made, or results cannot be written.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let circumstances = Circumstances::now();
        let (mut fixed, mut growing) = (self.field(Way::Stated), self.field(Way::Growing));
        for round in 1..=self.rounds {
            for field in [&mut fixed, &mut growing] {
                self.round(round, field)?;
            }
        }
        let sheets = [self.sheet(&fixed, &fixed), self.sheet(&growing, &fixed)];
        println!("{}", circumstances.markdown());
        for sheet in &sheets {
            println!("{sheet}");
        }
        let report = Report { circumstances: &circumstances, sheets: [&sheets[0], &sheets[1]] };
        save(&self.out, "growth", &report)?;
        sheets.iter().try_for_each(|sheet| sheet.draw(&self.out))
    }

    fn field(&self, way: Way) -> Field {
        let mut field = Field { way, entries: Vec::new(), rounds: Vec::new(), absent: Vec::new() };
        for entry in chosen::<u64>(&self.only) {
            let Some(make) = entry.make(way) else {
                continue;
            };
            if let Some(reason) = entry.excuse(self.items, self.memory_limit << 30) {
                field.absent.push((entry.name, reason));
                continue;
            }
            field.rounds.push(Rounds {
                name: entry.name,
                remark: entry.remark,
                fills_up: matches!(entry.family, Family::Cuckoo | Family::Quotient),
                courses: Vec::new(),
                longest: Vec::new(),
                group: u64::BLOCK as u64,
            });
            field.entries.push((entry, make));
        }
        field
    }

    fn round(&self, round: usize, field: &mut Field) -> Result<(), Failure> {
        let plan = Plan { items: self.items, rate: self.rate };
        let ends = windows(self.items, field.way);
        let way = match field.way {
            Way::Growing => "growing",
            Way::Stated => "at capacity",
        };
        for ((entry, make), rounds) in field.entries.iter().zip(&mut field.rounds) {
            eprintln!("{} {way}, round {round} of {}: {}", self.items, self.rounds, entry.name);
            let told = |why: String| Failure::of(entry.name, &why);
            rounds.courses.push(Course::run(*make, plan, &ends).map_err(told)?);
            if field.way == Way::Growing && !entry.batched {
                rounds.add_longest(longest(*make, plan).map_err(told)?);
            }
        }
        Ok(())
    }

    /// Growth is related to the same contestant at a stated capacity, that to Coua.
    fn sheet(&self, field: &Field, fixed: &Field) -> Sheet {
        let ends = windows(self.items, field.way);
        let times = |name| Some(fixed.rounds.iter().find(|rounds| rounds.name == name)?.means());
        let line = |rounds: &Rounds| {
            let same = field.way == Way::Growing;
            let base = times(if same { rounds.name } else { REFERENCE });
            rounds.line(&ends, base.as_deref())
        };
        Sheet {
            way: field.way,
            items: self.items,
            rate: self.rate,
            lines: field.rounds.iter().filter_map(line).collect(),
            absent: field.absent.clone(),
        }
    }
}

//! What inserts cost as a filter fills, and as it grows.

mod course;
mod plot;
mod sheet;

use crate::contestant::{Entry, Family, Make, Plan, Way};
use crate::host::Circumstances;
use crate::keys::Key;
use crate::output::{Failure, Report};
use crate::peers::REFERENCE;
use crate::terms::{Absent, Terms};
use crate::warmth::Warmth;
use course::{Course, longest, windows};
pub(crate) use sheet::Sheet;
use sheet::{Filling, Rounds};

/// Insert cost against load; cost, longest insert and memory while growing.
#[derive(Debug, clap::Args)]
pub(crate) struct Growth {
    /// Items to insert.
    #[arg(long, default_value_t = 10_000_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    items: u64,
    /// The false-positive rate to ask for, at that many items.
    #[arg(long, default_value_t = 0.0001, value_name = "P")]
    rate: f64,
    #[command(flatten)]
    terms: Terms,
}

/// Contestants that fill in the same way.
struct Field {
    way: Way,
    entries: Vec<(Entry<u64>, Make<u64>)>,
    rounds: Vec<Rounds>,
    absent: Absent,
}

impl Growth {
    /// Measures, prints, writes `growth-ITEMS.json` and the plots.
    ///
    /// # Errors
    ///
    /// If a contestant cannot be made, or results cannot be written.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let circumstances = Circumstances::now();
        let mut warmth = Warmth::default();
        let mut fields = [Way::Stated, Way::Ready, Way::Growing].map(|way| self.field(way));
        for round in 1..=self.terms.rounds {
            for field in &mut fields {
                self.round(round, field, &mut warmth)?;
            }
        }
        let fillings = fields.iter().map(|field| self.filling(field, &fields));
        let fillings = fillings.collect();
        let touches = warmth.touches();
        let sheet = Sheet { items: self.items, rate: self.rate, fillings, touches };
        let report = Report { circumstances, sheet };
        println!("{report}");
        report.save(&self.terms.out, &format!("growth-{}", self.items))?;
        report.sheet.draw(&self.terms.out)
    }

    fn field(&self, way: Way) -> Field {
        let fits = |entry: &Entry<u64>| entry.make(way).is_some();
        let (entries, absent) = self.terms.entries::<u64>(self.items, fits);
        let makes = |entry: Entry<u64>| entry.make(way).map(|make| (entry, make));
        let entries: Vec<_> = entries.into_iter().filter_map(makes).collect();
        let rounds = entries.iter().map(|(entry, _)| Rounds {
            name: entry.name,
            remark: entry.remark,
            fills_up: matches!(entry.family, Family::Cuckoo | Family::Quotient),
            courses: Vec::new(),
            longest: Vec::new(),
            group: u64::BLOCK as u64,
        });
        Field { way, rounds: rounds.collect(), entries, absent }
    }

    fn round(&self, round: u32, field: &mut Field, warmth: &mut Warmth) -> Result<(), Failure> {
        let plan = Plan { items: self.items, rate: self.rate };
        let ends = windows(self.items, field.way);
        for ((entry, make), rounds) in field.entries.iter().zip(&mut field.rounds) {
            let (items, of, way) = (self.items, self.terms.rounds, field.way.name());
            eprintln!("{items} {way}, round {round} of {of}: {}", entry.name);
            let told = |why: String| Failure::of(entry.name, &why);
            warmth.begin(entry, plan);
            rounds.courses.push(Course::run(*make, plan, &ends, warmth).map_err(told)?);
            if field.way == Way::Growing && !entry.batched {
                warmth.begin(entry, plan);
                rounds.add_longest(longest(*make, plan, warmth).map_err(told)?);
            }
        }
        Ok(())
    }

    /// Growth is related to the same contestant with room for all items, if possible with the same
    /// hash bits; what does not grow is related to Coua.
    fn filling(&self, field: &Field, fields: &[Field; 3]) -> Filling {
        let ends = windows(self.items, field.way);
        let [stated, ready, _] = fields;
        let times = |field: &Field, name| {
            Some(field.rounds.iter().find(|rounds| rounds.name == name)?.means())
        };
        let base = |rounds: &Rounds| match field.way {
            Way::Growing => times(ready, rounds.name).or_else(|| times(stated, rounds.name)),
            Way::Ready => times(ready, REFERENCE),
            Way::Stated => times(stated, REFERENCE),
        };
        let line = |rounds: &Rounds| rounds.line(&ends, base(rounds).as_deref());
        Filling {
            way: field.way,
            lines: field.rounds.iter().filter_map(line).collect(),
            absent: field.absent.clone(),
        }
    }
}

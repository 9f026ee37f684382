//! Filters beside each other: the same keys, the same work, one run.

mod plot;
mod sheet;
mod turn;

use crate::contestant::{Entry, Plan};
use crate::host::Circumstances;
use crate::keys::{Key, Text};
use crate::machine::Ground;
use crate::output::{Failure, Report};
use crate::terms::{Absent, Terms};
pub(crate) use plot::draw;
pub(crate) use sheet::Sheet;
use sheet::{Limits, Played};
use turn::{Part, Turn};

/// Which kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Keys {
    /// 64-bit integers.
    U64,
    /// Strings of 30 to 80 bytes.
    Strings,
    /// First the one, then the other.
    Both,
}

/// Filters beside each other: insert, look up, remove, memory, rate, lost keys.
///
/// Peers take their memory from malloc, in small pages where the system gives huge ones only on
/// advice. `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` in the environment makes malloc advise them too.
#[derive(Debug, clap::Args)]
pub(crate) struct Filters {
    /// Items to insert; several sizes are measured one after another.
    #[arg(long, value_delimiter = ',', default_value = "1000000", value_name = "N,...", value_parser = clap::value_parser!(u64).range(1..))]
    items: Vec<u64>,
    /// The false-positive rate to ask for.
    #[arg(long, default_value_t = 0.001, value_name = "P")]
    rate: f64,
    /// What keys are.
    #[arg(long, value_enum, default_value = "u64")]
    keys: Keys,
    /// What is measured.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "life,unique,threads",
        value_name = "PART,..."
    )]
    parts: Vec<Part>,
    /// With more than one, inserts and lookups by as many threads are measured too.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    threads: u64,
    #[command(flatten)]
    terms: Terms,
}

impl Filters {
    /// Measures, prints, writes `filters-KEYS-RATE-ITEMS.json` and the plots.
    ///
    /// # Errors
    ///
    /// If results cannot be written, or there is no memory for the machine's own limits.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut sheets = Vec::new();
        for &items in &self.items {
            if self.keys != Keys::Strings {
                sheets.push(self.sheet::<u64>(items)?);
            }
            if self.keys != Keys::U64 {
                sheets.push(self.sheet::<Text>(items)?);
            }
        }
        draw(&self.terms.out, &sheets)
    }

    fn sheet<K: Key>(&self, items: u64) -> Result<Sheet, Failure> {
        let circumstances = Circumstances::now();
        let fits = |entry: &Entry<K>| entry.fixed.is_some();
        let (entries, absent) = self.terms.entries::<K>(items, fits);
        let played =
            |entry: &Entry<K>| Played { name: entry.name, remark: entry.remark, turns: Vec::new() };
        let mut all: Vec<Played> = entries.iter().map(played).collect();
        let mut machine = Limits::new();
        let name = format!("filters-{}-{}-{items}", K::SHORT_NAME, self.rate);
        for round in 1..=self.terms.rounds {
            eprintln!("{items} {}, round {round} of {}", K::NAME, self.terms.rounds);
            self.round(items, &entries, &mut all, &mut machine)?;
            // Saved after each round: a long run that is ended early has left something.
            let sheet = self.summary::<K>(items, &all, &machine, &absent);
            let report = Report { circumstances: circumstances.clone(), sheet };
            report.save(&self.terms.out, &name)?;
        }
        let sheet = self.summary::<K>(items, &all, &machine, &absent);
        let report = Report { circumstances, sheet };
        println!("{report}");
        Ok(report.sheet)
    }

    fn round<K: Key>(
        &self,
        items: u64,
        entries: &[Entry<K>],
        all: &mut [Played],
        machine: &mut Limits,
    ) -> Result<(), Failure> {
        let plan = Plan { items, rate: self.rate };
        for (what, time) in limits(ground_bytes(plan), items.min(20_000_000), self.threads)? {
            machine.entry(what.to_owned()).or_default().push(time);
        }
        for (entry, played) in entries.iter().zip(all) {
            eprintln!("  {}", entry.name);
            let turn = Turn::play(entry, plan, &self.parts, self.threads);
            played.turns.push(turn.map_err(|why| Failure::of(entry.name, &why))?);
        }
        Ok(())
    }

    fn summary<K: Key>(
        &self,
        items: u64,
        all: &[Played],
        machine: &Limits,
        absent: &Absent,
    ) -> Sheet {
        let plan = Plan { items, rate: self.rate };
        Sheet {
            keys: K::NAME.to_owned(),
            items,
            rate: self.rate,
            rounds: all.first().map_or(0, |played| played.turns.len()),
            threads: self.threads,
            ground_bytes: ground_bytes(plan),
            machine: sheet::machine(machine),
            lines: sheet::lines(plan, all, machine),
            absent: absent.clone(),
        }
    }
}

/// As much memory as Coua plans for the same.
fn ground_bytes(plan: Plan) -> u64 {
    let layout = coua::Layout::Buckets;
    coua::sizing::CuckooPlan::for_rate(plan.items, plan.rate, layout, 4)
        .map_or(plan.items * 2, |plan| plan.bytes)
}

/// What two buckets a key cost if nothing but the memory were slow.
const TWO_LINES: &str = "two random lines a key";

fn limits(bytes: u64, keys: u64, threads: u64) -> Result<Vec<(&'static str, f64)>, Failure> {
    let ground = Ground::new(bytes).map_err(|why| Failure::of("memory", &why))?;
    let mut limits = vec![
        ("one random line a key", ground.fetch::<1>(keys, 1)),
        (TWO_LINES, ground.fetch::<2>(keys, 1)),
    ];
    if threads > 1 {
        limits.push(("two random lines a key, threads", ground.fetch::<2>(keys, threads)));
    }
    Ok(limits)
}

//! Filters beside each other: the same keys, the same work, one run.

mod plot;
mod sheet;
mod turn;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::contestant::{Entry, Plan};
use crate::host::Circumstances;
use crate::keys::{Key, Text};
use crate::machine::Ground;
use crate::measure::Summary;
use crate::output::{Failure, save};
use crate::peers;
use sheet::{Played, Sheet};
use turn::Turn;

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
    #[arg(long, value_delimiter = ',', default_value = "1000000", value_name = "N,...")]
    items: Vec<u64>,
    /// The false-positive rate to ask for.
    #[arg(long, default_value_t = 0.001, value_name = "P")]
    rate: f64,
    /// What keys are.
    #[arg(long, value_enum, default_value = "u64")]
    keys: Keys,
    /// Rounds; each runs every contestant once.
    #[arg(long, default_value_t = 5, value_name = "N")]
    rounds: usize,
    /// With more than one, inserts and lookups by as many threads are measured too.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    threads: u64,
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
    sheets: &'a [Sheet],
}

/// What the machine's own limits were, round by round.
type Limits = BTreeMap<&'static str, Vec<f64>>;

impl Filters {
    /// Measures, prints, writes `filters.json` and the plots.
    ///
    /// # Errors
    ///
    /// If results cannot be written, or there is no memory for the machine's own limits.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let circumstances = Circumstances::now();
        let mut sheets = Vec::new();
        for &items in &self.items {
            if self.keys != Keys::Strings {
                sheets.push(self.sheet::<u64>(items)?);
            }
            if self.keys != Keys::U64 {
                sheets.push(self.sheet::<Text>(items)?);
            }
        }
        println!("{}", circumstances.markdown());
        for sheet in &sheets {
            println!("{sheet}");
        }
        save(&self.out, "filters", &Report { circumstances: &circumstances, sheets: &sheets })?;
        plot::draw(&self.out, &sheets)
    }

    fn sheet<K: Key>(&self, items: u64) -> Result<Sheet, Failure> {
        let (entries, absent) = self.entries::<K>(items);
        let played =
            |entry: &Entry<K>| Played { name: entry.name, remark: entry.remark, turns: Vec::new() };
        let mut all: Vec<Played> = entries.iter().map(played).collect();
        let mut machine = BTreeMap::new();
        for round in 1..=self.rounds {
            eprintln!("{items} {}, round {round} of {}", K::NAME, self.rounds);
            self.round(items, &entries, &mut all, &mut machine)?;
            // A long run that is ended early has left something.
            save(&self.out, "filters-so-far", &self.summary::<K>(items, &all, &machine, &absent))?;
        }
        Ok(self.summary::<K>(items, &all, &machine, &absent))
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
            machine.entry(what).or_default().push(time);
        }
        for (entry, played) in entries.iter().zip(all) {
            eprintln!("  {}", entry.name);
            let turn = Turn::play(entry, plan, self.threads);
            played.turns.push(turn.map_err(|why| Failure::of(entry.name, &why))?);
        }
        Ok(())
    }

    fn summary<K: Key>(
        &self,
        items: u64,
        all: &[Played],
        machine: &Limits,
        absent: &[(&'static str, String)],
    ) -> Sheet {
        let plan = Plan { items, rate: self.rate };
        let summary = |times: &Vec<f64>| Summary::new(times, None);
        Sheet {
            keys: K::NAME,
            items,
            rate: self.rate,
            rounds: all.first().map_or(0, |played| played.turns.len()),
            threads: self.threads,
            ground_bytes: ground_bytes(plan),
            machine: machine.iter().map(|(what, times)| (*what, summary(times))).collect(),
            lines: sheet::lines(plan, all),
            absent: absent.to_vec(),
        }
    }

    /// Those that take part at this size, and the excuses of the others.
    fn entries<K: Key>(&self, items: u64) -> (Vec<Entry<K>>, Vec<(&'static str, String)>) {
        let mut absent = Vec::new();
        let mut entries = peers::chosen::<K>(&self.only);
        entries.retain(|entry| entry.fixed.is_some());
        entries.retain(|entry| match entry.excuse(items, self.memory_limit << 30) {
            Some(reason) => {
                absent.push((entry.name, reason));
                false
            }
            None => true,
        });
        (entries, absent)
    }
}

/// As much memory as Coua plans for the same.
fn ground_bytes(plan: Plan) -> u64 {
    let layout = coua::Layout::Buckets;
    coua::sizing::CuckooPlan::for_rate(plan.items, plan.rate, layout, 4)
        .map_or(plan.items * 2, |plan| plan.bytes)
}

fn limits(bytes: u64, keys: u64, threads: u64) -> Result<Vec<(&'static str, f64)>, Failure> {
    let ground = Ground::new(bytes).map_err(|why| Failure::of("memory", &why))?;
    let mut limits = vec![
        ("one random line a key", ground.fetch::<1>(keys, 1)),
        ("two random lines a key", ground.fetch::<2>(keys, 1)),
    ];
    if threads > 1 {
        limits.push(("two random lines a key, threads", ground.fetch::<2>(keys, threads)));
    }
    Ok(limits)
}

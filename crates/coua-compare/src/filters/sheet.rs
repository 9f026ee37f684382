//! One table: contestants under equal conditions.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::TWO_LINES;
use super::turn::{Facts, Step, Turn};
use crate::contestant::Plan;
use crate::markdown::{Table, cell, short};
use crate::measure::Summary;
use crate::peers::REFERENCE;
use crate::terms::Absent;

/// A contestant's figures over all rounds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Line {
    /// The crate, and the way it is used.
    pub(crate) name: String,
    /// What a reader must know to compare it.
    pub(crate) remark: String,
    /// Bits allocated for each key that was taken.
    pub(crate) bits_per_key: f64,
    /// Bits above log2(1 / rate), which no filter can go below; none for exact sets.
    pub(crate) bits_above_limit: Option<f64>,
    /// Counts of the last round.
    #[serde(flatten)]
    pub(crate) facts: Facts,
    /// Nanoseconds a key.
    pub(crate) nanoseconds: BTreeMap<Step, Summary>,
    /// Times of one thread relative to fetching two random lines a key, which is the machine's own
    /// limit for two buckets: medians over the rounds.
    pub(crate) to_two_lines: BTreeMap<Step, f64>,
}

/// All rounds of one size.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sheet {
    /// What keys they were.
    pub(crate) keys: String,
    /// How many were inserted.
    pub(crate) items: u64,
    /// The rate asked for.
    pub(crate) rate: f64,
    /// Rounds measured.
    pub(crate) rounds: usize,
    /// Threads of the steps with threads.
    pub(crate) threads: u64,
    /// Bytes in which the machine's own limits were measured.
    pub(crate) ground_bytes: u64,
    /// The machine's own limits, in nanoseconds a key.
    pub(crate) machine: BTreeMap<String, Summary>,
    /// The contestants.
    pub(crate) lines: Vec<Line>,
    /// Those that did not run, and why.
    pub(crate) absent: Absent,
}

/// Turns of one contestant.
#[derive(Debug)]
pub(crate) struct Played {
    /// See [`Line::name`].
    pub(crate) name: &'static str,
    /// See [`Line::remark`].
    pub(crate) remark: &'static str,
    /// One a round.
    pub(crate) turns: Vec<Turn>,
}

impl Played {
    fn times(&self, step: Step) -> Vec<f64> {
        let of = |turn: &Turn| turn.times.iter().find(|(known, _)| *known == step).map(|t| t.1);
        self.turns.iter().filter_map(of).collect()
    }
}

/// What the machine's own limits were, round by round.
pub(crate) type Limits = BTreeMap<String, Vec<f64>>;

/// Summarises them.
pub(crate) fn machine(limits: &Limits) -> BTreeMap<String, Summary> {
    limits.iter().map(|(what, times)| (what.clone(), Summary::new(times, None))).collect()
}

/// Summarises the turns; times are related to the reference's and the machine's in the same round.
pub(crate) fn lines(plan: Plan, played: &[Played], limits: &Limits) -> Vec<Line> {
    let reference = played.iter().find(|played| played.name == REFERENCE);
    played
        .iter()
        .filter_map(|contestant| {
            let last = contestant.turns.last()?;
            let nanoseconds = last.times.iter().map(|&(step, _)| {
                let base = reference.map(|reference| reference.times(step));
                let times = contestant.times(step);
                let base = base.filter(|base| base.len() == times.len());
                (step, Summary::new(&times, base.as_deref()))
            });
            let to_two_lines = AGAINST_MACHINE.into_iter().filter_map(|step| {
                let (times, base) = (contestant.times(step), limits.get(TWO_LINES)?);
                let comparable = !times.is_empty() && times.len() == base.len();
                let summary = comparable.then(|| Summary::new(&times, Some(base)))?;
                Some((step, summary.ratio?))
            });
            let taken = plan.items.saturating_sub(last.facts.refused);
            let bits = last.facts.bytes as f64 * 8.0 / taken.max(1) as f64;
            Some(Line {
                name: contestant.name.to_owned(),
                remark: contestant.remark.to_owned(),
                bits_per_key: bits,
                bits_above_limit: (last.facts.rate > 0.0).then(|| bits + last.facts.rate.log2()),
                facts: last.facts,
                nanoseconds: nanoseconds.collect(),
                to_two_lines: to_two_lines.collect(),
            })
        })
        .collect()
}

impl Line {
    /// What several threads gain, where that was measured.
    fn speed_up(&self, threads: u64) -> String {
        let gain = |one, several| {
            let medians = (self.nanoseconds.get(one)?, self.nanoseconds.get(several)?);
            Some(short(medians.0.median / medians.1.median))
        };
        let told = |what: &str, gain: Option<String>| {
            gain.map_or(String::new(), |gain| format!("; {threads} threads {what} x{gain}"))
        };
        told("insert", gain(&Step::Insert, &Step::InsertThreads))
            + &told("look up", gain(&Step::Absent, &Step::AbsentThreads))
    }
}

/// The steps that every contestant is asked for, and those that some have.
const TABLES: [&[Step]; 2] = [
    &[Step::Insert, Step::LastStretch, Step::Present, Step::Absent, Step::Half, Step::Remove],
    &[
        Step::UniqueMixed,
        Step::UniqueNew,
        Step::UniqueRepeats,
        Step::InsertThreads,
        Step::AbsentThreads,
        Step::Build,
    ],
];

/// The steps that are related to the machine's own limit.
const AGAINST_MACHINE: [Step; 5] =
    [Step::Insert, Step::Present, Step::Absent, Step::Half, Step::Remove];

impl Sheet {
    /// Times of those steps that were measured, if any, of those contestants that have them.
    fn times(&self, steps: &[Step]) -> Option<Table> {
        let measured = |step: &&Step| {
            let has = |line: &Line| line.nanoseconds.contains_key(step);
            self.lines.iter().any(has)
        };
        let steps: Vec<&Step> = steps.iter().filter(measured).collect();
        if steps.is_empty() {
            return None;
        }
        let heads = steps.iter().map(ToString::to_string);
        let mut table = Table::new(std::iter::once("contestant".to_owned()).chain(heads));
        for line in &self.lines {
            if steps.iter().any(|step| line.nanoseconds.contains_key(step)) {
                let times = steps.iter().map(|step| cell(line.nanoseconds.get(step)));
                table.row(std::iter::once(line.name.clone()).chain(times));
            }
        }
        Some(table)
    }

    /// Coua's times against the machine's.
    fn against_machine(&self) -> Table {
        let heads = AGAINST_MACHINE.iter().map(|step| format!("{step} / two lines"));
        let mut table = Table::new(std::iter::once("contestant".to_owned()).chain(heads));
        for line in self.lines.iter().filter(|line| line.name.starts_with(REFERENCE)) {
            let ratio =
                |step| line.to_two_lines.get(step).map_or("-".into(), |ratio| short(*ratio));
            let ratios = AGAINST_MACHINE.iter().map(ratio);
            table.row(std::iter::once(line.name.clone()).chain(ratios));
        }
        table
    }

    /// Memory and honesty.
    fn facts(&self) -> Table {
        let mut table = Table::new([
            "contestant",
            "bits/key",
            "above log2(1/rate)",
            "rate",
            "lost",
            "refused",
            "not removed",
        ]);
        for line in &self.lines {
            table.row([
                line.name.clone(),
                short(line.bits_per_key),
                line.bits_above_limit.map_or("-".into(), short),
                short(line.facts.rate),
                line.facts.lost.to_string(),
                line.facts.refused.to_string(),
                line.facts.not_removed.to_string(),
            ]);
        }
        table
    }
}

impl fmt::Display for Sheet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            out,
            "### {} keys ({}), rate asked {}, {} rounds, {} thread(s)\n",
            self.items, self.keys, self.rate, self.rounds, self.threads
        )?;
        write!(out, "ns a key: median, half the spread, ratio to `{REFERENCE}`. ")?;
        let mebibytes = self.ground_bytes as f64 / f64::from(1 << 20);
        write!(out, "The machine in the same run, {} MiB in huge pages:", short(mebibytes))?;
        for (what, time) in &self.machine {
            write!(out, " {what} {};", cell(Some(time)))?;
        }
        writeln!(out, "\n")?;
        for table in TABLES.iter().filter_map(|steps| self.times(steps)) {
            writeln!(out, "{table}")?;
        }
        // Without a filter's whole life neither is known.
        if self.lines.iter().any(|line| line.nanoseconds.contains_key(&Step::Insert)) {
            writeln!(out, "{}", self.against_machine())?;
            writeln!(out, "{}", self.facts())?;
        }
        for line in &self.lines {
            writeln!(out, "- {}: {}{}", line.name, line.remark, line.speed_up(self.threads))?;
        }
        for (name, reason) in &self.absent {
            writeln!(out, "- {name}: not run, {reason}")?;
        }
        Ok(())
    }
}

//! The filter of a run, whose callers do not know whether it is in memory, in a file or on a server; and the counters of
//! the run, with how many of its records a filter is expected to mistake for others.

pub(crate) mod copies;
pub(crate) mod filter_file;
pub(crate) mod memory;
pub(crate) mod server;
pub(crate) mod spec;

pub(crate) use filter_file::{LockedFile, check_files};
pub(crate) use server::Address;
pub(crate) use spec::{FilterSpec, Location, OnFull, Secret, WindowLength, WindowSpec};

use crate::clock::moment_text;
use crate::key::{KeySpec, MissingKey, Reason, Seen, Wanted};
use crate::pipeline::{Batch, Prefetch};
use crate::record::BLOCK;
use crate::runs::Runs;
use crate::terminal::{
    Failure, Report, ReportFormat, Result, counted, grouped, known, significant,
};
use coua::window::{Generations, Window};
use coua::{BatchFull, Full, FullReason, IfPresent, KeyHasher};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::sync::Arc;

/// The filter of a run. Methods that only some filters need do nothing by default.
pub(crate) trait RunFilter: Debug {
    /// The properties that do not change during a run.
    fn profile(&self) -> Profile;

    /// The key options that the filter stores. A filter that can store them, and has no items, stores the `offered` ones.
    fn key_spec(&mut self, _offered: Option<&KeySpec>) -> Result<Option<KeySpec>> {
        Ok(None)
    }

    /// The runs that the filter remembers, if it can; [`commit`](Self::commit) saves their changes.
    fn runs(&mut self) -> Option<&mut Runs> {
        None
    }

    /// Does `op` with the keys of a block.
    fn answer(&mut self, op: Op, batch: &mut Batch) -> Result<(), Stop>;

    /// Whether the outputs must be synced because of keys recorded on a server.
    fn sync_is_due(&self) -> bool {
        false
    }

    /// Commits all changes so far, and those of the runs. The outputs contain everything that was answered.
    fn commit(&mut self) -> Result<()> {
        Ok(())
    }

    /// Removes keys from a server that were recorded, but cannot be written to the output.
    fn roll_back(&mut self) {}

    /// A message about doubtful answers.
    fn doubts(&self, _op: Op) -> Option<String> {
        None
    }

    /// Saves all changes. Returns an error if the file of a filter that is only read has changed. `figures` says whether
    /// figures are printed: a server is asked for them only then.
    fn finish(self: Box<Self>, counts: &Counts, figures: Option<ReportFormat>) -> Result<Summary>;
}

/// The properties of a filter that do not change during a run.
pub(crate) struct Profile {
    /// The name in messages.
    pub(crate) name: String,
    /// The hasher of keys.
    pub(crate) hasher: KeyHasher,
    /// The parts of a record that the filter needs.
    pub(crate) wanted: Wanted,
    pub(crate) window: Option<Window>,
    /// The items at the beginning.
    pub(crate) items: u64,
    /// Bytes per block. They do not depend on the number of threads: the file stores where a run stopped early.
    pub(crate) block_bytes: usize,
    /// Operations that may be done before a block's turn.
    pub(crate) prefetch: Arc<dyn Prefetch>,
    /// The filter is saved, so the outputs must contain everything that it records before the run ends.
    pub(crate) is_saved: bool,
}

impl Profile {
    /// The profile of an empty temporary filter.
    pub(super) fn new(hasher: KeyHasher) -> Self {
        Self {
            name: "filter".to_owned(),
            hasher,
            wanted: Wanted::Hash,
            window: None,
            items: 0,
            block_bytes: BLOCK,
            prefetch: Arc::new(()),
            is_saved: false,
        }
    }
}

/// The message about the records that arrived too late to be remembered.
pub(super) fn outdated_note(filter: &Generations) -> Option<String> {
    if filter.outdated() == 0 {
        return None;
    }
    let records = counted(filter.outdated(), "record");
    // A time that is wrong shows here: it has moved the window away from all others.
    let latest = moment_text(filter.clock());
    Some(format!("older than the window, which has come to {latest}, so not remembered: {records}"))
}

/// Why some keys have no answer.
#[derive(Debug)]
pub(crate) enum Stop {
    /// There was no room for the key with index `nth`.
    Full { nth: usize, no_room: NoRoom },
    /// A server left some keys without an answer.
    Lost { failure: Failure, unanswered: u64 },
}

impl Stop {
    pub(super) fn full(stopped: BatchFull) -> Self {
        Self::Full { nth: stopped.done, no_room: NoRoom::of(&stopped.full) }
    }
}

/// Why a filter accepts no more items.
#[derive(Clone, Debug, Default)]
pub(crate) struct NoRoom {
    pub(crate) why: String,
    /// The advice for creating a filter with enough room.
    pub(crate) remedy: &'static str,
}

impl NoRoom {
    pub(crate) fn of(full: &Full) -> Self {
        let Full { items, max_items, reason, .. } = full;
        let (items, limit) = (counted(*items, "item"), grouped(*max_items));
        let end = match reason {
            FullReason::MaxItems => format!("its limit is {limit}"),
            FullReason::NoRoom => "may not grow".to_owned(),
            _ => {
                let remedy = "use --rate with --capacity, which needs less memory";
                return Self {
                    why: format!("cannot hold more than {items}: out of memory"),
                    remedy,
                };
            }
        };
        let remedy = "raise --capacity, or use --when-full grow";
        Self { why: format!("is full: it holds {items}, and {end}"), remedy }
    }
}

/// An operation on keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Insert absent keys, and return which were absent.
    Dedup,
    /// Insert one more copy.
    Add,
    /// Insert absent keys.
    AddNew,
    Remove,
    Check,
    Count,
}

impl Op {
    /// Whether keys are inserted; then a missing filter is created.
    pub(crate) fn inserts(self) -> bool {
        matches!(self, Self::Dedup | Self::Add | Self::AddNew)
    }

    /// What an insert does with a key that is present.
    pub(super) fn if_present(self) -> IfPresent {
        if self == Self::Add { IfPresent::AddCopy } else { IfPresent::Skip }
    }

    /// Whether the filter changes.
    pub(crate) fn changes(self) -> bool {
        self.inserts() || self == Self::Remove
    }
}

/// The share of wrongly dropped new records above which a warning is printed.
const HIGH_RATE: f64 = 0.02;

/// The counters of a run; each command uses some. The names are part of the file format: a resumed run continues them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    /// Copies that were added.
    added: u64,
    /// Records that were in the filter, or count as seen.
    pub(crate) found: u64,
    /// Records that were not.
    pub(crate) new: u64,
    /// Items of the filter at the beginning.
    items_before: u64,
}

impl Counts {
    /// Counts the answers to a block, and its records that count as seen from the start.
    pub(crate) fn record(&mut self, Batch { keys, answers, .. }: &Batch) {
        // Each key has either an answer or a number of copies.
        let absent = answers.counts.iter().filter(|count| **count == 0).count();
        self.new += answers.count(Seen::New) + absent as u64;
        self.found += answers.count(Seen::Repeat) + (answers.counts.len() - absent) as u64;
        self.added += answers.added;
        let is_known = |it: &&MissingKey| it.reason == Reason::Known;
        self.found += keys.missing_keys.iter().filter(is_known).count() as u64;
    }

    /// Records the items of the filter at the beginning of the run, unless it continues another.
    pub(crate) fn with_items_before(self, items: u64) -> Self {
        let items_before = if self == Self::default() { items } else { self.items_before };
        Self { items_before, ..self }
    }

    /// The counter that the progress line shows after the records.
    pub(crate) fn shown(&self, op: Op) -> (&'static str, u64) {
        match op {
            Op::Dedup => ("unique", self.new),
            Op::Add | Op::AddNew => ("added", self.added),
            Op::Remove => ("removed", self.found),
            Op::Check | Op::Count => ("found", self.found),
        }
    }

    /// Adds the counters of another run.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            added: self.added + other.added,
            found: self.found + other.found,
            new: self.new + other.new,
            items_before: self.items_before.min(other.items_before),
        }
    }

    /// The probable number of new records among the repeats, if known.
    fn wrongly_dropped(&self, expected: Option<f64>) -> Option<f64> {
        // The expectation may exceed the number of repeats.
        expected.map(|expected| expected.min(self.found as f64))
    }

    /// The warning if more new records were dropped than the requested `rate`; `by_known` of them by filters of --known.
    pub(crate) fn warning(
        &self,
        filter: &Summary,
        rate: Option<f64>,
        by_known: f64,
    ) -> Option<String> {
        let expected = filter.expected?;
        let dropped = self.wrongly_dropped(filter.expected).filter(|dropped| *dropped >= 1.0)?;
        let share = dropped / (self.new as f64 + dropped);
        (share > rate.unwrap_or(0.0).max(HIGH_RATE)).then(|| {
            let (dropped, repeats) = (grouped(dropped as u64), counted(self.found, "repeat"));
            let is_known = by_known > expected / 2.0;
            let filter = if is_known {
                "a filter of --known remembers few bits".to_owned()
            } else {
                let bits = known(filter.hash_bits, |bits| format!("{bits:.0}"));
                format!("the filter remembers only {bits} bits")
            };
            let made = if is_known { "build it with" } else { "use" };
            format!(
                "about {dropped} of {repeats} were probably new records, because {filter} of every hash; {made} a \
                 lower --rate or a higher --capacity"
            )
        })
    }

    /// The expected number of wrong answers that a report states, if known.
    pub(crate) fn expected_wrong(&self, op: Op, filter: &Summary) -> Option<f64> {
        match op {
            Op::Dedup => self.wrongly_dropped(filter.expected),
            Op::Remove => self.wrongly_removed(filter),
            Op::Add | Op::AddNew | Op::Check | Op::Count => None,
        }
    }

    /// The number of removals that are expected to have taken the hash of another record, if the filter tells its figures.
    fn wrongly_removed(&self, filter: &Summary) -> Option<f64> {
        let items = filter.figures.as_ref().ok()?.items + self.found;
        Some(among_removed(self.found, self.new, items, filter.hash_bits?))
    }

    /// The warning if at least one removal is expected to have taken the hash of another record.
    pub(crate) fn removal_warning(&self, filter: &Summary) -> Option<String> {
        let expected = self.wrongly_removed(filter).filter(|expected| *expected >= 1.0)?;
        let (expected, removals) = (grouped(expected as u64), counted(self.found, "removal"));
        Some(format!(
            "up to {expected} of {removals} may have removed another record with the same hash, if `dedup` had not \
             printed the records; remove only what `dedup` has printed, or use a lower --rate"
        ))
    }

    /// The message if no record that was looked up is in the filter.
    pub(crate) fn nothing_found(&self, op: Op) -> Option<String> {
        let verb = match op {
            Op::Dedup => "contained",
            Op::Add | Op::AddNew => return None,
            Op::Remove | Op::Check | Op::Count => "contains",
        };
        let is_it = self.found == 0 && self.new > 0;
        is_it.then(|| format!("{verb} none of {}", counted(self.new, "record")))
    }

    /// Adds the figures of a command.
    pub(crate) fn write_report(&self, op: Op, expected: Option<f64>, report: &mut Report) {
        let (name, count) = self.shown(op);
        report.number(name, name, count);
        match op {
            Op::Add | Op::AddNew => return,
            Op::Dedup => report.number("repeats", "repeats", self.found),
            _ => report.number("not_found", "not found", self.new),
        }
        let [field, name] = if op == Op::Dedup {
            ["expected_wrongly_dropped", "expected wrongly dropped"]
        } else {
            ["expected_wrongly_removed", "expected wrongly removed"]
        };
        if let Some(expected) = expected {
            report.measure(field, name, expected, significant);
        }
    }
}

/// The state of a filter at the end of a run.
#[derive(Debug)]
pub(crate) struct Summary {
    /// An error if a server does not send them.
    pub(crate) figures: Result<FilterFigures>,
    /// The number of bits remembered of each hash, if known.
    pub(crate) hash_bits: Option<f64>,
    /// The expected number of new records among the repeats, if known.
    pub(crate) expected: Option<f64>,
}

impl Summary {
    /// The summary of a local filter, after a run with these counters.
    pub(super) fn of(figures: FilterFigures, counts: &Counts) -> Self {
        let (hash_bits, items) = (figures.hash_bits, [counts.items_before, figures.items]);
        let expected = hash_bits.map(|bits| among_repeats(counts.new, counts.found, items, bits));
        Self { figures: Ok(figures), hash_bits, expected }
    }
}

/// The figures of a filter at the end of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct FilterFigures {
    pub(crate) items: u64,
    /// The items up to which its rate holds, if there is a limit.
    pub(crate) capacity: Option<u64>,
    /// None if a server does not state it, like the other options.
    pub(crate) load: Option<f64>,
    pub(crate) memory_bytes: u64,
    pub(crate) hash_bits: Option<f64>,
    pub(crate) false_positive_rate: Option<f64>,
    /// The figures of a window.
    pub(crate) window: Option<Report>,
}

impl From<&Generations> for FilterFigures {
    fn from(filter: &Generations) -> Self {
        Self {
            items: filter.len(),
            capacity: limit(filter),
            load: Some(filter.load_factor()),
            memory_bytes: filter.memory_bytes() as u64,
            hash_bits: Some(filter.hash_bits()),
            false_positive_rate: Some(filter.false_positive_rate()),
            window: filter.window().map(|_| of_window(filter)),
        }
    }
}

impl FilterFigures {
    /// The warning if the filter holds more items than its capacity.
    pub(crate) fn beyond_capacity(&self) -> Option<String> {
        let capacity = self.capacity.filter(|capacity| self.items > *capacity)?;
        let rate = known(self.false_positive_rate, significant);
        let [items, capacity] = [self.items, capacity].map(grouped);
        Some(format!(
            "holds {items} items, more than its --capacity of {capacity}; its false-positive rate is now {rate}"
        ))
    }

    /// Adds the filter's exactness and size.
    pub(crate) fn write_measures(&self, report: &mut Report) {
        let rate = self.false_positive_rate;
        report.measure("false_positive_rate", "false-positive rate now", rate, significant);
        report.measure("hash_bits", "hash bits", self.hash_bits, significant);
        let percent = |share| format!("{:.1} %", share * 100.0);
        report.measure("load", "load", self.load, percent);
        report.bytes("memory_bytes", "memory", self.memory_bytes);
        let tenths = |bits| format!("{bits:.1}");
        let bits = 8.0 * self.memory_bytes as f64 / self.items.max(1) as f64;
        report.measure("bits_per_item", "bits per item", bits, tenths);
    }

    /// Adds the figures of a run.
    pub(crate) fn write_report(self, report: &mut Report) {
        report.number("items", "items in filter", self.items);
        self.write_measures(report);
        report.append(self.window.unwrap_or_default());
    }
}

/// The figures that only filters with a window have.
fn of_window(filter: &Generations) -> Report {
    let mut report = Report::default();
    write_limit(filter, None, &mut report);
    report.number("generations", "generations", filter.generations().count() as u64);
    report.number("forgotten", "items forgotten", filter.forgotten());
    report.number("outdated", "records too old", filter.outdated());
    report
}

/// The items up to which the rate of a filter holds, if there is a limit.
fn limit(filter: &Generations) -> Option<u64> {
    Some(filter.max_items()).filter(|items| *items != u64::MAX)
}

/// Adds the limit of items, and the false-positive rate there; for people, `no_limit` if there is none.
pub(crate) fn write_limit(filter: &Generations, no_limit: Option<&str>, report: &mut Report) {
    let items = limit(filter);
    let rate = items.map(|items| items as f64 / filter.hash_bits().exp2());
    report.field("capacity", items);
    report.row_if_any("capacity", items.map(grouped).or(no_limit.map(str::to_owned)));
    report.field("rate_at_capacity", rate);
    report.row_if_any("false-positive rate at capacity", rate.map(significant));
}

// A filter that remembers H bits of every hash distinguishes C = 2^H hashes. With n of them in it, a new record is
// mistaken for a repeat with probability r = n / C, and passes with probability 1 - r.

/// Shares of all hashes below this value are small.
const SMALL: f64 = 1e-3;

/// The number of `records` different records that are expected to be mistaken for repeats.
pub(crate) fn dropped_in_stream(records: u64, hash_bits: f64) -> f64 {
    let hashes = hash_bits.exp2();
    let share = records as f64 / hashes;
    // The stream leaves 1 - e^-share of all hashes in the filter. The subtraction would lose small shares.
    let lost = if share < SMALL { share * share / 2.0 } else { share + (-share).exp_m1() };
    hashes * lost
}

/// The number of repeats that are expected to be new records, if the filter had the two `items` numbers before and after.
///
/// Only the records that passed show how many are new: for each of them r / (1 - r) others were dropped on average. If
/// every hash is in the filter, nothing passes, and each repeat may be a new record.
pub(crate) fn among_repeats(new: u64, repeats: u64, items: [u64; 2], hash_bits: f64) -> f64 {
    let hashes = hash_bits.exp2();
    // A window forgets items: then there are fewer at the end.
    let [start, end] = [items[0].min(items[1]), items[1]];
    if hashes - (end as f64) < 1.0 {
        return repeats as f64;
    }
    let added = until(end as f64, hashes) - until(start as f64, hashes);
    let more = end - start;
    if new < more {
        // Other processes added items too.
        return added * new as f64 / more as f64;
    }
    // Others were inserted for items that a window forgot, while the filter was as full as at the end.
    added + (new - more) as f64 * end as f64 / (hashes - end as f64)
}

/// The number of removed records that are expected to have taken the hash of another record from a filter that had
/// `items` items before, if the records are those of a `dedup`.
///
/// While `dedup` filled the filter, it mistook each record for a repeat with probability r / 2 on average; removing one
/// such record removes another. A record that was never added is not found with probability 1 - r.
fn among_removed(found: u64, not_found: u64, items: u64, hash_bits: f64) -> f64 {
    let share = (items as f64 / hash_bits.exp2()).min(0.5);
    let expected = found as f64 * share / 2.0 + not_found as f64 * share / (1.0 - share);
    expected.min(found as f64)
}

/// The sum of r / (1 - r) while a filter that distinguishes `hashes` hashes grew to `items` items.
fn until(items: f64, hashes: f64) -> f64 {
    let share = items / hashes;
    if share < SMALL {
        // The logarithm's first terms: the subtraction would lose small shares.
        let (third, fourth) = (share / 3.0, share * share / 4.0);
        return items * share * (0.5 + third + fourth);
    }
    -hashes * (-share).ln_1p() - items
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// De-duplicates `records` different records; returns the expected and the actual number of dropped records.
    fn dedup(records: u64, hash_bits: u32) -> (f64, f64) {
        let hash = |record: u64| coua::KeyHasher::default().hash(record.to_le_bytes()).to_u64();
        let seen: HashSet<_> = (0..records).map(|it| hash(it) >> (64 - hash_bits)).collect();
        let new = seen.len() as u64;
        let repeats = records - new;
        (among_repeats(new, repeats, [0, new], f64::from(hash_bits)), repeats as f64)
    }

    /// At rates from 1e-3 to 1.
    #[test]
    fn expectation_is_near_the_truth() {
        for (records, hash_bits, tolerance) in [
            (300_000, 8, 0.01),
            (300_000, 12, 0.1),
            (300_000, 16, 0.1),
            (300_000, 18, 0.02),
            (300_000, 20, 0.02),
            (300_000, 24, 0.05),
            (100_000, 26, 0.2),
        ] {
            let (expected, dropped) = dedup(records, hash_bits);
            let error = (expected / dropped - 1.0).abs();
            assert!(error < tolerance, "{hash_bits} bits: {expected} for {dropped}");
            let planned = dropped_in_stream(records, f64::from(hash_bits));
            assert!((planned / dropped - 1.0).abs() < tolerance, "{hash_bits} bits: {planned}");
        }
    }

    #[test]
    fn small_shares_keep_their_digits() {
        let billion = 1_000_000_000;
        let expected = (billion as f64).powi(2) / 65_f64.exp2();
        assert!((dropped_in_stream(billion, 64.0) / expected - 1.0).abs() < 1e-9);
        let counted = among_repeats(billion, billion, [0, billion], 64.0);
        assert!((counted / expected - 1.0).abs() < 1e-9);
        assert!(dropped_in_stream(0, 8.0).abs() < 1e-9);
    }

    /// A window that always holds 128 of 256 hashes lets half of the new records pass.
    #[test]
    fn items_that_a_window_forgot_are_counted() {
        for items in [[128, 128], [200, 128]] {
            assert!((among_repeats(10, 10, items, 8.0) - 10.0).abs() < 1e-9);
        }
        assert!((among_repeats(10, 10, [300, 256], 8.0) - 10.0).abs() < 1e-9);
        let grown = among_repeats(128, 0, [0, 128], 8.0);
        let error = among_repeats(1_000_128, 0, [0, 128], 8.0) - 1_000_000.0 - grown;
        assert!(error.abs() < 1e-3, "{error}");
    }
}

//! The counters of a run.

use crate::filter::collisions;
use crate::filter::run_filter::{Op, Summary, SummaryRequest};
use crate::key::{Answers, Seen};
use crate::terminal::{Report, ReportFormat, counted, grouped, known, significant};
use serde::{Deserialize, Serialize};

/// The share of wrongly dropped new records above which a warning is printed.
const HIGH_RATE: f64 = 0.02;

/// The counters of a run; each command uses some. The names are part of the file format: a resumed run continues them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    /// Copies that were added.
    added: u64,
    /// Records that were in the filter, or count as seen.
    found: u64,
    /// Records that were not.
    new: u64,
    /// Items of the filter at the beginning.
    items_before: u64,
}

impl Counts {
    /// Counts the answers to a block.
    pub(crate) fn record(&mut self, answers: &Answers) {
        // Each key has either an answer or a number of copies.
        let absent = answers.counts.iter().filter(|count| **count == 0).count();
        self.new += answers.count(Seen::New) + absent as u64;
        self.found += answers.count(Seen::Repeat) + (answers.counts.len() - absent) as u64;
        self.added += answers.added;
    }

    /// Records the items of the filter at the beginning of the run, unless it continues another.
    pub(crate) fn with_items_before(self, items: u64) -> Self {
        let items_before = if self == Self::default() { items } else { self.items_before };
        Self { items_before, ..self }
    }

    /// Adds records that count as seen from the start.
    pub(crate) fn add_known(&mut self, records: u64) {
        self.found += records;
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

    /// The request for the filter's summary at the end, and for the figures if they are printed.
    pub(crate) fn summary_request(&self, figures: Option<ReportFormat>) -> SummaryRequest {
        let (new, repeats) = (self.new, self.found);
        let (items_before, has_report) = (self.items_before, figures.is_some());
        SummaryRequest { new, repeats, items_before, has_report }
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

    /// Records that were looked up.
    pub(crate) fn answered(&self) -> u64 {
        self.new + self.found
    }

    /// Records that were new.
    pub(crate) fn new_records(&self) -> u64 {
        self.new
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
        Some(collisions::among_removed(self.found, self.new, items, filter.hash_bits?))
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
            Op::Dedup => {
                report.number("repeats", "repeats", self.found);
                if let Some(expected) = expected {
                    let name = "expected wrongly dropped";
                    report.measure("expected_wrongly_dropped", name, expected, significant);
                }
            }
            Op::Add | Op::AddNew => {}
            Op::Remove | Op::Check | Op::Count => {
                report.number("not_found", "not found", self.new);
                if let Some(expected) = expected {
                    let name = "expected wrongly removed";
                    report.measure("expected_wrongly_removed", name, expected, significant);
                }
            }
        }
    }
}

//! A filter on a server.
//!
//! The output must not lose what is inserted, whatever happens in between. The server records a key as seen before its
//! line is written, because otherwise several processes could not share a filter. Therefore keys that were recorded and
//! could not be written are removed again; and a record whose answer was lost counts as new, because it is unknown
//! whether this run has recorded it or an earlier one.

use super::description::Description;
use super::protocol::Value;
use super::remote_filter::FULL;
use super::requests::RemoteFilter;
use crate::filter::counts::{Counts, Op, Summary, among_repeats};
use crate::filter::{Address, FilterSpec, NoRoom, Profile, RunFilter, Stop};
use crate::key::{Answers, KeySpec, Parts, Seen, Wanted};
use crate::pipeline::Batch;
use crate::terminal::{
    FilterFigures, Report, ReportFormat, Result, Verbosity, counted, grouped, message,
};
use coua::KeyHasher;
use std::collections::HashSet;
use std::iter::zip;
use std::mem;
use std::time::{Duration, Instant};

/// How long, and for how many bytes, recorded keys may wait for the output to be synced.
const BETWEEN_SYNCS: Duration = Duration::from_secs(5);
const MOST_UNSYNCED: usize = 32 << 20;

/// A note about a filter that another module has created.
const OF_REDISBLOOM: &str = "the filter keeps RedisBloom's 8-bit fingerprints: some new records count as seen (`coua info` shows the rate); for \
     fewer, use a filter that coua creates";

#[derive(Debug)]
struct ServerFilter {
    filter: RemoteFilter,
    op: Op,
    /// The filter at the beginning.
    found: Description,
    /// Keys that are recorded, but perhaps not in the output.
    unsynced: Parts,
    synced: Instant,
}

/// Opens the filter of a run, or creates it if `op` inserts.
pub(crate) fn open(
    address: &Address,
    op: Op,
    spec: &FilterSpec,
    verbosity: Verbosity,
) -> Result<Box<dyn RunFilter>> {
    let options = op.inserts().then_some(spec);
    let (filter, found) = RemoteFilter::open(address, options, verbosity)?;
    if found.is_of_redisbloom {
        filter.say(OF_REDISBLOOM);
    }
    let (unsynced, synced) = (Parts::default(), Instant::now());
    Ok(Box::new(ServerFilter { filter, op, found, unsynced, synced }))
}

impl ServerFilter {
    /// Records the server's answers.
    fn record(&mut self, keys: &Parts, given: &[Option<i64>], answers: &mut Answers) {
        let numbers = given.iter().copied();
        match self.op {
            Op::Dedup => self.classify(keys, given, answers),
            Op::Add | Op::AddNew => {
                answers.added = numbers.filter(|number| *number == Some(1)).count() as u64;
            }
            Op::Remove | Op::Check => answers.found.extend(
                numbers.map(|number| number.map_or(Seen::Unknown, |found| Seen::from(found == 1))),
            ),
            Op::Count => {
                answers.counts.extend(numbers.map(|number| number.map_or(0, i64::unsigned_abs)));
            }
        }
    }

    /// Decides which keys count as new: of those without a certain answer, the first of equal ones in a block.
    fn classify(&mut self, keys: &Parts, given: &[Option<i64>], answers: &mut Answers) {
        let mut passed = HashSet::new();
        for (number, key) in zip(given, keys.iter()) {
            let is_new = match number {
                Some(number @ 0..) => *number > 0 && !passed.contains(key),
                _ => passed.insert(key),
            };
            if is_new {
                self.unsynced.push(key);
            }
            answers.found.push(Seen::from(!is_new));
        }
    }

    /// Removes keys that are not in the output, or reports how many are left.
    fn remove(&mut self, keys: &Parts) {
        if let (answers, Err(failure)) = self.filter.query(Op::Remove, keys) {
            let left = answers.iter().filter(|number| number.is_none()).count();
            let (name, left) = (&self.filter.address, counted(left as u64, "record"));
            let reason = failure.reason();
            message::say(format_args!(
                "{name}: {left} may be in the filter, but not in the output: {reason}"
            ));
        }
    }
}

impl RunFilter for ServerFilter {
    /// Its hasher is the default one, which selects the shard; the server hashes keys with its own.
    fn profile(&self) -> Profile {
        Profile {
            name: self.filter.address.to_string(),
            wanted: Wanted::Key,
            items: self.found.figures.items,
            is_saved: self.op.changes(),
            ..Profile::new(KeyHasher::default())
        }
    }

    /// If several processes set how keys are made at once, the first one wins. As others may be about to add keys, even
    /// a filter without items accepts no change.
    fn key_spec(&mut self, offered: Option<&KeySpec>) -> Result<Option<KeySpec>> {
        let is_open = self.op.inserts() && self.found.key_spec.is_none();
        let Some(spec) = offered.filter(|_| is_open) else {
            return Ok(self.found.key_spec.clone());
        };
        let stored = if self.found.is_of_redisbloom {
            Some(Err("it has RedisBloom's layout".to_owned()))
        } else if self.found.figures.items + self.found.deleted > 0 {
            Some(Err("it had items before".to_owned()))
        } else {
            let note = [KeySpec::NOTE.as_bytes(), &spec.to_note(), b"NX"];
            self.filter.call(self.filter.request("NOTE", &self.filter.keys[0], &note))?.reply
        };
        self.found.key_spec = match stored {
            Some(Ok(Value::Nil)) => self.filter.describe()?.and_then(|found| found.key_spec),
            Some(Err(reason)) => {
                if !spec.normalize.does_nothing() {
                    self.filter.say(format_args!(
                        "does not store the key options {} ({reason}); give them to every command",
                        spec.normalize
                    ));
                }
                None
            }
            _ => Some(spec.clone()),
        };
        Ok(self.found.key_spec.clone())
    }

    fn answer(&mut self, op: Op, batch: &mut Batch) -> Result<(), Stop> {
        let (keys, answers) = (&batch.keys.contents, &mut batch.answers);
        let (given, result) = self.filter.query(op, keys);
        // Once some keys have no answer, those refused for lack of room count as unanswered too.
        let is_full = |number: &Option<i64>| op.inserts() && *number == Some(FULL);
        let full = given.iter().position(is_full).filter(|_| result.is_ok());
        self.record(keys, &given[..full.unwrap_or(given.len())], answers);
        if let Err(failure) = result {
            // Keys without an answer may be those of earlier runs: nothing is removed.
            self.unsynced.clear();
            let unanswered = given.iter().filter(|number| number.is_none()).count() as u64;
            return Err(Stop::Lost { failure, unanswered });
        }
        let Some(nth) = full else { return Ok(()) };
        let mut behind = Parts::default();
        let may_be_in = |number: &Option<i64>| matches!(number, None | Some(1));
        let all = zip(&given, keys.iter()).skip(nth).filter(|(number, _)| may_be_in(number));
        all.for_each(|(_, key)| behind.push(key));
        self.remove(&behind);
        let remedy = "make room with `coua remove`, then continue from that record";
        Err(Stop::Full { nth, no_room: NoRoom { why: "is full".to_owned(), remedy } })
    }

    fn sync_is_due(&self) -> bool {
        let is_late = self.synced.elapsed() > BETWEEN_SYNCS;
        (is_late && !self.unsynced.ends.is_empty()) || self.unsynced.bytes.len() > MOST_UNSYNCED
    }

    /// The server has the keys; the outputs have their records now.
    fn commit(&mut self) -> Result<()> {
        self.unsynced.clear();
        self.synced = Instant::now();
        Ok(())
    }

    /// Removes the keys that are recorded and perhaps not in the output.
    fn roll_back(&mut self) {
        let unsynced = mem::take(&mut self.unsynced);
        self.remove(&unsynced);
    }

    /// Lost connections and their possible effects.
    fn doubts(&self, op: Op) -> Option<String> {
        let consequence = match op {
            Op::Dedup => "which were printed whether seen before or not",
            Op::Add => "each of which may have one copy too many",
            Op::AddNew => "which are in the filter",
            Op::Remove => "each of which may have lost two copies; the last reply counts",
            Op::Check | Op::Count => return None,
        };
        let (name, records) = (&self.filter.address, grouped(self.filter.in_doubt));
        let note = || {
            format!(
                "{name}: records sent again because the reply was lost: {records}, {consequence}"
            )
        };
        (self.filter.in_doubt > 0).then(note)
    }

    /// Without a report the server is not asked: the filter is assumed to have gained the new records of this run.
    fn finish(
        mut self: Box<Self>,
        counts: &Counts,
        figures: Option<ReportFormat>,
    ) -> Result<Summary> {
        let found = figures.map_or(Ok(None), |_| self.filter.describe());
        let Counts { new, found: repeats, items_before, .. } = *counts;
        let now = match &found {
            Ok(Some(found)) => found.figures.items,
            _ => items_before.saturating_add(new),
        };
        // All shards together distinguish as many more hashes.
        let more = (self.filter.keys.len() as f64).log2();
        let (hash_bits, items) = (self.found.figures.hash_bits, [items_before, now]);
        let expected = hash_bits.map(|bits| among_repeats(new, repeats, items, bits + more));
        let figures = found.map(|found| found.map_or_else(FilterFigures::default, |it| it.figures));
        Ok(Summary { figures, hash_bits, expected })
    }
}

/// The report about a filter (`info`), as its server describes it.
pub(crate) fn report(address: &Address) -> Result<Report> {
    let (_, found) = RemoteFilter::open(address, None, Verbosity::Normal)?;
    let mut report = Report::default();
    report.text("server", "server", &address.to_string());
    found.write_report(&mut report);
    Ok(report)
}

//! A filter on a server.
//!
//! The output must not lose what is inserted, whatever happens in between. The server records a key as seen before its
//! line is written, because otherwise several processes could not share a filter. Therefore keys that were recorded and
//! could not be written are removed again; and a record whose answer was lost counts as new, because it is unknown
//! whether this run has recorded it or an earlier one.

use super::operations::{ALREADY_THERE, FULL, KeyAnswer};
use super::remote_filter::RemoteFilter;
use super::reserve::ReserveOptions;
use crate::clock::window_text;
use crate::filter::collisions::{self, Answered};
use crate::filter::run_filter::{
    Doubts, NoRoom, Op, Profile, RunFilter, Stage, Stop, Summary, SummaryRequest,
};
use crate::filter::{Address, FilterSpec};
use crate::key::{Answers, BlockKeys, KeySpec, Seen, Wanted};
use crate::pipeline::Batch;
use crate::terminal::{FilterFigures, Report, Result, Verbosity, counted, grouped, message};
use coua::window::{Clock, Window};
use coua::{KeyHash, KeyHasher};
use serde_json::json;
use std::collections::HashSet;
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
    verbosity: Verbosity,
    key_spec: Option<KeySpec>,
    /// Why the server can no longer store how the keys are made.
    has_keys: Option<&'static str>,
    items_before: u64,
    hash_bits: Option<f64>,
    /// The server does not answer any more.
    is_lost: bool,
    /// Keys recorded after the record for which there was no room.
    after_full: BlockKeys,
    /// Keys that are recorded, but perhaps not in the output.
    unsynced: BlockKeys,
    synced: Instant,
}

/// Opens the filter of a run, or creates it if `op` inserts.
pub(crate) fn open(
    address: &Address,
    op: Op,
    spec: &FilterSpec,
    verbosity: Verbosity,
) -> Result<Box<dyn RunFilter>> {
    let (filter, found) = if op.inserts() {
        let wanted = ReserveOptions::of(spec)?;
        let arguments = |shards| wanted.arguments(shards);
        let (filter, found) = RemoteFilter::open_or_create(address, arguments, verbosity)?;
        wanted.agree_with(&found, address)?;
        (filter, found)
    } else {
        RemoteFilter::open(address, verbosity)?
    };
    if found.is_of_redisbloom {
        verbosity.say(format_args!("{address}: {OF_REDISBLOOM}"));
    }
    Ok(Box::new(ServerFilter {
        filter,
        op,
        verbosity,
        key_spec: found.key_spec(address)?,
        has_keys: match &found {
            found if found.is_of_redisbloom => Some("it has RedisBloom's layout"),
            found => (found.items + found.deleted > 0).then_some("it had items before"),
        },
        items_before: found.items,
        hash_bits: found.hash_bits,
        is_lost: false,
        after_full: BlockKeys::default(),
        unsynced: BlockKeys::default(),
        synced: Instant::now(),
    }))
}

impl ServerFilter {
    /// Reports that the server does not store how the keys of this run are made, if that matters to later runs.
    fn report_forgotten(&self, spec: &KeySpec, reason: &str) {
        let KeySpec { normalize, .. } = spec;
        if !normalize.does_nothing() {
            self.verbosity.say(format_args!(
                "{}: does not store the key options {normalize} ({reason}); give them to every command",
                self.filter.name()
            ));
        }
    }

    /// Records the server's answers.
    fn record(&mut self, keys: &BlockKeys, given: &[KeyAnswer], answers: &mut Answers) {
        let is = |wanted: i64| move |answer: &&KeyAnswer| answer.number == Some(wanted);
        match self.op {
            Op::Dedup => self.classify(keys, given, answers),
            Op::Add | Op::AddNew => answers.added = given.iter().filter(is(1)).count() as u64,
            Op::Remove | Op::Check => {
                let found = |answer: &KeyAnswer| match answer.number {
                    Some(number) => Seen::from(number == 1),
                    None => Seen::Unknown,
                };
                answers.found.extend(given.iter().map(found));
            }
            Op::Count => {
                let copies = |answer: &KeyAnswer| answer.number.unwrap_or(0).max(0).unsigned_abs();
                answers.counts.extend(given.iter().map(copies));
            }
        }
    }

    /// Decides which keys count as new.
    ///
    /// A key that was present at the second attempt may have been inserted by the first, whose reply was lost: it counts
    /// as new, once in a block. So does a key without an answer.
    fn classify(&mut self, keys: &BlockKeys, given: &[KeyAnswer], answers: &mut Answers) {
        let mut passed = HashSet::new();
        for (answer, (key, hash)) in given.iter().zip(keys.contents.iter().zip(&keys.hashes)) {
            let is_new = match answer {
                KeyAnswer { number: Some(number @ 0..), in_doubt: false } => {
                    *number > 0 && !passed.contains(key)
                }
                _ => passed.insert(key),
            };
            if is_new {
                log_key(&mut self.unsynced, key, *hash);
            }
            answers.found.push(Seen::from(!is_new));
        }
    }

    /// Records the keys from number `first` on that may be in the filter, to be removed again.
    fn record_after_full(&mut self, keys: &BlockKeys, given: &[KeyAnswer], first: usize) {
        let may_be_in = |answer: &KeyAnswer| match self.op {
            Op::Dedup => answer.in_doubt || !matches!(answer.number, Some(ALREADY_THERE | FULL)),
            _ => answer.number == Some(1),
        };
        let all = given.iter().zip(keys.contents.iter().zip(&keys.hashes));
        for (_, (key, hash)) in all.skip(first).filter(|(answer, _)| may_be_in(answer)) {
            log_key(&mut self.after_full, key, *hash);
        }
    }

    /// How many of the repeats are expected to be new records. Without `items_now`, the filter is assumed to have
    /// gained the new records of this run.
    fn expected(&self, answered: Answered, items_now: Option<u64>) -> Option<f64> {
        let bits = self.hash_bits?;
        let now = items_now.unwrap_or(self.items_before.saturating_add(answered.new));
        // Every new record was compared with the items of its shard alone.
        let shards = self.filter.keys.len() as u64;
        let items = [self.items_before, now].map(|items| items / shards);
        let Answered { new, repeats } = answered;
        let of_shard = Answered { new: new / shards, repeats: repeats / shards };
        Some(shards as f64 * collisions::among_repeats(of_shard, items, bits))
    }
}

impl RunFilter for ServerFilter {
    /// Its hasher is the default one, which selects the shard; the server hashes keys with its own.
    fn profile(&self) -> Profile {
        Profile {
            name: self.filter.name(),
            wanted: Wanted::Key,
            items: self.items_before,
            is_saved: self.op.changes(),
            ..Profile::new(KeyHasher::default())
        }
    }

    /// If several processes set how keys are made at once, the first one wins. As others may be about to add keys, even
    /// a filter without items accepts no change.
    fn key_spec(&mut self, offered: Option<&KeySpec>) -> Result<Option<KeySpec>> {
        let is_open = self.op.inserts() && self.key_spec.is_none();
        let Some(spec) = offered.filter(|_| is_open) else { return Ok(self.key_spec.clone()) };
        let kept = match self.has_keys {
            Some(reason) => Err(reason.to_owned()),
            None => self.filter.keep_note(KeySpec::NOTE, &spec.to_note())?,
        };
        match kept {
            Ok(true) => self.key_spec = Some(spec.clone()),
            Ok(false) => {
                let found = self.filter.describe()?.unwrap_or_default();
                self.key_spec = found.key_spec(self.filter.name())?;
            }
            Err(reason) => self.report_forgotten(spec, &reason),
        }
        Ok(self.key_spec.clone())
    }

    fn answer(&mut self, op: Op, batch: &mut Batch) -> Result<(), Stop> {
        let Batch { keys, answers, .. } = batch;
        let (given, result) = self.filter.query(op, keys);
        // Once some keys have no answer, those refused for lack of room count as unanswered too.
        let is_full = |answer: &KeyAnswer| op.inserts() && answer.number == Some(FULL);
        let full = given.iter().position(is_full).filter(|_| result.is_ok());
        self.record(keys, &given[..full.unwrap_or(given.len())], answers);
        if let Err(failure) = result {
            self.is_lost = true;
            let unanswered = given.iter().filter(|answer| answer.number.is_none()).count() as u64;
            return Err(Stop::Lost { failure, unanswered });
        }
        let Some(nth) = full else { return Ok(()) };
        self.record_after_full(keys, &given, nth);
        let remedy = "make room with `coua remove`, then continue from that record";
        Err(Stop::Full { nth, no_room: NoRoom { why: "is full".to_owned(), remedy } })
    }

    fn sync_is_due(&self) -> bool {
        let is_late = self.synced.elapsed() > BETWEEN_SYNCS;
        let bytes = self.unsynced.contents.bytes.len();
        (is_late && !self.unsynced.hashes.is_empty()) || bytes > MOST_UNSYNCED
    }

    /// The server has the keys; the outputs have their records now.
    fn commit(&mut self, _stage: Stage) -> Result<()> {
        self.unsynced.clear();
        self.synced = Instant::now();
        Ok(())
    }

    /// Removes the keys that are recorded and perhaps not in the output, and those recorded after them.
    fn roll_back(&mut self) {
        if self.is_lost {
            return;
        }
        for (key, hash) in self.after_full.contents.iter().zip(&self.after_full.hashes) {
            log_key(&mut self.unsynced, key, *hash);
        }
        if let (answers, Err(failure)) = self.filter.query(Op::Remove, &self.unsynced) {
            let left = answers.iter().filter(|answer| answer.number.is_none()).count();
            let (name, left) = (self.filter.name(), counted(left as u64, "record"));
            let reason = failure.reason();
            message::say(format_args!(
                "{name}: {left} may be in the filter, but not in the output: {reason}"
            ));
        }
    }

    /// Lost connections and their possible effects.
    fn doubts(&self, op: Op) -> Doubts {
        let consequence = match op {
            Op::Dedup => "which were printed whether seen before or not",
            Op::Add => "each of which may have one copy too many",
            Op::AddNew => "which are in the filter",
            Op::Remove => "each of which may have lost two copies; the last reply counts",
            Op::Check | Op::Count => return Doubts::default(),
        };
        if self.filter.in_doubt == 0 {
            return Doubts::default();
        }
        let (name, losses) = (self.filter.name(), grouped(self.filter.server.losses));
        let records = grouped(self.filter.in_doubt);
        let note = format!(
            "{name}: connections lost: {losses}; records sent again because the reply was lost: \
             {records}, {consequence}"
        );
        Doubts { notes: vec![note], has_lost_replies: true }
    }

    /// Removes the keys that were recorded after the record for which there was no room.
    fn finish(mut self: Box<Self>, request: SummaryRequest) -> Result<Summary> {
        self.filter.query(Op::Remove, &self.after_full).1?;
        let SummaryRequest { answered, has_report, .. } = request;
        let (figures, items_now) = match has_report.then(|| self.filter.describe()) {
            None => (Ok(FilterFigures::default()), None),
            Some(Ok(found)) => {
                let found = found.unwrap_or_default();
                (Ok(FilterFigures::from(&found)), Some(found.items))
            }
            Some(Err(failure)) => (Err(failure), None),
        };
        let expected = self.expected(answered, items_now);
        Ok(Summary { figures, hash_bits: self.hash_bits, expected })
    }
}

/// Logs a key that may have to be removed again.
fn log_key(log: &mut BlockKeys, key: &[u8], hash: KeyHash) {
    log.contents.push(key);
    log.hashes.push(hash);
}

/// The report about a filter (`info`), as its server describes it.
pub(crate) fn report(address: &Address) -> Result<Report> {
    let (filter, found) = RemoteFilter::open(address, Verbosity::Normal)?;
    let mut report = Report::default();
    report.text("server", "server", &filter.name());
    report.number("shards", "shards", found.shards);
    report.number("items", "items", found.items);
    report.number("items_deleted", "items removed", found.deleted);
    let (fewest, most) = (found.fewest_items, found.most_items);
    report.field("fewest_items_in_a_shard", fewest);
    report.field("most_items_in_a_shard", most);
    let range = || format!("{} to {}", grouped(fewest), grouped(most));
    report.row_if_any("items in a shard", (found.shards > 1).then(range));
    FilterFigures::from(&found).write_measures(&mut report);
    report.number("slots", "slots", found.slots);
    report.text("when_full", "when full", found.on_full().name());
    let window_object = |window: Window| {
        let clock = if window.clock() == Clock::Count { "items" } else { "arrival" };
        json!({"clock": clock, "length": window.length(), "generations": window.generations()})
    };
    report.field("window", found.window.map(window_object));
    report.row_if_any("window of each shard", found.window.map(window_text));
    if let Some(keys) = found.key_spec(address)? {
        keys.write_report(&mut report);
    }
    Ok(report)
}

//! A filter on a server: opened, created (also by several processes at once), and used by a run, in batches per shard.
//!
//! The output must not lose what is inserted, whatever happens in between. The server records a key as seen before its
//! line is written, because otherwise several processes could not share a filter. Therefore keys that were recorded and
//! could not be written are removed again; and a record whose answer was lost counts as new, because it is unknown
//! whether this run has recorded it or an earlier one.
//!
//! The commands on keys never let the server create a filter, because it would have the server's defaults.

use super::connection::Value;
use super::description::{self, Description, ITEMS, whole};
use super::requests::{RemoteFilter, Request, key};
use crate::filter::{
    Address, Counts, FilterFigures, FilterSpec, NoRoom, Op, Profile, RunFilter, Stop, Summary,
    among_repeats,
};
use crate::key::{Answers, KeySpec, Parts, Seen, Wanted};
use crate::pipeline::Batch;
use crate::terminal::{Failure, Report, ReportFormat, Result, Verbosity};
use crate::terminal::{counted, grouped, hexadecimal, message};
use coua::KeyHasher;
use std::collections::HashSet;
use std::iter::{once, zip};
use std::time::{Duration, Instant};
use std::{mem, slice, thread};

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
            message::say(format_args!(
                "{name}: {left} may be in the filter, but not in the output: {}",
                failure.reason()
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
        let stored = if self.found.figures.items + self.found.deleted > 0 {
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
        let before: HashSet<_> = keys.iter().take(nth).collect();
        let mut behind = Parts::default();
        let may_be_in = |number: &Option<i64>| matches!(number, None | Some(1));
        let all = zip(&given, keys.iter()).skip(nth).filter(|(number, _)| may_be_in(number));
        // A key without an answer that also stands before the refused one is printed, and stays.
        let all = all.filter(|(number, key)| number.is_some() || !before.contains(key));
        all.for_each(|(_, key)| behind.push(key));
        self.remove(&behind);
        let remedy = "make room with `coua remove`, then continue from that record";
        let why = "is full, or at a limit of memory".to_owned();
        Err(Stop::Full { nth, no_room: NoRoom { why, remedy } })
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
            Op::Dedup => "which count as new, and may be missing from a filter that becomes full",
            Op::Add => "each of which may have more copies than added, or fewer in a full filter",
            Op::AddNew => "which may be in the filter",
            Op::Remove => "each of which may have lost more than one copy; the last reply counts",
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
    let (filter, found) = RemoteFilter::open(address, None, Verbosity::Normal)?;
    let mut report = Report::default();
    report.text("server", "server", &address.to_string());
    report.number("shards", "shards", filter.keys.len() as u64);
    found.write_report(&mut report);
    Ok(report)
}

/// How long another process may take to create the shards of a filter.
const CREATION: Duration = Duration::from_secs(10);

const UNFINISHED: &str =
    "its creation did not end; delete its other keys, and try again: the server has no key";
const GONE: &str =
    "the filter is gone from the server: it was deleted, or the server lost its data";

/// The most keys in a command: enough to make its overhead small, few enough not to delay other clients.
const MOST_KEYS: usize = 4096;

/// The answer for a key for which the filter has no room.
const FULL: i64 = -1;

impl RemoteFilter {
    /// Opens the filter. With options, it must have these, and is created if it is missing.
    pub(super) fn open(
        address: &Address,
        options: Option<&FilterSpec>,
        verbosity: Verbosity,
    ) -> Result<(Self, Description)> {
        let shards = address.shards.unwrap_or(1).into();
        let options = options.map(|all| description::of_shard(all, shards)).transpose()?;
        let mut filter = Self::connect(address, verbosity)?;
        let missing = "no such filter; create it with `coua dedup` or `coua add`";
        let found = match (filter.describe()?, &options) {
            (Some(found), _) => found,
            (None, Some(options)) => filter.create(&description::arguments(options)?)?,
            (None, None) => return Err(filter.failure(missing)),
        };
        options.map_or(Ok(()), |options| description::agree(&options, &found, address))?;
        Ok((filter, found))
    }

    /// Creates the missing shards. The first one is created last: if it exists, all do.
    ///
    /// All have the same secret hash key, so they can be merged. If several processes do this at once, the one that
    /// creates the last shard creates the others too.
    fn create(&mut self, arguments: &str) -> Result<Description> {
        let arguments = format!("{arguments} SEED {}", self.seed()?);
        let keys = self.keys.clone();
        let (first, others) = keys.split_at(1);
        if self.reserve(&others[others.len().saturating_sub(1)..], &arguments)? {
            self.reserve(others, &arguments)?;
            self.reserve(first, &arguments)?;
        }
        // Asks every 20 ms, also whether another process is creating the filter.
        for _ in 0..500 {
            // Another process may have created it at the same time with other options.
            if let Some(found) = self.describe()? {
                return Ok(found);
            }
            thread::sleep(CREATION / 500);
        }
        Err(self.failure(&format!("{UNFINISHED} {}", keys[0])))
    }

    /// Creates keys; returns whether all of them are new.
    fn reserve(&mut self, keys: &[String], arguments: &str) -> Result<bool> {
        let mut are_new = true;
        for (key, it) in zip(keys, self.call_all("RESERVE", keys, arguments)?) {
            match it.reply {
                Some(Err(text)) if text == "item exists" => are_new &= it.in_doubt,
                Some(Err(text)) => return Err(self.failure(&format!("{text} (key {key})"))),
                _ => {}
            }
        }
        Ok(are_new)
    }

    /// 128 random bits in the form of a secret key that CF.RESERVE accepts.
    pub(super) fn seed(&self) -> Result<String> {
        let mut key = [0; 16];
        let filled = rustls::crypto::ring::default_provider().secure_random.fill(&mut key);
        filled.map_err(|_| self.failure("the system has no random numbers for the secret key"))?;
        Ok(hexadecimal(key))
    }

    /// Combines CF.INFO of all shards; `None` if the filter does not exist.
    pub(super) fn describe(&mut self) -> Result<Option<Description>> {
        self.check_name()?;
        let (keys, mut shards) = (self.keys.clone(), Vec::new());
        let infos = self.call_all("INFO", &keys, "FULL")?;
        let items = |info: &Request| whole(info.reply.as_ref()?.as_ref().ok()?, ITEMS);
        // While another process creates the filter, the first shard is missing: it is created last.
        let is_new = infos.iter().filter_map(items).all(|items| items == 0);
        for (key, request) in zip(&keys, infos) {
            match request.reply.unwrap_or(Ok(Value::Nil)) {
                Ok(shard) => shards.push(shard),
                Err(text) if text == "not found" && shards.is_empty() && is_new => return Ok(None),
                Err(text) if text == "not found" => {
                    return Err(self.failure(&format!(
                        "the server has no key {key}: the filter has fewer shards than the address says, or lost this one"
                    )));
                }
                Err(text) => return Err(self.failure(&format!("{text} (key {key})"))),
            }
        }
        let description = Description::of(&keys, &shards);
        description.map(Some).map_err(|reason| self.failure(&reason))
    }

    /// Returns an error if the server has a filter of this name with other shards: the key of one more shard, or beside
    /// shards the name alone. A key that is not a filter does no harm, nor does one that this user may not read.
    fn check_name(&mut self) -> Result<()> {
        let Address { name, shards, .. } = &self.address;
        let others = once(key(name, shards.unwrap_or(0))).chain(shards.map(|_| name.clone()));
        let others: Vec<_> = others.collect();
        let infos = self.call_all("INFO", &others, "FULL")?;
        match zip(&others, infos).find(|(_, info)| matches!(info.reply, Some(Ok(_)))) {
            Some((key, _)) => Err(self.failure(&format!(
                "the server has the key {key}, of a filter with other shards than the address says (?shards=N)"
            ))),
            None => Ok(()),
        }
    }

    pub(super) fn failure(&self, reason: &str) -> Failure {
        let reason = if reason == "not found" { GONE } else { reason };
        Failure::at(&self.address, reason)
    }

    /// A command of the module on a key.
    pub(super) fn request(&self, name: &str, key: &str, arguments: &[&[u8]]) -> Request {
        let name = format!("{}{name}", self.prefix);
        Request::new(key, &[&[name.as_bytes(), key.as_bytes()], arguments].concat())
    }

    /// Executes a command of the module with the same arguments on some keys: each is answered or refused.
    fn call_all(&mut self, name: &str, keys: &[String], arguments: &str) -> Result<Vec<Request>> {
        let arguments: Vec<_> = arguments.split(' ').map(str::as_bytes).collect();
        let request = |key: &String| self.request(name, key, &arguments);
        let mut requests: Vec<_> = keys.iter().map(request).collect();
        self.run(&mut requests).map(|()| requests)
    }

    /// Executes a command: it is answered or refused.
    pub(super) fn call(&mut self, mut request: Request) -> Result<Request> {
        self.run(slice::from_mut(&mut request)).map(|()| request)
    }

    /// Does `op` with some keys, and returns the server's number for each: 1 if the key was inserted, removed or is
    /// present; or the number of copies. Returns an error too if some keys have no answer.
    ///
    /// If the first reply to a command was lost, a key may be present because the first attempt inserted it: that is no
    /// answer.
    fn query(&mut self, op: Op, keys: &Parts) -> (Vec<Option<i64>>, Result<()>) {
        let keys: Vec<_> = keys.iter().collect();
        let mut answers = vec![None; keys.len()];
        let (batches, mut requests): (Vec<_>, Vec<_>) = self.batches(op, &keys).into_iter().unzip();
        let mut result = self.run(&mut requests);
        for (places, Request { reply, in_doubt, .. }) in zip(batches, requests) {
            self.in_doubt += if in_doubt { places.len() as u64 } else { 0 };
            let is_certain = |number: &i64| op != Op::Dedup || !in_doubt || *number == FULL;
            match reply.map(|reply| numbers(&reply?, op, places.len())) {
                Some(Ok(numbers)) => {
                    for (place, number) in zip(places, numbers) {
                        answers[place] = Some(number).filter(is_certain);
                    }
                }
                // A command that would take too much memory is refused as a whole.
                Some(Err(text)) if text.starts_with("OOM ") => {
                    for place in places {
                        answers[place] = Some(FULL);
                    }
                }
                Some(Err(text)) => result = result.and_then(|()| Err(self.failure(&text))),
                None => {}
            }
        }
        (answers, result)
    }

    /// The commands that do `op`, each with the places of its keys: keys of one shard, in their order.
    fn batches(&self, op: Op, keys: &[&[u8]]) -> Vec<(Vec<usize>, Request)> {
        let (hasher, shards) = (KeyHasher::default(), self.keys.len() as u32);
        let mut places = vec![Vec::new(); self.keys.len()];
        for (place, key) in keys.iter().enumerate() {
            places[hasher.hash(key).share(shards) as usize].push(place);
        }
        let name = match op {
            Op::Dedup | Op::AddNew => "INSERTNX",
            Op::Add => "INSERT",
            Op::Remove => "MDEL",
            Op::Check => "MEXISTS",
            Op::Count => "MCOUNT",
        };
        let options: &[&[u8]] = if op.inserts() { &[b"NOCREATE", b"ITEMS"] } else { &[] };
        let mut batches = Vec::new();
        for (key, places) in zip(&self.keys, &places) {
            for places in places.chunks(MOST_KEYS) {
                let items = places.iter().map(|place| keys[*place]);
                let arguments: Vec<_> = options.iter().copied().chain(items).collect();
                batches.push((places.to_vec(), self.request(name, key, &arguments)));
            }
        }
        batches
    }
}

/// The numbers of a reply to `op` with `wanted` keys.
fn numbers(reply: &Value, op: Op, wanted: usize) -> Result<Vec<i64>, String> {
    let least = if op.inserts() { FULL } else { 0 };
    let most = if op == Op::Count { i64::MAX } else { 1 };
    // An error is why this key has no room, such as a limit of memory.
    let number = |value: &Value| value.int().or(matches!(value, Value::Error(_)).then_some(FULL));
    let number = |value: &Value| number(value).filter(|number| (least..=most).contains(number));
    let numbers: Option<Vec<_>> = reply.elements().unwrap_or_default().iter().map(number).collect();
    let fitting = numbers.filter(|numbers| numbers.len() == wanted);
    fitting.ok_or_else(|| "the server sent a reply that does not fit the command".to_owned())
}

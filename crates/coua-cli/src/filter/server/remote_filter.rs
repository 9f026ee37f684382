//! A filter on a server: opened, created (also by several processes at once), and described; operations on keys, in
//! batches per shard.
//!
//! The commands on keys never let the server create a filter, because it would have the server's defaults.

use super::description::{self, Description};
use super::protocol::Value;
use super::requests::{RemoteFilter, Request, key};
use crate::filter::{Address, FilterSpec, Op};
use crate::key::Parts;
use crate::terminal::{Failure, Result, Verbosity, hexadecimal};
use coua::KeyHasher;
use std::iter::{once, zip};
use std::time::{Duration, Instant};
use std::{slice, thread};

/// How long another process may take to create the shards of a filter, and the pause between checks.
const CREATION: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

const GONE: &str =
    "the filter is gone from the server: it was deleted, or the server lost its data";

/// The most keys in a command: enough to make its overhead small, few enough not to delay other clients.
const MOST_KEYS: usize = 4096;
/// Servers refuse longer items by default.
const LONGEST_KEY: usize = 512 << 20;

/// The answer for a key for which the filter has no room.
pub(super) const FULL: i64 = -1;
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
        let mut missing = "no such filter; create it with `coua dedup` or `coua add`";
        let mut found = filter.describe()?;
        if let (Some(options), None) = (&options, &found) {
            (found, missing) = (filter.create(&description::arguments(options)?)?, GONE);
        }
        let found = found.ok_or_else(|| filter.failure(missing))?;
        options.map_or(Ok(()), |options| description::agree(&options, &found, address))?;
        Ok((filter, found))
    }

    /// Creates the missing shards. The first one is created last: if it exists, all do.
    ///
    /// All have the same secret hash key, so they can be merged. If several processes do this at once, the one that
    /// creates the last shard creates the others too, unless it dies meanwhile.
    fn create(&mut self, arguments: &str) -> Result<Option<Description>> {
        let arguments = format!("{arguments} SEED {}", self.seed()?);
        let keys = self.keys.clone();
        let (first, others) = keys.split_at(1);
        let last = &others[others.len().saturating_sub(1)..];
        let (are_new, until) = (self.reserve(last, &arguments)?, Instant::now() + CREATION);
        while !are_new && Instant::now() < until {
            if let Some(found) = self.describe()? {
                return Ok(Some(found));
            }
            thread::sleep(PAUSE);
        }
        self.reserve(others, &arguments)?;
        self.reserve(first, &arguments)?;
        // Another process may have created it at the same time with other options.
        self.describe()
    }

    /// Creates keys; returns whether all of them are new.
    fn reserve(&mut self, keys: &[String], arguments: &str) -> Result<bool> {
        let mut are_new = true;
        for Request { reply, in_doubt, .. } in self.call_all("RESERVE", keys, arguments)? {
            match reply {
                Some(Err(text)) if text == "item exists" => are_new &= in_doubt,
                Some(Err(text)) => return Err(self.failure(&text)),
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
        for (key, request) in zip(&keys, self.call_all("INFO", &keys, "FULL")?) {
            let reason = match request.reply {
                Some(Err(text)) if text == "not found" && shards.is_empty() => return Ok(None),
                Some(Err(text)) if text == "not found" => format!(
                    "the server has no key {key}: the filter has fewer shards than the address says, or lost this one"
                ),
                Some(Err(text)) if text.starts_with("NOPERM ") => format!("{text} (key {key})"),
                Some(Err(text)) => text,
                shard => {
                    shards.extend(shard.and_then(Result::ok));
                    continue;
                }
            };
            return Err(self.failure(&reason));
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
    pub(super) fn query(&mut self, op: Op, keys: &Parts) -> (Vec<Option<i64>>, Result<()>) {
        let keys: Vec<_> = keys.iter().collect();
        let mut answers = vec![None; keys.len()];
        if keys.iter().any(|key| key.len() > LONGEST_KEY) {
            return (answers, Err(self.failure("servers accept no key longer than 512 MiB")));
        }
        let (hasher, count) = (KeyHasher::default(), self.keys.len() as u32);
        let shards: Vec<_> = keys.iter().map(|key| hasher.hash(key).share(count)).collect();
        let mut places: Vec<_> = (0..keys.len()).collect();
        places.sort_by_key(|place| shards[*place]);
        let alike = places.chunk_by(|place, next| shards[*place] == shards[*next]);
        let batches: Vec<_> = alike.flat_map(|places| places.chunks(MOST_KEYS)).collect();
        let name = match op {
            Op::Dedup | Op::AddNew => "INSERTNX",
            Op::Add => "INSERT",
            Op::Remove => "MDEL",
            Op::Check => "MEXISTS",
            Op::Count => "MCOUNT",
        };
        let options: &[&[u8]] = if op.inserts() { &[b"NOCREATE", b"ITEMS"] } else { &[] };
        let request = |places: &&[usize]| {
            let items = places.iter().map(|place| keys[*place]);
            let arguments: Vec<_> = options.iter().copied().chain(items).collect();
            self.request(name, &self.keys[shards[places[0]] as usize], &arguments)
        };
        let mut requests: Vec<_> = batches.iter().map(request).collect();
        let mut result = self.run(&mut requests);
        for (places, Request { reply, in_doubt, .. }) in zip(batches, requests) {
            self.in_doubt += if in_doubt { places.len() as u64 } else { 0 };
            let is_certain = |number: &i64| op != Op::Dedup || !in_doubt || *number == FULL;
            match reply.map(|reply| numbers(&reply?, op, places.len())) {
                Some(Ok(numbers)) => {
                    for (place, number) in zip(places, numbers) {
                        answers[*place] = Some(number).filter(is_certain);
                    }
                }
                Some(Err(text)) => result = result.and_then(|()| Err(self.failure(&text))),
                None => {}
            }
        }
        (answers, result)
    }
}

/// The numbers of a reply to `op` with `wanted` keys.
fn numbers(reply: &Value, op: Op, wanted: usize) -> Result<Vec<i64>, String> {
    let least = if op.inserts() { FULL } else { 0 };
    let most = if op == Op::Count { i64::MAX } else { 1 };
    let number = |value: &Value| value.int().filter(|number| (least..=most).contains(number));
    let numbers: Option<Vec<_>> = reply.elements().unwrap_or_default().iter().map(number).collect();
    let fitting = numbers.filter(|numbers| numbers.len() == wanted);
    fitting.ok_or_else(|| "the server sent a reply that does not fit the command".to_owned())
}

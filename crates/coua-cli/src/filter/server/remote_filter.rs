//! A filter on a server: opened, created (also by several processes at once), and described; operations on keys, in
//! batches per shard.
//!
//! The commands on keys never let the server create a filter, because it would have the server's defaults.

use super::cluster::{key, keys_of};
use super::description::Description;
use super::protocol::{ServerCommand, Value};
use super::requests::{Request, Server};
use super::reserve;
use crate::filter::{Address, FilterSpec, Op};
use crate::key::BlockKeys;
use crate::terminal::{Failure, Result, Verbosity, hexadecimal};
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
/// With more bytes, a command gets no more keys; a longer key has a command of its own.
const MOST_COMMAND: usize = 1 << 20;
/// Servers refuse longer items by default.
const LONGEST_KEY: usize = 512 << 20;

/// The answer for a key for which the filter has no room.
pub(super) const FULL: i64 = -1;
/// The answer for a key that is present.
pub(super) const ALREADY_THERE: i64 = 0;

/// The answer for one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyAnswer {
    /// The server's number: 1 if the key was inserted, removed or is present; or the number of copies. `None` if it
    /// sent none.
    pub(super) number: Option<i64>,
    /// The operation was sent twice, because the first reply was lost: it may have been executed twice.
    pub(super) in_doubt: bool,
}

/// Some keys of one shard, in one command.
struct KeyBatch {
    shard: usize,
    places: Vec<usize>,
    command: ServerCommand,
}

/// A filter on a server.
#[derive(Debug)]
pub(super) struct RemoteFilter {
    pub(super) server: Server,
    /// The keys of its shards.
    pub(super) keys: Vec<String>,
    /// The number of items that were sent twice.
    pub(super) in_doubt: u64,
}

impl RemoteFilter {
    pub(super) fn connect(address: &Address, verbosity: Verbosity) -> Result<Self> {
        let server = Server::connect(address, verbosity)?;
        Ok(Self { server, keys: keys_of(&address.name, address.shards), in_doubt: 0 })
    }

    /// Opens the filter. With options, it must have these, and is created if it is missing.
    pub(super) fn open(
        address: &Address,
        options: Option<&FilterSpec>,
        verbosity: Verbosity,
    ) -> Result<(Self, Description)> {
        options.map_or(Ok(()), reserve::check)?;
        let mut filter = Self::connect(address, verbosity)?;
        let mut missing = "no such filter; create it with `coua dedup` or `coua add`";
        let mut found = filter.describe()?;
        if let (Some(spec), None) = (options, &found) {
            let arguments = reserve::arguments(spec, filter.keys.len() as u64)?;
            (found, missing) = (filter.create(&arguments)?, GONE);
        }
        let found = found.ok_or_else(|| filter.failure(missing))?;
        options.map_or(Ok(()), |spec| reserve::agree(spec, &found, address))?;
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
        let lacking = "the system has no random numbers for the filter's secret key";
        filled.map_err(|_| self.failure(lacking))?;
        Ok(hexadecimal(key))
    }

    /// Combines CF.INFO of all shards; `None` if the filter does not exist.
    pub(super) fn describe(&mut self) -> Result<Option<Description>> {
        let found = self.shards()?;
        let described = match found.iter().position(Option::is_none) {
            Some(0) => return Ok(None),
            Some(missing) => Err(format!(
                "the server has no key {}: the filter has fewer shards than the address says, or lost this one",
                self.keys[missing]
            )),
            None => Description::of(&self.keys, &found.into_iter().flatten().collect::<Vec<_>>()),
        };
        described.map(Some).map_err(|reason| self.failure(&reason))
    }

    /// The fields that CF.INFO replies for each shard; `None` if it is missing. Returns an error if the server has a key
    /// of a filter of this name with other shards: that of one more shard, or beside shards the name alone.
    fn shards(&mut self) -> Result<Vec<Option<Value>>> {
        let Address { name, shards, .. } = &self.server.address;
        let others = once(key(name, shards.unwrap_or(0))).chain(shards.map(|_| name.clone()));
        let keys: Vec<_> = self.keys.iter().cloned().chain(others).collect();
        let (own, mut found) = (self.keys.len(), Vec::new());
        for (key, request) in zip(&keys, self.call_all("INFO", &keys, "FULL")?) {
            let is_own = found.len() < own;
            let reason = match request.reply {
                Some(Ok(_)) if !is_own => format!(
                    "the server has the key {key}, of a filter with other shards than the address says (?shards=N)"
                ),
                Some(Err(text)) if text != "not found" => match text.split(' ').next() {
                    // A key that is not a filter does no harm, nor does one that this user may not read.
                    Some("NOPERM" | "WRONGTYPE") if !is_own => continue,
                    Some("NOPERM") => format!("{text} (key {key})"),
                    _ => text,
                },
                reply => {
                    found.push(reply.and_then(Result::ok));
                    continue;
                }
            };
            return Err(self.failure(&reason));
        }
        found.truncate(own);
        Ok(found)
    }

    /// Stores a note with the first shard, unless it has one of this name. Returns whether it was stored, or the
    /// server's error text.
    pub(super) fn store_note(&mut self, name: &str, note: &[u8]) -> Result<Result<bool, String>> {
        let key = &self.keys[0];
        let command = self.command("NOTE", key).arg(name).arg(note).arg("NX");
        let Request { reply, .. } = self.call(Request::new(key, &command))?;
        Ok(reply.transpose().map(|value| value != Some(Value::Nil)))
    }

    pub(super) fn failure(&self, reason: &str) -> Failure {
        self.server.failure(if reason == "not found" { GONE } else { reason })
    }

    /// A command of the module on a key.
    pub(super) fn command(&self, name: &str, key: &str) -> ServerCommand {
        ServerCommand::new(format!("{}{name}", self.server.prefix)).arg(key)
    }

    /// Executes a command of the module with the same arguments on some keys: each is answered or refused.
    fn call_all(&mut self, name: &str, keys: &[String], arguments: &str) -> Result<Vec<Request>> {
        let command = |key: &str| self.command(name, key).args(arguments.split(' '));
        let request = |key: &String| Request::new(key, &command(key));
        let mut requests: Vec<_> = keys.iter().map(request).collect();
        self.server.run(&mut requests).map(|()| requests)
    }

    /// Executes a request: it is answered or refused.
    pub(super) fn call(&mut self, mut request: Request) -> Result<Request> {
        self.server.run(slice::from_mut(&mut request)).map(|()| request)
    }

    /// Does `op` with some keys. Returns an error too if some keys have no answer.
    pub(super) fn query(&mut self, op: Op, keys: &BlockKeys) -> (Vec<KeyAnswer>, Result<()>) {
        let mut answers = vec![KeyAnswer::default(); keys.hashes.len()];
        if keys.contents.iter().any(|key| key.len() > LONGEST_KEY) {
            return (answers, Err(self.failure("servers accept no key longer than 512 MiB")));
        }
        let batches = self.batches(op, keys);
        let request = |batch: &KeyBatch| Request::new(&self.keys[batch.shard], &batch.command);
        let mut requests: Vec<_> = batches.iter().map(request).collect();
        let mut result = self.server.run(&mut requests);
        for (KeyBatch { places, .. }, Request { reply, in_doubt, .. }) in zip(batches, requests) {
            self.in_doubt += if in_doubt { places.len() as u64 } else { 0 };
            let numbers = reply.map(|reply| numbers(reply, op, places.len())).transpose();
            if let (Err(text), Ok(())) = (&numbers, &result) {
                result = Err(self.failure(text));
            }
            let mut numbers = numbers.ok().flatten().into_iter().flatten();
            for place in places {
                answers[place] = KeyAnswer { number: numbers.next(), in_doubt };
            }
        }
        (answers, result)
    }

    /// The commands that do `op`, with the keys of each shard in their order.
    fn batches(&self, op: Op, keys: &BlockKeys) -> Vec<KeyBatch> {
        let begun = |shard: usize| {
            let key: &String = &self.keys[shard];
            let command = |name| self.command(name, key);
            let command = match op {
                Op::Dedup | Op::AddNew => command("INSERTNX").args(["NOCREATE", "ITEMS"]),
                Op::Add => command("INSERT").args(["NOCREATE", "ITEMS"]),
                Op::Remove => command("MDEL"),
                Op::Check => command("MEXISTS"),
                Op::Count => command("MCOUNT"),
            };
            KeyBatch { shard, places: Vec::new(), command }
        };
        let mut done = Vec::new();
        let mut open: Vec<_> = self.keys.iter().map(|_| None).collect();
        for (place, (hash, key)) in zip(&keys.hashes, keys.contents.iter()).enumerate() {
            let shard = hash.share(self.keys.len() as u32) as usize;
            let batch = open[shard].get_or_insert_with(|| begun(shard));
            batch.places.push(place);
            batch.command.push(key);
            if batch.places.len() >= MOST_KEYS || batch.command.len() >= MOST_COMMAND {
                done.extend(open[shard].take());
            }
        }
        done.extend(open.into_iter().flatten());
        done
    }
}

/// The numbers of a reply to `op`.
fn numbers(reply: Result<Value, String>, op: Op, wanted: usize) -> Result<Vec<i64>, String> {
    let possible = match op {
        Op::Dedup | Op::Add | Op::AddNew => FULL..=1,
        Op::Remove | Op::Check => 0..=1,
        Op::Count => 0..=i64::MAX,
    };
    let number = |value: &Value| match value {
        Value::Int(number) => Some(*number).filter(|number| possible.contains(number)),
        _ => None,
    };
    let reply = reply?;
    let numbers =
        reply.elements().and_then(|all| all.iter().map(number).collect::<Option<Vec<_>>>());
    let fitting = numbers.filter(|numbers| numbers.len() == wanted);
    fitting.ok_or_else(|| "the server sent a reply that does not fit the command".to_owned())
}

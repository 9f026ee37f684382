//! A filter on a server: opened, created (also by several processes at once), looked up, changed and described.

use super::cluster::{Shards, key, slot};
use super::module_commands::{Description, KeyAnswer, KeyBatch, LONGEST_KEY, Operation, window};
use super::protocol::{ServerCommand, Value};
use super::request_queue::{Request, RequestQueue};
use crate::filter::address::Address;
use crate::key::BlockKeys;
use crate::terminal::{Failure, Result, Verbosity, hexadecimal};
use std::time::{Duration, Instant};
use std::{mem, slice, thread};

/// A filter on a server.
#[derive(Debug)]
pub(super) struct RemoteFilter {
    pub(super) queue: RequestQueue,
    pub(super) shards: Shards,
    /// The number of keys that were sent twice.
    pub(super) in_doubt: u64,
}

/// An operation that waits for its replies.
#[derive(Debug)]
pub(super) struct Pending {
    operation: Operation,
    batches: Vec<KeyBatch>,
    keys: usize,
    is_too_long: bool,
}

impl RemoteFilter {
    /// Opens an existing filter.
    pub(super) fn open(address: &Address, verbosity: Verbosity) -> Result<(Self, Description)> {
        let mut filter = Self::connect(address, verbosity)?;
        match filter.describe()? {
            Some(description) => Ok((filter, description)),
            None => {
                Err(filter.failure("no such filter; create it with `coua dedup` or `coua add`"))
            }
        }
    }

    pub(super) fn connect(address: &Address, verbosity: Verbosity) -> Result<Self> {
        let queue = RequestQueue::new(address, verbosity);
        let queue = queue.map_err(|error| Failure::at(address, error))?;
        let shards = Shards::new(&address.name, address.shards);
        Ok(Self { queue, shards, in_doubt: 0 })
    }

    /// The address, without its password.
    pub(super) fn name(&self) -> String {
        self.queue.nodes.address.to_string()
    }

    /// A command of the module on a key.
    pub(super) fn command(&self, name: &str, key: &str) -> ServerCommand {
        ServerCommand::new(format!("{}{name}", self.queue.nodes.prefix)).arg(key)
    }

    /// Combines CF.INFO of all shards; `None` if the filter does not exist.
    pub(super) fn describe(&mut self) -> Result<Option<Description>> {
        let mut found = self.look_for_all()?;
        self.refuse_other_shards(&found)?;
        found.truncate(self.shards.len());
        if found.first().is_none_or(Option::is_none) {
            return Ok(None);
        }
        if let Some(missing) = found.iter().position(Option::is_none) {
            let key = &self.shards.keys()[missing];
            let reason = format!(
                "the server has no key {key}: the filter has fewer shards than the address says, or lost this one"
            );
            return Err(self.failure(&reason));
        }
        let found: Vec<Value> = found.into_iter().flatten().collect();
        self.refuse_other_windows(&found)?;
        let described = Description::of(&found);
        described.map(Some).ok_or_else(|| self.failure("unexpected reply to CF.INFO"))
    }

    /// Returns an error if the shards have different windows.
    fn refuse_other_windows(&self, found: &[Value]) -> Result<()> {
        let differs = |shard: &Value| window(shard) != window(&found[0]);
        let Some(other) = found.iter().position(differs) else { return Ok(()) };
        let [first, other] = [0, other].map(|shard| &self.shards.keys()[shard]);
        let reason = format!(
            "{other} and {first} have different windows (see CF.INFO key FULL), but belong to one filter; rename or \
             delete what does not belong to it"
        );
        Err(self.failure(&reason))
    }

    /// The replies to CF.INFO for each shard, for the key that one more shard would have, and, unless there is only one
    /// shard, for the name alone.
    fn look_for_all(&mut self) -> Result<Vec<Option<Value>>> {
        let Address { name, shards, .. } = &self.queue.nodes.address;
        let beyond = key(name, shards.unwrap_or(0));
        let single = shards.map(|_| name);
        let keys: Vec<_> = self.shards.keys().iter().chain([&beyond]).chain(single).collect();
        let info = |key: &&String| request(key, &self.command("INFO", key).arg("FULL"));
        let requests = keys.iter().map(info).collect();
        let keys: Vec<_> = keys.into_iter().cloned().collect();
        let mut found = Vec::new();
        for (place, (request, key)) in self.run(requests)?.into_iter().zip(keys).enumerate() {
            let is_shard = place < self.shards.len();
            found.push(match request.reply {
                Some(Ok(fields)) => Some(fields),
                Some(Err(text)) if text == "not found" => None,
                // A key that is not a filter does no harm, nor does one that this user may not read.
                Some(Err(text)) if !is_shard && is_not_ours(&text) => None,
                Some(Err(text)) if text.starts_with("NOPERM") => {
                    return Err(self.failure(&format!("{text} (key {key})")));
                }
                Some(Err(text)) => return Err(self.failure(&text)),
                None => None,
            });
        }
        Ok(found)
    }

    /// Returns an error if a filter of the same name has another number of shards than the address says.
    fn refuse_other_shards(&self, found: &[Option<Value>]) -> Result<()> {
        let Address { name, shards, .. } = &self.queue.nodes.address;
        let has = |place: usize| found.get(place).is_some_and(Option::is_some);
        let beyond = self.shards.len();
        let (has_single, has_shards) = match shards {
            None => (has(0), has(beyond)),
            Some(_) => (has(beyond + 1), has(0)),
        };
        let reason = if has_single && has_shards {
            let shard = key(name, 0);
            format!(
                "the server has both {name}, a filter without shards, and {shard}, one with shards; rename or \
                 delete one of them"
            )
        } else if has_single && shards.is_some() {
            format!("the filter is the single key {name}; drop ?shards=N from its address")
        } else if has(beyond) {
            let beyond = key(name, shards.unwrap_or(0));
            format!(
                "the server has the key {beyond}: the filter has more shards than the address says (?shards=N)"
            )
        } else {
            return Ok(());
        };
        Err(self.failure(&reason))
    }

    /// Stores a note with the first shard, unless it has one of this name. Returns whether it was stored, or the
    /// server's error text.
    pub(super) fn keep_note(&mut self, name: &str, note: &[u8]) -> Result<Result<bool, String>> {
        let key = &self.shards.keys()[0];
        let command = self.command("NOTE", key).arg(name).arg(note).arg("NX");
        let request = request(key, &command);
        let reply = self.run(vec![request])?.pop().and_then(|request| request.reply);
        Ok(reply.map_or(Ok(false), |reply| reply.map(|reply| reply != Value::Nil)))
    }

    /// Sends an operation on keys; [`answers`](Self::answers) returns the answers later, in the order of the
    /// operations.
    pub(super) fn ask(&mut self, operation: Operation, keys: &BlockKeys) -> Pending {
        let is_too_long = keys.contents.iter().any(|key| key.len() > LONGEST_KEY);
        let batches = if is_too_long { Vec::new() } else { KeyBatch::of(keys, &self.shards) };
        let (name, options) = operation.command();
        let sent = batches.iter().map(|batch| {
            let key = &self.shards.keys()[batch.shard];
            let command = self.command(name, key).args(options).args(batch.keys(keys));
            let mut request = request(key, &command);
            request.first_key = operation.first_key();
            request
        });
        let sent: Vec<_> = sent.collect();
        self.queue.post(sent);
        Pending { operation, batches, keys: keys.hashes.len(), is_too_long }
    }

    /// Waits for the answers. Returns an error too if some keys will get none.
    pub(super) fn answers(&mut self, asked: Pending) -> (Vec<KeyAnswer>, Result<()>) {
        let Pending { operation, batches, keys, is_too_long } = asked;
        let mut answers = vec![KeyAnswer::default(); keys];
        if is_too_long {
            let reason = "servers accept no key longer than 512 MiB";
            return (answers, Err(self.failure(reason)));
        }
        let (requests, result) = self.queue.take(batches.len());
        let mut result = result.map_err(|text| self.failure(&text));
        for (batch, request) in batches.iter().zip(requests) {
            let in_doubt = request.in_doubt;
            let wanted = batch.places.len();
            let numbers = numbers(request.reply, operation, wanted).unwrap_or_else(|text| {
                let first = mem::replace(&mut result, Ok(()));
                result = first.and(Err(self.failure(&text)));
                Vec::new()
            });
            let mut numbers = numbers.into_iter();
            for &place in &batch.places {
                answers[place] = KeyAnswer { number: numbers.next(), in_doubt };
            }
            self.in_doubt += if in_doubt { wanted as u64 } else { 0 };
        }
        (answers, result)
    }

    /// Executes requests while no operation is pending.
    pub(super) fn run(&mut self, requests: Vec<Request>) -> Result<Vec<Request>> {
        let count = requests.len();
        self.queue.post(requests);
        let (requests, result) = self.queue.take(count);
        result.map(|()| requests).map_err(|text| self.failure(&text))
    }

    pub(super) fn failure(&self, reason: &str) -> Failure {
        let reason = if reason == "not found" { GONE } else { reason };
        Failure::at(&self.queue.nodes.address, reason)
    }
}

/// Whether the server refuses a key because of its type, or for this user.
fn is_not_ours(refusal: &str) -> bool {
    ["WRONGTYPE", "NOPERM"].iter().any(|code| refusal.starts_with(code))
}

pub(super) const GONE: &str =
    "the filter is gone from the server: it was deleted, or the server lost its data";

/// The numbers of a reply; `None` if there was no reply.
fn numbers(
    reply: Option<Result<Value, String>>,
    operation: Operation,
    wanted: usize,
) -> Result<Vec<i64>, String> {
    let strange = || "the server sent a reply that does not fit the command".to_owned();
    let Some(reply) = reply else { return Ok(Vec::new()) };
    let Value::Array(numbers) = reply? else { return Err(strange()) };
    let number = |number| match number {
        Value::Int(number) if operation.allows(number) => Ok(number),
        _ => Err(strange()),
    };
    let numbers = numbers.into_iter().map(number).collect::<Result<Vec<_>, _>>()?;
    if numbers.len() == wanted { Ok(numbers) } else { Err(strange()) }
}

pub(super) fn request(key: &str, command: &ServerCommand) -> Request {
    Request::new(slot(key), command)
}

/// How long another process may take to create the shards of a filter, and the pause between checks.
const CREATION: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

impl RemoteFilter {
    /// Opens the filter, or creates it; `arguments` returns the arguments of CF.RESERVE for each shard.
    pub(super) fn open_or_create(
        address: &Address,
        arguments: impl FnOnce(u64) -> Result<Vec<String>>,
        verbosity: Verbosity,
    ) -> Result<(Self, Description)> {
        let mut filter = Self::connect(address, verbosity)?;
        if let Some(description) = filter.describe()? {
            return Ok((filter, description));
        }
        filter.create(arguments(filter.shards.len() as u64)?)?;
        // Another process may have created it at the same time with other options.
        let description = filter.describe()?;
        let description = description.ok_or_else(|| filter.failure(GONE))?;
        Ok((filter, description))
    }

    /// Creates the missing shards. The first one is created last: if it exists, all do.
    ///
    /// All have the same secret hash key, so they can be merged. If several processes do this at once, the one that
    /// creates the last shard creates the others too, unless it dies meanwhile.
    fn create(&mut self, mut arguments: Vec<String>) -> Result<()> {
        let keys = self.shards.keys().to_vec();
        let Some((first, others)) = keys.split_first() else { return Ok(()) };
        if let Some((last, between)) = others.split_last() {
            arguments.extend(["SEED".to_owned(), self.seed()?]);
            if !self.reserve(slice::from_ref(last), &arguments)? && self.appears()? {
                return Ok(());
            }
            self.reserve(between, &arguments)?;
        }
        self.reserve(slice::from_ref(first), &arguments).map(drop)
    }

    /// Creates keys; returns whether all of them are new.
    fn reserve(&mut self, keys: &[String], arguments: &[String]) -> Result<bool> {
        let reserve = |key: &String| request(key, &self.command("RESERVE", key).args(arguments));
        let mut are_new = true;
        for request in self.run(keys.iter().map(reserve).collect())? {
            match request.reply {
                Some(Err(text)) if text == "item exists" => are_new &= request.in_doubt,
                Some(Err(text)) => return Err(self.failure(&text)),
                _ => {}
            }
        }
        Ok(are_new)
    }

    /// Whether another process completes the filter within [`CREATION`].
    fn appears(&mut self) -> Result<bool> {
        let until = Instant::now() + CREATION;
        while Instant::now() < until {
            if self.describe()?.is_some() {
                return Ok(true);
            }
            thread::sleep(PAUSE);
        }
        Ok(false)
    }

    /// 128 random bits in the form of a secret key that CF.RESERVE accepts.
    pub(super) fn seed(&self) -> Result<String> {
        let mut key = [0; 16];
        let filled = rustls::crypto::ring::default_provider().secure_random.fill(&mut key);
        filled.map_err(|_| {
            self.failure("the system has no random numbers for the filter's secret key")
        })?;
        Ok(hexadecimal(key))
    }
}

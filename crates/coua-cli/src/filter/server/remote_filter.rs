//! A filter on a server: opened, created (also by several processes at once), looked up, changed and described.

use super::cluster::{key, keys_of, slot};
use super::connection::MOST_BYTES;
use super::operations::{Description, KeyAnswer, KeyBatch, LONGEST_KEY, allows, command, window};
use super::protocol::{ServerCommand, Value};
use super::requests::{Request, Server};
use crate::filter::{Address, Op};
use crate::key::BlockKeys;
use crate::terminal::{Failure, Result, Verbosity, hexadecimal};
use std::iter::zip;
use std::time::{Duration, Instant};
use std::{mem, slice, thread};

/// A filter on a server.
#[derive(Debug)]
pub(super) struct RemoteFilter {
    pub(super) server: Server,
    /// The keys of its shards.
    pub(super) keys: Vec<String>,
    /// The number of items that were sent twice.
    pub(super) in_doubt: u64,
}

/// The reply to a command.
pub(super) struct Reply {
    /// The value, or why the server refused the command.
    pub(super) value: Result<Value, String>,
    /// The command was sent twice, because the first reply was lost.
    pub(super) in_doubt: bool,
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
        let server = Server::connect(address, verbosity);
        let server = server.map_err(|error| Failure::at(address, error))?;
        Ok(Self { server, keys: keys_of(&address.name, address.shards), in_doubt: 0 })
    }

    /// The address, without its password.
    pub(super) fn name(&self) -> String {
        self.server.address.to_string()
    }

    pub(super) fn failure(&self, reason: &str) -> Failure {
        let reason = if reason == "not found" { GONE } else { reason };
        Failure::at(&self.server.address, reason)
    }

    /// A command of the module on a key.
    pub(super) fn command(&self, name: &str, key: &str) -> ServerCommand {
        ServerCommand::new(format!("{}{name}", self.server.prefix)).arg(key)
    }

    /// Executes a command of the module with the same arguments on some keys.
    fn call_all(
        &mut self,
        name: &str,
        keys: &[String],
        arguments: &[String],
    ) -> Result<Vec<Reply>> {
        let request = |key: &String| {
            Request::new(slot(key), &self.command(name, key).args(arguments), MOST_BYTES)
        };
        let requests = keys.iter().map(request).collect();
        self.run(requests)
    }

    /// Executes a command on a key.
    pub(super) fn call(&mut self, key: &str, command: &ServerCommand) -> Result<Reply> {
        self.call_for(key, command, MOST_BYTES)
    }

    /// Executes a command on a key, with a reply of at most `bytes`.
    pub(super) fn call_for(
        &mut self,
        key: &str,
        command: &ServerCommand,
        bytes: u64,
    ) -> Result<Reply> {
        let mut replies = self.run(vec![Request::new(slot(key), command, bytes)])?;
        Ok(replies.remove(0))
    }

    fn run(&mut self, mut requests: Vec<Request>) -> Result<Vec<Reply>> {
        self.server.run(&mut requests).map_err(|reason| self.failure(&reason))?;
        let reply = |Request { reply, in_doubt, .. }| Some(Reply { value: reply?, in_doubt });
        Ok(requests.into_iter().filter_map(reply).collect())
    }

    /// Combines CF.INFO of all shards; `None` if the filter does not exist.
    pub(super) fn describe(&mut self) -> Result<Option<Description>> {
        let mut found = Vec::new();
        for (key, reply) in zip(self.keys.clone(), self.info(&self.keys.clone())?) {
            let named = |text: String| {
                if text.starts_with("NOPERM") { format!("{text} (key {key})") } else { text }
            };
            found.push(reply.map_err(|text| self.failure(&named(text)))?);
        }
        self.refuse_other_shards()?;
        if found[0].is_none() {
            return Ok(None);
        }
        if let Some(missing) = found.iter().position(Option::is_none) {
            let key = &self.keys[missing];
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

    /// The fields that CF.INFO replies for each key; `None` if there is none.
    fn info(&mut self, keys: &[String]) -> Result<Vec<Result<Option<Value>, String>>> {
        let replies = self.call_all("INFO", keys, &["FULL".to_owned()])?;
        let found = |reply: Reply| match reply.value {
            Err(text) if text == "not found" => Ok(None),
            value => value.map(Some),
        };
        Ok(replies.into_iter().map(found).collect())
    }

    /// Returns an error if the shards have different windows.
    fn refuse_other_windows(&self, found: &[Value]) -> Result<()> {
        let differs = |shard: &Value| window(shard) != window(&found[0]);
        let Some(other) = found.iter().position(differs) else { return Ok(()) };
        let [first, other] = [&self.keys[0], &self.keys[other]];
        let reason = format!(
            "{other} and {first} have different windows (see CF.INFO key FULL), but belong to one filter; rename or \
             delete what does not belong to it"
        );
        Err(self.failure(&reason))
    }

    /// Returns an error if the server has a key of a filter of this name with other shards: that of one more shard, or
    /// beside shards the name alone.
    fn refuse_other_shards(&mut self) -> Result<()> {
        let Address { name, shards, .. } = self.server.address.clone();
        let beyond = key(&name, shards.unwrap_or(0));
        let others: Vec<_> = [beyond].into_iter().chain(shards.map(|_| name)).collect();
        for (key, found) in zip(&others, self.info(&others)?) {
            match found {
                Ok(None) => {}
                Ok(Some(_)) => {
                    let reason = format!(
                        "the server has the key {key}, of a filter with other shards than the address says (?shards=N)"
                    );
                    return Err(self.failure(&reason));
                }
                // A key that is not a filter does no harm, nor does one that this user may not read.
                Err(text) if text.starts_with("WRONGTYPE") || text.starts_with("NOPERM") => {}
                Err(text) => return Err(self.failure(&text)),
            }
        }
        Ok(())
    }

    /// Stores a note with the first shard, unless it has one of this name. Returns whether it was stored, or the
    /// server's error text.
    pub(super) fn keep_note(&mut self, name: &str, note: &[u8]) -> Result<Result<bool, String>> {
        let key = self.keys[0].clone();
        let command = self.command("NOTE", &key).arg(name).arg(note).arg("NX");
        Ok(self.call(&key, &command)?.value.map(|value| value != Value::Nil))
    }

    /// Does `op` with some keys. Returns an error too if some keys have no answer.
    pub(super) fn query(&mut self, op: Op, keys: &BlockKeys) -> (Vec<KeyAnswer>, Result<()>) {
        let mut answers = vec![KeyAnswer::default(); keys.hashes.len()];
        if keys.contents.iter().any(|key| key.len() > LONGEST_KEY) {
            return (answers, Err(self.failure("servers accept no key longer than 512 MiB")));
        }
        let batches = KeyBatch::of(keys, self.keys.len());
        let (name, options) = command(op);
        let request = |batch: &KeyBatch| {
            let key = &self.keys[batch.shard];
            let command = self.command(name, key).args(options).args(batch.keys(keys));
            Request::new(slot(key), &command, MOST_BYTES)
        };
        let mut requests: Vec<_> = batches.iter().map(request).collect();
        let result = self.server.run(&mut requests);
        let mut result = result.map_err(|reason| self.failure(&reason));
        for (batch, Request { reply, in_doubt, .. }) in zip(batches, requests) {
            let wanted = batch.places.len();
            let numbers = numbers(reply, op, wanted).unwrap_or_else(|text| {
                let first = mem::replace(&mut result, Ok(()));
                result = first.and(Err(self.failure(&text)));
                Vec::new()
            });
            let mut numbers = numbers.into_iter();
            for place in batch.places {
                answers[place] = KeyAnswer { number: numbers.next(), in_doubt };
            }
            self.in_doubt += if in_doubt { wanted as u64 } else { 0 };
        }
        (answers, result)
    }
}

pub(super) const GONE: &str =
    "the filter is gone from the server: it was deleted, or the server lost its data";

/// The numbers of a reply to `op`; none if there was no reply.
fn numbers(
    reply: Option<Result<Value, String>>,
    op: Op,
    wanted: usize,
) -> Result<Vec<i64>, String> {
    let strange = || "the server sent a reply that does not fit the command".to_owned();
    let Some(reply) = reply else { return Ok(Vec::new()) };
    let Value::Array(numbers) = reply? else { return Err(strange()) };
    let number = |number| match number {
        Value::Int(number) if allows(op, number) => Ok(number),
        _ => Err(strange()),
    };
    let numbers = numbers.into_iter().map(number).collect::<Result<Vec<_>, _>>()?;
    if numbers.len() == wanted { Ok(numbers) } else { Err(strange()) }
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
        filter.create(arguments(filter.keys.len() as u64)?)?;
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
        let keys = self.keys.clone();
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
        let mut are_new = true;
        for Reply { value, in_doubt } in self.call_all("RESERVE", keys, arguments)? {
            match value {
                Err(text) if text == "item exists" => are_new &= in_doubt,
                Err(text) => return Err(self.failure(&text)),
                Ok(_) => {}
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

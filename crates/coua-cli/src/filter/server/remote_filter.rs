//! A filter on a server: opened, created (also by several processes at once), and described.

use super::cluster::{key, keys_of};
use super::description::Description;
use super::protocol::{ServerCommand, Value};
use super::requests::{Request, Server};
use super::reserve;
use crate::filter::{Address, FilterSpec};
use crate::terminal::{Failure, Result, Verbosity, hexadecimal};
use std::iter::{once, zip};
use std::time::{Duration, Instant};
use std::{slice, thread};

/// How long another process may take to create the shards of a filter, and the pause between checks.
const CREATION: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

const GONE: &str =
    "the filter is gone from the server: it was deleted, or the server lost its data";

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
}

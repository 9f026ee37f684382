//! A filter on a server: opened, created (also by several processes at once), and described.

use super::cluster::{key, keys_of};
use super::connection::MOST_BYTES;
use super::description::{Description, window};
use super::protocol::{ServerCommand, Value};
use super::requests::{Request, Server};
use crate::filter::Address;
use crate::terminal::{Failure, Result, Verbosity, hexadecimal};
use std::iter::{once, zip};
use std::thread;
use std::time::{Duration, Instant};

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

    /// Opens an existing filter.
    pub(super) fn open(address: &Address, verbosity: Verbosity) -> Result<(Self, Description)> {
        let mut filter = Self::connect(address, verbosity)?;
        let missing = "no such filter; create it with `coua dedup` or `coua add`";
        let description = filter.describe()?.ok_or_else(|| filter.failure(missing))?;
        Ok((filter, description))
    }

    /// Opens the filter, or creates it; `arguments` returns the arguments of CF.RESERVE for each shard.
    pub(super) fn open_or_create(
        address: &Address,
        arguments: impl FnOnce(u64) -> Result<String>,
        verbosity: Verbosity,
    ) -> Result<(Self, Description)> {
        let mut filter = Self::connect(address, verbosity)?;
        if let Some(description) = filter.describe()? {
            return Ok((filter, description));
        }
        filter.create(&arguments(filter.keys.len() as u64)?)?;
        // Another process may have created it at the same time with other options.
        let description = filter.describe()?.ok_or_else(|| filter.failure(GONE))?;
        Ok((filter, description))
    }

    /// Creates the missing shards. The first one is created last: if it exists, all do.
    ///
    /// All have the same secret hash key, so they can be merged. If several processes do this at once, the one that
    /// creates the last shard creates the others too, unless it dies meanwhile.
    fn create(&mut self, arguments: &str) -> Result<()> {
        let arguments = format!("{arguments} SEED {}", self.seed()?);
        let keys = self.keys.clone();
        let (first, others) = keys.split_at(1);
        let last = &others[others.len().saturating_sub(1)..];
        if !self.reserve(last, &arguments)? && self.appears()? {
            return Ok(());
        }
        self.reserve(others, &arguments)?;
        self.reserve(first, &arguments).map(drop)
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
        let lacking = "the system has no random numbers for the filter's secret key";
        filled.map_err(|_| self.failure(lacking))?;
        Ok(hexadecimal(key))
    }

    /// Combines CF.INFO of all shards; `None` if the filter does not exist.
    pub(super) fn describe(&mut self) -> Result<Option<Description>> {
        let (found, missing) = self.shards()?;
        if missing.as_ref() == self.keys.first() {
            return Ok(None);
        }
        if let Some(key) = missing {
            let reason = format!(
                "the server has no key {key}: the filter has fewer shards than the address says, or lost this one"
            );
            return Err(self.failure(&reason));
        }
        if let Some(other) = found.iter().position(|shard| window(shard) != window(&found[0])) {
            let [first, other] = [&self.keys[0], &self.keys[other]];
            let reason = format!(
                "{other} and {first} have different windows (see CF.INFO key FULL), but belong to one filter; rename or \
                 delete what does not belong to it"
            );
            return Err(self.failure(&reason));
        }
        let described = Description::of(&found);
        described.map(Some).ok_or_else(|| self.failure("unexpected reply to CF.INFO"))
    }

    /// The fields that CF.INFO replies for the shards, and the first shard that is missing. Returns an error if the
    /// server has a key of a filter of this name with other shards: that of one more shard, or beside shards the name
    /// alone.
    fn shards(&mut self) -> Result<(Vec<Value>, Option<String>)> {
        let Address { name, shards, .. } = &self.server.address;
        let others = once(key(name, shards.unwrap_or(0))).chain(shards.map(|_| name.clone()));
        let all: Vec<_> = self.keys.iter().cloned().chain(others).collect();
        let (mut found, mut missing) = (Vec::new(), None);
        let replies = self.call_all("INFO", &all, "FULL")?;
        for (number, (key, request)) in zip(all, replies).enumerate() {
            let is_own = number < self.keys.len();
            let reason = match request.reply {
                Some(Ok(info)) if is_own => {
                    found.push(info);
                    continue;
                }
                Some(Err(text)) if text == "not found" => {
                    missing = missing.or_else(|| is_own.then_some(key));
                    continue;
                }
                Some(Err(text)) if text.starts_with("NOPERM") && is_own => {
                    format!("{text} (key {key})")
                }
                // A key that is not a filter does no harm, nor does one that this user may not read.
                Some(Err(text))
                    if text.starts_with("NOPERM") || text.starts_with("WRONGTYPE") && !is_own =>
                {
                    continue;
                }
                Some(Err(text)) => text,
                _ => format!(
                    "the server has the key {key}, of a filter with other shards than the address says (?shards=N)"
                ),
            };
            return Err(self.failure(&reason));
        }
        Ok((found, missing))
    }

    /// Stores a note with the first shard, unless it has one of this name. Returns whether it was stored, or the
    /// server's error text.
    pub(super) fn store_note(&mut self, name: &str, note: &[u8]) -> Result<Result<bool, String>> {
        let key = self.keys[0].clone();
        let command = self.command("NOTE", &key).arg(name).arg(note).arg("NX");
        let Request { reply, .. } = self.call(&key, &command)?;
        Ok(reply.transpose().map(|value| value != Some(Value::Nil)))
    }

    /// The address, without its password.
    pub(super) fn name(&self) -> String {
        self.server.address.to_string()
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
        let request = |key: &String| Request::new(key, &command(key), MOST_BYTES);
        let mut requests: Vec<_> = keys.iter().map(request).collect();
        self.server.run(&mut requests).map(|()| requests)
    }

    /// Executes a command on a key: it is answered or refused.
    pub(super) fn call(&mut self, key: &str, command: &ServerCommand) -> Result<Request> {
        self.server.run_one(Request::new(key, command, MOST_BYTES))
    }
}

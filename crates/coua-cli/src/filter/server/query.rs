//! Operations on keys, in batches per shard.
//!
//! The commands never let the server create a filter, because it would have the server's defaults.

use super::protocol::{ServerCommand, Value};
use super::remote_filter::RemoteFilter;
use super::requests::Request;
use crate::filter::Op;
use crate::key::BlockKeys;
use crate::terminal::Result;
use std::iter::zip;

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

impl RemoteFilter {
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

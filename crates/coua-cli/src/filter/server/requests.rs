//! The requests of a filter: to all nodes of its cluster at once, with retries.
//!
//! Requests to the same slot are executed one after the other: the next one is sent when the one before is answered. So
//! the first of equal keys gets the 1 ("inserted", "removed"), whatever is refused, lost or moved in between.

use super::address::{Address, SLOTS, node as node_name};
use super::connection::{Connection, LinkError, MOST_BYTES, Value, encode};
use crate::terminal::{Failure, Result, Verbosity, caught_signal};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};
use std::{fmt, thread};

/// The first and the longest pause between attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How long nodes may redirect the program to each other, even with a shorter `retry`.
const MOVING: Duration = Duration::from_secs(5);

/// A command, and later its reply.
#[derive(Debug, Default)]
pub(super) struct Request {
    /// The slot of its key.
    slot: u16,
    /// The command in the encoding of the protocol.
    command: Vec<u8>,
    /// The most bytes of the reply.
    pub(super) most_bytes: u64,
    /// The command was sent, and its reply was lost: it may have been executed already.
    pub(super) in_doubt: bool,
    /// The node that has the key while its slot moves: the command is sent there, behind ASKING.
    ask: Option<String>,
    /// The reply, or why the server refused the command.
    pub(super) reply: Option<Result<Value, String>>,
}

impl Request {
    /// A command on a key.
    pub(super) fn new(key: &str, words: &[&[u8]]) -> Self {
        let (slot, command) = (slot(key), encode(words));
        Self { slot, command, most_bytes: MOST_BYTES, ..Self::default() }
    }

    fn send(&self, connection: &mut Connection) -> Result<(), LinkError> {
        if self.ask.is_some() {
            connection.send(&encode(&["ASKING"]))?;
        }
        connection.send(&self.command)
    }

    fn receive(&mut self, connection: &mut Connection) -> Result<Value, LinkError> {
        if self.ask.take().is_some() {
            // If ASKING is refused, the connection is given up: the reply to the command is still to come.
            connection.receive(MOST_BYTES).map_err(|error| LinkError::Lost(error.to_string()))?;
        }
        connection.receive(self.most_bytes)
    }
}

fn unanswered(requests: &[Request]) -> usize {
    requests.iter().filter(|request| request.reply.is_none()).count()
}

/// A filter on a server or cluster.
#[derive(Debug)]
pub(super) struct RemoteFilter {
    pub(super) address: Address,
    /// The keys of its shards.
    pub(super) keys: Vec<String>,
    verbosity: Verbosity,
    slots: SlotMap,
    connections: HashMap<String, Connection>,
    /// How the names of the module's commands begin, on all nodes.
    pub(super) prefix: &'static str,
    /// Why no more attempts are made.
    gave_up: Option<String>,
    /// The number of items that were sent twice.
    pub(super) in_doubt: u64,
}

impl RemoteFilter {
    /// Connects to the server of the address, and finds out whether it belongs to a cluster.
    pub(super) fn connect(address: &Address, verbosity: Verbosity) -> Result<Self> {
        Self::reach(address, verbosity).map_err(|error| Failure::at(address, error))
    }

    fn reach(address: &Address, verbosity: Verbosity) -> Result<Self, LinkError> {
        let first = address.node.clone();
        let mut connection = Connection::open(address, &first)?;
        let (prefix, hello) = (connection.prefix, connection.call(&["HELLO"])?);
        let is_cluster = hello.field("mode").and_then(Value::text) == Some(b"cluster");
        let primaries = Vec::from_iter((!is_cluster).then(|| (0..=SLOTS, first.clone())));
        let known = BTreeSet::from_iter(is_cluster.then(|| first.clone()));
        let mut filter = Self {
            address: address.clone(),
            keys: keys_of(&address.name, address.shards),
            verbosity,
            slots: SlotMap { primaries, known },
            connections: HashMap::from([(first, connection)]),
            prefix,
            gave_up: None,
            in_doubt: 0,
        };
        filter.learn_slots().map(|()| filter)
    }

    /// Prints a message about the filter, unless the program is quiet.
    pub(super) fn say(&self, text: impl fmt::Display) {
        self.verbosity.say(format_args!("{}: {text}", self.address));
    }

    /// Executes all requests: afterwards each is answered or refused.
    pub(super) fn run(&mut self, requests: &mut [Request]) -> Result<()> {
        let mut failing: Option<Instant> = None;
        while unanswered(requests) > 0 {
            if let Some(reason) = &self.gave_up {
                return Err(Failure::at(&self.address, reason));
            }
            let before = unanswered(requests);
            let Err(error) = self.round(requests) else { continue };
            failing = failing.filter(|_| unanswered(requests) == before);
            self.gave_up = self.wait(&error, failing.map(|since| since.elapsed())).err();
            failing.get_or_insert_with(Instant::now);
            if self.gave_up.is_none() && !matches!(error, LinkError::Moved(Some(_))) {
                // Since the pause, keys may have moved on. If no node replies now, one may after the next pause.
                for request in &mut *requests {
                    request.ask = None;
                }
                self.learn_slots().ok();
            }
        }
        Ok(())
    }

    /// Pauses before the next attempt, or returns why there is none. `failing` is the time since the first error without
    /// progress; that error is reported.
    fn wait(&self, error: &LinkError, failing: Option<Duration>) -> Result<(), String> {
        if let LinkError::Refused(text) = error {
            return Err(text.clone());
        }
        // If a key has moved, all servers reply.
        let has_moved = matches!(error, LinkError::Moved(_));
        let least = if has_moved { MOVING } else { Duration::ZERO };
        let patience = self.address.patience.max(least);
        let (seconds, waited) = (patience.as_secs_f64(), failing.unwrap_or_default());
        if caught_signal().is_some() {
            return Err(format!("{error}, and the program was told to stop"));
        }
        if waited >= patience {
            return Err(format!("{error}; gave up after {seconds} s"));
        }
        // A key that has moved is first tried again without a pause, and always if it is moving: it may soon move back.
        if has_moved && failing.is_none() || matches!(error, LinkError::Moved(Some(_))) {
            return Ok(());
        }
        if failing.is_none() {
            self.say(format_args!("{error}; trying again for {seconds} s"));
        }
        thread::sleep(waited.clamp(FIRST_PAUSE, LONGEST_PAUSE));
        Ok(())
    }

    /// Sends the first unanswered request of each slot, and receives all replies. Returns the last error.
    fn round(&mut self, requests: &mut [Request]) -> Result<(), LinkError> {
        let (mut result, mut slots) = (Ok(()), HashSet::new());
        for place in 0..requests.len() {
            let Request { reply, slot, .. } = &requests[place];
            if reply.is_none() && slots.insert(*slot) {
                result = self.send(place, requests).and(result);
            }
        }
        let nodes: Vec<_> = self.connections.keys().cloned().collect();
        for node in nodes {
            result = self.receive(&node, requests).and(result);
        }
        result
    }

    fn send(&mut self, place: usize, requests: &mut [Request]) -> Result<(), LinkError> {
        let request = &mut requests[place];
        let slot = request.slot;
        let missing = || LinkError::NotNow(format!("no node of the cluster serves slot {slot}"));
        let node = request.ask.as_deref().or_else(|| self.slots.owner(slot));
        let node = node.ok_or_else(missing)?.to_owned();
        // If the node cannot be reached, the cluster is asked again which one has the key.
        let connection = self.connection(&node).inspect_err(|_| request.ask = None)?;
        connection.waiting.push_back(place);
        request.send(connection).inspect_err(|_| self.lose(&node, requests))
    }

    /// Receives the replies of a node to all that wait for one. Returns the last error.
    fn receive(&mut self, node: &str, requests: &mut [Request]) -> Result<(), LinkError> {
        let mut result = Ok(());
        while let Some(connection) = self.connections.get_mut(node)
            && let Some(place) = connection.waiting.front()
        {
            let request = &mut requests[*place];
            match request.receive(connection) {
                Ok(reply) => request.reply = Some(Ok(reply)),
                Err(LinkError::Refused(text)) => request.reply = Some(Err(text)),
                Err(LinkError::Moved(_)) if self.slots.known.is_empty() => {
                    let text = "the server redirects to another one, but is not part of a cluster";
                    request.reply = Some(Err(text.to_owned()));
                }
                Err(error @ LinkError::Lost(_)) => {
                    self.lose(node, requests);
                    return Err(error);
                }
                Err(error) => {
                    if let LinkError::Moved(ask) = &error {
                        request.ask = ask.as_ref().and_then(|ask| node_name(ask, node));
                    }
                    result = Err(error);
                }
            }
            connection.waiting.pop_front();
        }
        result
    }

    /// Drops a lost connection, with the replies to all that wait for one.
    fn lose(&mut self, node: &str, requests: &mut [Request]) {
        for place in self.connections.remove(node).into_iter().flat_map(|lost| lost.waiting) {
            requests[place].in_doubt = true;
            requests[place].ask = None;
        }
    }

    /// The connection to a node, opened if there is none.
    fn connection(&mut self, node: &str) -> Result<&mut Connection, LinkError> {
        if self.connections.get_mut(node).is_some_and(Connection::is_closed) {
            self.connections.remove(node);
        }
        match self.connections.entry(node.to_owned()) {
            Entry::Occupied(connection) => Ok(connection.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(Connection::open(&self.address, node)?)),
        }
    }

    /// Asks a cluster which node has which slots. The first answer is used.
    fn learn_slots(&mut self) -> Result<(), LinkError> {
        let mut result = Ok(());
        for node in self.slots.known.clone() {
            match self.connection(&node).and_then(|open| open.call(&["CLUSTER", "SLOTS"])) {
                Ok(reply) => return self.record_slots(&reply, &node),
                Err(error) => result = Err(error),
            }
            self.connections.remove(&node);
        }
        result
    }

    fn record_slots(&mut self, reply: &Value, reporter: &str) -> Result<(), LinkError> {
        let unexpected = || LinkError::Refused("unexpected reply to CLUSTER SLOTS".to_owned());
        let now = self.slots.read(reply, reporter).ok_or_else(unexpected)?;
        for [old, new] in now.successions(&self.slots) {
            self.say(format_args!(
                "{new} has become the owner of the slots of {old}; what {old} had not passed on to it is new again"
            ));
        }
        self.slots = now;
        Ok(())
    }
}

/// Which node has which slots.
#[derive(Debug)]
struct SlotMap {
    primaries: Vec<(RangeInclusive<u16>, String)>,
    /// All nodes of the cluster ever seen; any of them can be asked for the current ones. A single server has none.
    known: BTreeSet<String>,
}

impl SlotMap {
    /// The node that has a slot.
    fn owner(&self, slot: u16) -> Option<&str> {
        let primary = self.primaries.iter().find(|(slots, _)| slots.contains(&slot));
        primary.map(|(_, node)| node.as_str())
    }

    /// The map of a later reply to CLUSTER SLOTS; `None` if the reply is not one.
    fn read(&self, reply: &Value, reporter: &str) -> Option<Self> {
        let mut now = Self { primaries: Vec::new(), known: self.known.clone() };
        for range in reply.elements()? {
            // The primary, then its replicas.
            let [first, last, nodes @ ..] = range.elements()? else { return None };
            let [first, last] = [first, last].map(|slot| u16::try_from(slot.int()?).ok());
            let nodes = nodes.iter().map(|value| node_of(value, reporter));
            let nodes = nodes.collect::<Option<Vec<_>>>()?;
            now.primaries.push((first?..=last?, nodes.first()?.clone()));
            now.known.extend(nodes);
        }
        Some(now)
    }

    /// The nodes that have lost all their slots since `before`, each with a node that had none and now has some of
    /// these. A planned move of slots takes them one by one.
    fn successions<'a>(&'a self, before: &'a Self) -> BTreeSet<[&'a str; 2]> {
        let lacks = |map: &Self, node: &str| map.primaries.iter().all(|(_, other)| other != node);
        let pair = |(slots, new): &'a (RangeInclusive<u16>, String)| {
            let old = before.owner(*slots.start()).filter(|old| lacks(self, old))?;
            lacks(before, new).then_some([old, new.as_str()])
        };
        self.primaries.iter().filter_map(pair).collect()
    }
}

/// A node of CLUSTER SLOTS.
fn node_of(value: &Value, reporter: &str) -> Option<String> {
    let [host, port, ..] = value.elements()? else { return None };
    let host = str::from_utf8(host.text().unwrap_or_default()).ok()?;
    node_name(&format!("{host}:{}", port.int()?), reporter)
}

/// The keys that a filter is spread over: `name` alone, or `{name:0}` to `{name:N-1}`. Each of these has its own hash
/// tag, so a cluster spreads them over all of its slots. An item belongs to the same shard as with `--shard`.
fn keys_of(name: &str, shards: Option<u32>) -> Vec<String> {
    let of_shards = |shards| (0..shards).map(|number| key(name, number)).collect();
    shards.map_or_else(|| vec![name.to_owned()], of_shards)
}

/// The key of a shard.
pub(super) fn key(name: &str, number: u32) -> String {
    format!("{{{name}:{number}}}")
}

/// The slot of a key in a cluster: that of its hash tag, if it begins with one.
fn slot(key: &str) -> u16 {
    let tag = key.strip_prefix('{').and_then(|key| key.split_once('}'));
    let tag = tag.map_or(key, |(tag, _)| tag);
    crc16::State::<crc16::XMODEM>::calculate(tag.as_bytes()) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_without_a_host_are_where_the_one_is_that_tells() {
        let host = |text: &str| Value::Text(text.into());
        for (host, expected) in [
            (host("there"), "there:7"),
            (host("::1"), "[::1]:7"),
            (host(""), "here:7"),
            (host("?"), "here:7"),
            (Value::Nil, "here:7"),
        ] {
            let found = node_of(&Value::Array(vec![host, Value::Int(7)]), "here:1");
            assert_eq!(found.as_deref(), Some(expected));
        }
    }

    use coua::KeyHasher;

    #[test]
    fn golden_shards() {
        let of = |item: &str| KeyHasher::default().hash(item.as_bytes()).share(64);
        let found = ["", "a", "b", "https://example.org/", "coua"].map(of);
        assert_eq!(found, [48, 7, 15, 18, 51]);
    }

    #[test]
    fn keys_and_their_slots() {
        assert_eq!(keys_of("seen", None), ["seen"]);
        assert_eq!(keys_of("seen", Some(2)), ["{seen:0}", "{seen:1}"]);
        // The same as CLUSTER KEYSLOT replies.
        assert_eq!(
            ["123456789", "{seen:0}", "seen:0", "seen", "{seen}.push"].map(slot),
            [12739, 2055, 2055, 4229, 4229]
        );
    }
}

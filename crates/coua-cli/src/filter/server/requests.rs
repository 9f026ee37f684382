//! A server or cluster: requests to all its nodes at once, with retries.
//!
//! Requests to the same slot are executed one after the other: the next one is sent when the one before is answered. So
//! the first of equal keys gets the 1 ("inserted", "removed"), whatever is refused, lost or moved in between.

use super::address::{Address, Node};
use super::cluster::{SlotMap, slot};
use super::connection::{Connection, LinkError, MOST_BYTES};
use super::protocol::{ServerCommand, Value};
use crate::terminal::{Failure, Result, Verbosity, caught_signal};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::{Duration, Instant};

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
    /// The node that has the key while its slot moves: the command is sent there next, behind ASKING.
    ask: Option<Node>,
    /// ASKING was sent before the command.
    has_asked: bool,
    /// The reply, or why the server refused the command.
    pub(super) reply: Option<Result<Value, String>>,
}

impl Request {
    /// A command on a key.
    pub(super) fn new(key: &str, command: &ServerCommand) -> Self {
        let (slot, command) = (slot(key), command.encode());
        Self { slot, command, most_bytes: MOST_BYTES, ..Self::default() }
    }

    fn send(&self, connection: &mut Connection) -> Result<(), LinkError> {
        if self.has_asked {
            connection.send(&ServerCommand::new("ASKING").encode())?;
        }
        connection.send(&self.command)
    }

    fn receive(&self, connection: &mut Connection) -> Result<Value, LinkError> {
        let asking = if self.has_asked { connection.receive(MOST_BYTES).map(drop) } else { Ok(()) };
        if let Err(error @ LinkError::Lost(_)) = asking {
            return Err(error);
        }
        // The reply arrives whether ASKING was refused or not. A refused ASKING explains the redirection.
        match connection.receive(self.most_bytes) {
            Err(LinkError::Moved) => Err(asking.err().unwrap_or(LinkError::Moved)),
            reply => reply,
        }
    }
}

fn unanswered(requests: &[Request]) -> usize {
    requests.iter().filter(|request| request.reply.is_none()).count()
}

/// The nodes of an address, and the connections to them.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) address: Address,
    pub(super) verbosity: Verbosity,
    /// The primaries of a cluster; `None` for a single server.
    slots: Option<SlotMap>,
    connections: HashMap<Node, Connection>,
    /// How the names of the module's commands begin, on all nodes.
    pub(super) prefix: &'static str,
    /// Why no more attempts are made.
    gave_up: Option<String>,
    /// How often connections were lost.
    pub(super) losses: u64,
}

impl Server {
    /// Connects to the server of the address, and finds out whether it belongs to a cluster.
    pub(super) fn connect(address: &Address, verbosity: Verbosity) -> Result<Self> {
        Self::open(address, verbosity).map_err(|error| Failure::at(address, error))
    }

    fn open(address: &Address, verbosity: Verbosity) -> Result<Self, LinkError> {
        let first = address.node.clone();
        let mut connection = Connection::open(address, &first)?;
        let (prefix, hello) = (connection.prefix, connection.call(&ServerCommand::new("HELLO"))?);
        let is_cluster = hello.field("mode").and_then(Value::text) == Some(b"cluster");
        let mut server = Self {
            address: address.clone(),
            verbosity,
            slots: is_cluster.then(|| SlotMap::known_to(&first)),
            connections: HashMap::from([(first, connection)]),
            prefix,
            gave_up: None,
            losses: 0,
        };
        server.learn_slots()?;
        Ok(server)
    }

    pub(super) fn failure(&self, reason: &str) -> Failure {
        Failure::at(&self.address, reason)
    }

    /// Executes all requests: afterwards each is answered or refused.
    pub(super) fn run(&mut self, requests: &mut [Request]) -> Result<()> {
        let mut failing: Option<Instant> = None;
        while unanswered(requests) > 0 {
            if let Some(reason) = &self.gave_up {
                return Err(self.failure(reason));
            }
            let before = unanswered(requests);
            let Err(error) = self.round(requests) else { continue };
            failing = failing.filter(|_| unanswered(requests) == before);
            self.gave_up = self.wait(&error, failing.map(|since| since.elapsed())).err();
            failing.get_or_insert_with(Instant::now);
            if self.gave_up.is_none() && !matches!(error, LinkError::Ask(_)) {
                // If no node replies now, one may after the next pause.
                self.learn_slots().ok();
            }
        }
        Ok(())
    }

    /// Pauses before the next attempt, or returns why there is none. `failing` is the time since the first error without
    /// progress; that error is reported.
    fn wait(&self, error: &LinkError, failing: Option<Duration>) -> Result<(), String> {
        let (patience, has_moved) = match error {
            LinkError::Refused(text) => return Err(text.clone()),
            // All servers reply.
            LinkError::Moved | LinkError::Ask(_) => (self.address.patience.max(MOVING), true),
            LinkError::Lost(_) | LinkError::NotNow(_) => (self.address.patience, false),
        };
        let (seconds, waited) = (patience.as_secs_f64(), failing.unwrap_or_default());
        if caught_signal().is_some() {
            return Err(format!("{error}, and the program was told to stop"));
        }
        if waited >= patience {
            return Err(format!("{error}; gave up after {seconds} s"));
        }
        // A key that has moved is first tried again without a pause.
        match (failing, has_moved) {
            (None, true) => return Ok(()),
            (None, false) => self
                .verbosity
                .say(format_args!("{}: {error}; trying again for {seconds} s", self.address)),
            (Some(_), _) => {}
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
        // If the node cannot be reached, the cluster is asked again which one has the key.
        let ask = request.ask.take();
        request.has_asked = ask.is_some();
        let node = ask.map_or_else(|| self.node_of(request.slot), Ok)?;
        let connection = self.connection(&node)?;
        connection.waiting.push_back(place);
        request.send(connection).inspect_err(|_| self.lose(&node, requests))
    }

    /// Receives the replies of a node to all that wait for one. Returns the last error.
    fn receive(&mut self, node: &Node, requests: &mut [Request]) -> Result<(), LinkError> {
        let mut result = Ok(());
        while let Some(connection) = self.connections.get_mut(node)
            && let Some(place) = connection.waiting.front()
        {
            let request = &mut requests[*place];
            match request.receive(connection) {
                Ok(reply) => request.reply = Some(Ok(reply)),
                Err(LinkError::Refused(text)) => request.reply = Some(Err(text)),
                Err(LinkError::Ask(_) | LinkError::Moved) if self.slots.is_none() => {
                    let text = "the server redirects to another one, but is not part of a cluster";
                    request.reply = Some(Err(text.to_owned()));
                }
                Err(error @ LinkError::Lost(_)) => {
                    self.lose(node, requests);
                    return Err(error);
                }
                Err(error) => {
                    if let LinkError::Ask(asked) = &error {
                        request.ask = Some(asked.clone().reported_by(node));
                    }
                    result = Err(error);
                }
            }
            connection.waiting.pop_front();
        }
        result
    }

    /// Drops a lost connection, with the replies to all that wait for one.
    fn lose(&mut self, node: &Node, requests: &mut [Request]) {
        self.losses += 1;
        for place in self.connections.remove(node).into_iter().flat_map(|lost| lost.waiting) {
            requests[place].in_doubt = true;
        }
    }

    /// The node that has a slot.
    fn node_of(&self, slot: u16) -> Result<Node, LinkError> {
        let Some(slots) = &self.slots else { return Ok(self.address.node.clone()) };
        let missing = || LinkError::NotNow(format!("no node of the cluster serves slot {slot}"));
        slots.owner(slot).cloned().ok_or_else(missing)
    }

    /// The connection to a node, opened if there is none.
    fn connection(&mut self, node: &Node) -> Result<&mut Connection, LinkError> {
        match self.connections.entry(node.clone()) {
            Entry::Occupied(connection) => Ok(connection.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(Connection::open(&self.address, node)?)),
        }
    }

    /// Asks a cluster which node has which slots. The first answer is used.
    fn learn_slots(&mut self) -> Result<(), LinkError> {
        let Some(slots) = &self.slots else { return Ok(()) };
        let command = ServerCommand::new("CLUSTER").arg("SLOTS");
        let mut last = LinkError::NotNow("no node of the cluster replies".to_owned());
        for node in slots.known.clone() {
            match self.connection(&node).and_then(|open| open.call(&command)) {
                Ok(reply) => return self.record_slots(&reply, &node),
                Err(error) => {
                    self.connections.remove(&node);
                    last = error;
                }
            }
        }
        Err(last)
    }

    fn record_slots(&mut self, reply: &Value, reporter: &Node) -> Result<(), LinkError> {
        let Some(before) = &self.slots else { return Ok(()) };
        let now = before.read(reply, reporter);
        let now =
            now.ok_or_else(|| LinkError::Refused("unexpected reply to CLUSTER SLOTS".to_owned()))?;
        for [old, new] in now.successions(before) {
            self.verbosity.say(format_args!(
                "{}: {new} has become the owner of the slots of {old}; what {old} had not passed on to it is new again",
                self.address
            ));
        }
        self.slots = Some(now);
        Ok(())
    }
}

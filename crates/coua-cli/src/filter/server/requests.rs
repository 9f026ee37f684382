//! A server or cluster: requests to all its nodes at once, with retries.
//!
//! Requests to the same slot are executed one after the other: the next one is sent when the one before is answered. So
//! the first of equal keys gets the 1 ("inserted", "removed"), whatever is refused, lost or moved in between.

use super::cluster::SlotMap;
use super::connection::{Connection, LinkError, MOST_BYTES, Node};
use super::protocol::{ServerCommand, Value};
use crate::filter::Address;
use crate::terminal::{Verbosity, caught_signal};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::{Duration, Instant};
use std::{mem, thread};

/// The first and the longest pause between attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How long nodes may redirect the program to each other, even with a shorter `retry`.
const MOVING: Duration = Duration::from_secs(5);
/// The most bytes of a reply to CLUSTER SLOTS, with each slot a separate range with a replica.
const MOST_BYTES_OF_SLOTS: u64 = 4 << 20;

/// A command, and later its reply.
#[derive(Debug)]
pub(super) struct Request {
    /// The slot of its key.
    slot: u16,
    /// The command in the encoding of the protocol.
    command: Vec<u8>,
    most_bytes: u64,
    /// The command was sent, and its reply was lost: it may have been executed already.
    pub(super) in_doubt: bool,
    /// The node that has the key while its slot moves.
    asked_at: Option<Node>,
    /// The reply, or why the server refused the command.
    pub(super) reply: Option<Result<Value, String>>,
}

impl Request {
    /// A command on a key of this slot, with a reply of at most `most_bytes`.
    pub(super) fn new(slot: u16, command: &ServerCommand, most_bytes: u64) -> Self {
        let command = command.encode();
        Self { slot, command, most_bytes, in_doubt: false, asked_at: None, reply: None }
    }

    /// Receives the reply, or why the server refused the command.
    fn receive(&self, connection: &mut Connection) -> Result<Result<Value, String>, LinkError> {
        let may_ask = match &self.asked_at {
            Some(_) => connection.receive(MOST_BYTES).map(drop),
            None => Ok(()),
        };
        if let Err(error @ LinkError::Lost(_)) = may_ask {
            return Err(error);
        }
        // The reply arrives whether ASKING was refused or not.
        match connection.receive(self.most_bytes) {
            Ok(reply) => Ok(Ok(reply)),
            Err(LinkError::Refused(text)) => Ok(Err(text)),
            // A refused ASKING explains the redirection.
            Err(LinkError::Moved) => Err(may_ask.err().unwrap_or(LinkError::Moved)),
            Err(error) => Err(error),
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
    verbosity: Verbosity,
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
    pub(super) fn connect(address: &Address, verbosity: Verbosity) -> Result<Self, LinkError> {
        let first = Node { host: address.host.clone(), port: address.port };
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

    /// Executes all requests: afterwards each is answered or refused. Otherwise returns why it gave up.
    pub(super) fn run(&mut self, requests: &mut [Request]) -> Result<(), String> {
        let (mut since, mut pause): (Option<Instant>, _) = (None, FIRST_PAUSE);
        let mut left = requests.len();
        while unanswered(requests) > 0 {
            if let Some(reason) = &self.gave_up {
                return Err(reason.clone());
            }
            let Err(error) = self.round(requests) else { continue };
            let before = mem::replace(&mut left, unanswered(requests));
            let progressed = left < before;
            if since.is_none() {
                self.notify_error(&error);
            }
            if progressed || since.is_none() {
                (since, pause) = (Some(Instant::now()), FIRST_PAUSE);
            }
            self.be_patient(&error, since.unwrap_or_else(Instant::now).elapsed())
                .inspect_err(|reason| self.gave_up = Some(reason.clone()))?;
            // A key that has moved is retried without a pause.
            if !matches!(error, LinkError::Ask(_) | LinkError::Moved) || !progressed {
                thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            if !matches!(error, LinkError::Ask(_)) {
                // If no node replies now, one may after the next pause.
                self.learn_slots().ok();
            }
        }
        Ok(())
    }

    fn notify_error(&self, error: &LinkError) {
        let is_away = matches!(error, LinkError::Lost(_) | LinkError::NotNow(_));
        if is_away && !self.address.patience.is_zero() {
            let (address, seconds) = (&self.address, self.address.patience.as_secs_f64());
            self.verbosity.say(format_args!("{address}: {error}; trying again for {seconds} s"));
        }
    }

    fn be_patient(&self, error: &LinkError, waited: Duration) -> Result<(), String> {
        let patience = match error {
            LinkError::Refused(text) => return Err(text.clone()),
            // All servers reply.
            LinkError::Moved | LinkError::Ask(_) => self.address.patience.max(MOVING),
            LinkError::Lost(_) | LinkError::NotNow(_) => self.address.patience,
        };
        if caught_signal().is_some() {
            return Err(format!("{error}, and the program was told to stop"));
        }
        if waited >= patience {
            return Err(format!("{error}; gave up after {} s", patience.as_secs_f64()));
        }
        Ok(())
    }

    /// Sends the first unanswered request of each slot, and receives all replies. Returns the last error.
    fn round(&mut self, requests: &mut [Request]) -> Result<(), LinkError> {
        let (by_node, mut result) = self.next_by_node(requests);
        let mut sent = Vec::new();
        for (node, places) in by_node {
            match self.send(&node, &places, requests) {
                Ok(()) => sent.push((node, places)),
                Err(error) => result = Err(error),
            }
        }
        for (node, places) in sent {
            result = self.receive_all(&node, &places, requests).and(result);
        }
        result
    }

    /// The places of the first unanswered request of each slot, by node.
    fn next_by_node(
        &self,
        requests: &[Request],
    ) -> (HashMap<Node, Vec<usize>>, Result<(), LinkError>) {
        let mut first_of_slot = HashMap::new();
        let open = requests.iter().enumerate().filter(|(_, request)| request.reply.is_none());
        for (place, request) in open {
            first_of_slot.entry(request.slot).or_insert(place);
        }
        let (mut by_node, mut result) = (HashMap::<_, Vec<_>>::new(), Ok(()));
        for (slot, place) in first_of_slot {
            match requests[place].asked_at.clone().map_or_else(|| self.node_of(slot), Ok) {
                Ok(node) => by_node.entry(node).or_default().push(place),
                Err(error) => result = Err(error),
            }
        }
        (by_node, result)
    }

    /// The node that has a slot.
    fn node_of(&self, slot: u16) -> Result<Node, LinkError> {
        let Some(slots) = &self.slots else {
            return Ok(Node { host: self.address.host.clone(), port: self.address.port });
        };
        let missing = || LinkError::NotNow(format!("no node of the cluster serves slot {slot}"));
        slots.owner(slot).cloned().ok_or_else(missing)
    }

    fn send(
        &mut self,
        node: &Node,
        places: &[usize],
        requests: &mut [Request],
    ) -> Result<(), LinkError> {
        let mut commands = Vec::new();
        for request in places.iter().map(|place| &requests[*place]) {
            if request.asked_at.is_some() {
                commands.extend(ServerCommand::new("ASKING").encode());
            }
            commands.extend_from_slice(&request.command);
        }
        let sent = match self.connection(node) {
            Ok(connection) => connection.send(&commands),
            Err(error) => {
                // The node has received nothing; the cluster is asked again which node has the key.
                for place in places {
                    requests[*place].asked_at = None;
                }
                return Err(error);
            }
        };
        sent.inspect_err(|_| self.lose(node, places, requests))
    }

    /// Drops a lost connection, with the replies to these requests.
    fn lose(&mut self, node: &Node, places: &[usize], requests: &mut [Request]) {
        self.losses += 1;
        self.connections.remove(node);
        for place in places {
            (requests[*place].in_doubt, requests[*place].asked_at) = (true, None);
        }
    }

    /// Receives the replies of a node to these requests. Returns the last error.
    fn receive_all(
        &mut self,
        node: &Node,
        places: &[usize],
        requests: &mut [Request],
    ) -> Result<(), LinkError> {
        let mut result = Ok(());
        for (number, place) in places.iter().enumerate() {
            let request = &mut requests[*place];
            let reply = self.connection(node).and_then(|connection| request.receive(connection));
            if let Err(error @ LinkError::Lost(_)) = reply {
                self.lose(node, &places[number..], requests);
                return Err(error);
            }
            request.asked_at = None;
            match reply {
                Ok(reply) => request.reply = Some(reply),
                Err(LinkError::Ask(_) | LinkError::Moved) if self.slots.is_none() => {
                    let text = "the server redirects to another one, but is not part of a cluster";
                    request.reply = Some(Err(text.to_owned()));
                }
                Err(error) => {
                    if let LinkError::Ask(asked) = &error {
                        request.asked_at = Some(asked.clone().told_by(node));
                    }
                    result = Err(error);
                }
            }
        }
        result
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
            let connection = self.connection(&node);
            match connection.and_then(|open| open.call_for(&command, MOST_BYTES_OF_SLOTS)) {
                Ok(reply) => return self.record_slots(&reply, &node),
                Err(error) => {
                    self.connections.remove(&node);
                    last = error;
                }
            }
        }
        Err(last)
    }

    fn record_slots(&mut self, reply: &Value, told_by: &Node) -> Result<(), LinkError> {
        let Some(slots) = &mut self.slots else { return Ok(()) };
        let successions = slots
            .update(reply, told_by)
            .ok_or_else(|| LinkError::Refused("unexpected reply to CLUSTER SLOTS".to_owned()))?;
        for (old, new) in successions {
            self.verbosity.say(format_args!(
                "{}: {new} has become the owner of the slots of {old}; what {old} had not passed on to it is new again",
                self.address
            ));
        }
        Ok(())
    }
}

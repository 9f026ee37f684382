//! Pipelines of commands to all nodes at once, with retries.
//!
//! Requests are posted, which sends them, and taken later in the same order, when their replies have arrived; meanwhile
//! others can be posted.
//!
//! A request that is refused for now, or that another node must execute, is sent again and may be executed after later
//! requests, which have then overtaken it. The first of equal keys must get the 1 ("inserted", "removed"), but the
//! server gave it to a later one. So the answers are put in the order of the requests.

use super::cluster::Nodes;
use super::connection::{Connection, LinkError, MOST_BYTES, Node};
use super::protocol::{ServerCommand, Value};
use crate::filter::address::Address;
use crate::terminal::{Verbosity, caught_signal};
use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};
use std::{mem, thread};

/// The first and the longest pause between attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How long nodes may redirect the program to each other, even with a shorter `retry`.
const MOVING: Duration = Duration::from_secs(5);

/// A command that waits for its reply.
#[derive(Debug)]
pub(super) struct Request {
    /// The slot of its key.
    pub(super) slot: u16,
    /// The command in the encoding of the protocol.
    pub(super) command: Vec<u8>,
    /// The most bytes of the reply.
    pub(super) most_bytes: u64,
    /// The command was sent, and its reply was lost: it may have been executed already.
    pub(super) in_doubt: bool,
    /// The command was sent and not executed: later ones may have overtaken it.
    was_refused: bool,
    /// The position of the first key among the arguments, if the first of equal keys must get the 1.
    pub(super) first_key: Option<usize>,
    /// The node that has the key while its slot moves.
    asked_at: Option<Node>,
    is_sent: bool,
    /// The reply, or why the server refused the command.
    pub(super) reply: Option<Result<Value, String>>,
}

impl Request {
    pub(super) fn new(slot: u16, command: &ServerCommand) -> Self {
        Self {
            slot,
            command: command.encode(),
            most_bytes: MOST_BYTES,
            in_doubt: false,
            was_refused: false,
            first_key: None,
            asked_at: None,
            is_sent: false,
            reply: None,
        }
    }

    fn waits(&self) -> bool {
        self.reply.is_none() && !self.is_sent
    }

    /// The keys, if the order of equal keys matters.
    fn keys(&self) -> Vec<Vec<u8>> {
        let Some(first) = self.first_key else { return Vec::new() };
        // Commands have the form of replies.
        let words = Value::read(&mut &self.command[..]);
        let words = words.as_ref().ok().and_then(Value::elements).unwrap_or_default();
        words.iter().skip(first).filter_map(Value::text).map(<[u8]>::to_vec).collect()
    }

    /// The numbers of the reply.
    fn numbers(&mut self) -> &mut [Value] {
        match &mut self.reply {
            Some(Ok(Value::Array(numbers))) => numbers,
            _ => &mut [],
        }
    }

    /// Records that the connection was lost before the reply arrived.
    fn lose(&mut self) {
        self.in_doubt = true;
        self.is_sent = false;
        self.asked_at = None;
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

/// The servers, and the requests to them.
#[derive(Debug)]
pub(super) struct RequestQueue {
    pub(super) nodes: Nodes,
    /// All requests that were posted and not taken.
    requests: VecDeque<Request>,
    /// The number of requests taken before, which is the number of the first one.
    taken: u64,
    /// The numbers of the requests that each node has still to answer, in the order of sending.
    sent: HashMap<Node, VecDeque<u64>>,
    /// The error of posting requests.
    error: Option<LinkError>,
    /// Why no more attempts are made.
    gave_up: Option<String>,
    /// How often connections were lost.
    pub(super) losses: u64,
}

impl RequestQueue {
    pub(super) fn new(address: &Address, verbosity: Verbosity) -> Result<Self, LinkError> {
        let nodes = Nodes::connect(address, verbosity)?;
        Ok(Self {
            nodes,
            requests: VecDeque::new(),
            taken: 0,
            sent: HashMap::new(),
            error: None,
            gave_up: None,
            losses: 0,
        })
    }

    /// Sends requests. Errors are handled when the requests are taken: then the answers are as if requests for the same
    /// key had been executed in their order.
    pub(super) fn post(&mut self, requests: impl IntoIterator<Item = Request>) {
        self.requests.extend(requests);
        if self.gave_up.is_none() {
            self.error = self.send_waiting().err().or(self.error.take());
        }
    }

    /// Takes the next `count` requests, each answered or refused; or says why this gave up, with some of them neither.
    pub(super) fn take(&mut self, count: usize) -> (Vec<Request>, Result<(), String>) {
        let result = self.wait_for(count);
        self.taken += count as u64;
        (self.requests.drain(..count).collect(), result)
    }

    fn wait_for(&mut self, count: usize) -> Result<(), String> {
        let (mut since, mut pause): (Option<Instant>, _) = (None, FIRST_PAUSE);
        let mut left = self.unanswered();
        while self.requests.iter().take(count).any(|request| request.reply.is_none()) {
            if let Some(reason) = &self.gave_up {
                return Err(reason.clone());
            }
            let Err(error) = self.round(count) else { continue };
            let before = mem::replace(&mut left, self.unanswered());
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
                self.nodes.learn().ok();
            }
        }
        Ok(())
    }

    /// Whether any request is in doubt.
    pub(super) fn has_doubts(&self) -> bool {
        self.requests.iter().any(|request| request.in_doubt)
    }

    fn unanswered(&self) -> usize {
        self.requests.iter().filter(|request| request.reply.is_none()).count()
    }

    fn notify_error(&self, error: &LinkError) {
        let is_away = matches!(error, LinkError::Lost(_) | LinkError::NotNow(_));
        if is_away && !self.nodes.address.patience.is_zero() {
            let (address, seconds) =
                (&self.nodes.address, self.nodes.address.patience.as_secs_f64());
            self.nodes
                .verbosity
                .say(format_args!("{address}: {error}; trying again for {seconds} s"));
        }
    }

    fn be_patient(&self, error: &LinkError, waited: Duration) -> Result<(), String> {
        let patience = match error {
            LinkError::Refused(text) => return Err(text.clone()),
            // All servers reply.
            LinkError::Moved | LinkError::Ask(_) => self.nodes.address.patience.max(MOVING),
            LinkError::Lost(_) | LinkError::NotNow(_) => self.nodes.address.patience,
        };
        if caught_signal().is_some() {
            return Err(format!("{error}, and the program was told to stop"));
        }
        if waited >= patience {
            return Err(format!("{error}; gave up after {} s", patience.as_secs_f64()));
        }
        Ok(())
    }

    /// Sends the waiting requests, and receives until the first `count` requests have their replies. After an error no
    /// request is pending.
    fn round(&mut self, count: usize) -> Result<(), LinkError> {
        let mut result = self.error.take().map_or_else(|| self.send_waiting(), Err);
        while result.is_ok()
            && let Some(node) = self.node_of_first(count)
        {
            result = self.receive(&node);
        }
        if result.is_err() {
            for node in self.sent.keys().cloned().collect::<Vec<_>>() {
                while self.sent.get(&node).is_some_and(|sent| !sent.is_empty()) {
                    result = self.receive(&node).and(result);
                }
            }
        }
        result
    }

    /// The node of the first unanswered request among the first `count`.
    fn node_of_first(&self, count: usize) -> Option<Node> {
        let place = self.requests.iter().take(count).position(|request| request.reply.is_none())?;
        let number = self.taken + place as u64;
        let has_it = |(_, sent): &(&Node, &VecDeque<u64>)| sent.contains(&number);
        self.sent.iter().find(has_it).map(|(node, _)| node.clone())
    }

    /// Sends all waiting requests, first or again, to all nodes. Returns the last error.
    fn send_waiting(&mut self) -> Result<(), LinkError> {
        let mut result = Ok(());
        for (node, numbers) in self.waiting_by_node(&mut result) {
            if let Err(error) = self.send(&node, &numbers) {
                result = Err(error);
            }
        }
        result
    }

    /// The waiting requests by node. After a refused request, no other request of its slot is sent until it is
    /// answered: only requests that were already sent may overtake it.
    fn waiting_by_node(&self, result: &mut Result<(), LinkError>) -> Vec<(Node, Vec<u64>)> {
        let mut by_node: Vec<(Node, Vec<u64>)> = Vec::new();
        let mut held = HashSet::new();
        let open = |(_, request): &(u64, &Request)| request.reply.is_none();
        for (number, request) in (self.taken..).zip(&self.requests).filter(open) {
            let is_held = held.contains(&request.slot);
            if request.was_refused {
                held.insert(request.slot);
            }
            if is_held || !request.waits() {
                continue;
            }
            let node =
                match request.asked_at.clone().map_or_else(|| self.nodes.of(request.slot), Ok) {
                    Ok(node) => node,
                    Err(error) => {
                        *result = Err(error);
                        continue;
                    }
                };
            match by_node.iter_mut().find(|(known, _)| *known == node) {
                Some((_, numbers)) => numbers.push(number),
                None => by_node.push((node, vec![number])),
            }
        }
        by_node
    }

    fn send(&mut self, node: &Node, numbers: &[u64]) -> Result<(), LinkError> {
        let first = self.taken;
        let request = |number: &u64| (number - first) as usize;
        let mut commands = Vec::new();
        for request in numbers.iter().map(request).map(|place| &self.requests[place]) {
            if request.asked_at.is_some() {
                commands.extend(ServerCommand::new("ASKING").encode());
            }
            commands.extend_from_slice(&request.command);
        }
        let connection = match self.nodes.connection(node) {
            Ok(connection) => connection,
            Err(error) => {
                // The node has received nothing; the cluster is asked again which node has the key.
                for place in numbers.iter().map(request) {
                    self.requests[place].asked_at = None;
                }
                return Err(error);
            }
        };
        let sent = connection.send(&commands);
        for place in numbers.iter().map(request) {
            self.requests[place].is_sent = true;
        }
        self.sent.entry(node.clone()).or_default().extend(numbers);
        sent.map_err(|error| self.lose(node, error))
    }

    /// Drops a lost connection; the replies to all requests sent over it are lost too.
    fn lose(&mut self, node: &Node, error: LinkError) -> LinkError {
        self.losses += 1;
        self.nodes.forget(node);
        for number in self.sent.remove(node).unwrap_or_default() {
            self.requests[(number - self.taken) as usize].lose();
        }
        error
    }

    /// Receives the reply to the oldest request that this node has still to answer.
    fn receive(&mut self, node: &Node) -> Result<(), LinkError> {
        let Some(number) = self.sent.get(node).and_then(VecDeque::front) else { return Ok(()) };
        let place = (number - self.taken) as usize;
        let request = &self.requests[place];
        let reply = self.nodes.connection(node).and_then(|connection| request.receive(connection));
        if let Err(error @ LinkError::Lost(_)) = reply {
            return Err(self.lose(node, error));
        }
        self.sent.get_mut(node).map(VecDeque::pop_front);
        let request = &mut self.requests[place];
        (request.is_sent, request.asked_at) = (false, None);
        match reply {
            Ok(reply) => {
                request.reply = Some(reply);
                if request.was_refused
                    && let Some((request, later)) =
                        self.requests.make_contiguous()[place..].split_first_mut()
                {
                    fix_duplicates(request, later);
                }
            }
            Err(LinkError::Ask(_) | LinkError::Moved) if !self.nodes.are_a_cluster() => {
                let text = "the server redirects to another one, but is not part of a cluster";
                request.reply = Some(Err(text.to_owned()));
            }
            Err(error) => {
                request.was_refused = true;
                if let LinkError::Ask(asked) = &error {
                    request.asked_at = Some(asked.clone().told_by(node));
                }
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Moves the answers that `later` requests got in place of this one to it. It was refused first and is now answered;
/// requests that were sent after it and are answered have overtaken it.
fn fix_duplicates(request: &mut Request, later: &mut [Request]) {
    let has_keys = |other: &&mut Request| other.slot == request.slot && other.first_key.is_some();
    let mut later: Vec<&mut Request> = later.iter_mut().filter(has_keys).collect();
    let keys = request.keys();
    if keys.is_empty() {
        return;
    }
    // It may have been overtaken by a request that was executed and whose reply was lost.
    request.in_doubt |= later.iter().any(|other| other.in_doubt);
    let mut without: HashMap<Vec<u8>, VecDeque<usize>> = HashMap::new();
    for (place, (key, number)) in keys.into_iter().zip(request.numbers()).enumerate() {
        if *number == Value::Int(0) {
            without.entry(key).or_default().push_back(place);
        }
    }
    for other in later.iter_mut().rev().filter(|other| other.reply.is_some()) {
        for (key, theirs) in other.keys().iter().zip(other.numbers()).rev() {
            if *theirs == Value::Int(1)
                && let Some(place) = without.get_mut(key).and_then(VecDeque::pop_front)
            {
                *theirs = Value::Int(0);
                request.numbers()[place] = Value::Int(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(slot: u16, keys: &str, numbers: &[i64]) -> Request {
        let command = ServerCommand::new("CF.INSERTNX").arg("s").args(keys.split(' '));
        let mut request = Request::new(slot, &command);
        request.first_key = Some(2);
        let numbers: Vec<_> = numbers.iter().map(|number| Value::Int(*number)).collect();
        request.reply =
            Some(numbers).filter(|some| !some.is_empty()).map(|some| Ok(Value::Array(some)));
        request
    }

    fn numbers(request: &mut Request) -> Vec<i64> {
        let number = |value: &Value| if let Value::Int(number) = value { *number } else { 9 };
        request.numbers().iter().map(number).collect()
    }

    #[test]
    fn ones_go_to_the_first_of_equal_keys() {
        let mut first = request(1, "a b c a d", &[0, 0, 1, 0, 0]);
        let mut later = [
            request(1, "x a d", &[1, 1, 0]),
            request(2, "b", &[1]),
            request(1, "d", &[]),
            request(1, "a d d", &[1, 1, -1]),
        ];
        fix_duplicates(&mut first, &mut later);
        assert_eq!(numbers(&mut first), [1, 0, 1, 1, 1]);
        let [same, other, open, last] = &mut later;
        assert_eq!(numbers(same), [1, 0, 0]);
        assert_eq!(numbers(other), [1], "keys of another shard");
        assert_eq!(numbers(open), [0; 0]);
        assert_eq!(numbers(last), [0, 0, -1]);
        assert!(!first.in_doubt);
    }

    #[test]
    fn who_was_overtaken_by_one_in_doubt_is_in_doubt() {
        let mut later = [request(1, "a", &[])];
        later[0].in_doubt = true;
        for (slot, doubt) in [(2, false), (1, true)] {
            let mut first = request(slot, "a", &[0]);
            fix_duplicates(&mut first, &mut later);
            assert_eq!(first.in_doubt, doubt);
        }
    }

    #[test]
    fn strange_replies_stay_as_they_are() {
        let strange = Some(Ok(Value::Nil));
        let mut first = request(1, "a b", &[0]);
        let mut later = [request(1, "a", &[1, 1]), request(1, "b", &[1])];
        later[1].reply.clone_from(&strange);
        fix_duplicates(&mut first, &mut later);
        assert_eq!((numbers(&mut first), numbers(&mut later[0])), (vec![1], vec![0, 1]));
        first.reply.clone_from(&strange);
        fix_duplicates(&mut first, &mut later);
        assert_eq!(first.reply, strange);
    }
}

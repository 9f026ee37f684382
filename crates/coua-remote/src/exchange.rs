//! Commands in pipelines to all nodes at once, sent again until they are answered.
//!
//! Orders are posted, which sends them, and taken later, in the same order, when their replies have
//! come: in between there is time to post others.

use crate::address::Address;
use crate::error::Program;
use crate::link::Trouble;
use crate::nodes::Nodes;
use crate::order::Order;
use crate::overtaken;
use crate::wire::Node;
use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;
use std::thread;
use std::time::{Duration, Instant};

/// Pauses between trials: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// How long nodes may send the program from one to the other, however impatient it is.
const MOVING: Duration = Duration::from_secs(5);

/// The servers, and what is on the way to them.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) address: Address,
    nodes: Nodes,
    /// All that were posted and not taken.
    orders: VecDeque<Order>,
    /// How many were taken before: the number of the first order.
    taken: u64,
    /// The numbers of the orders that each node has still to answer, in the order of their sending.
    sent: HashMap<Node, VecDeque<u64>>,
    /// What went wrong when orders were posted.
    trouble: Option<Trouble>,
    /// Why there is no hope any more.
    gave_up: Option<String>,
    program: Program,
    /// How often connections were lost.
    pub(crate) losses: u64,
}

impl Exchange {
    pub(crate) fn new(address: Address, program: Program) -> Result<Self, Trouble> {
        let nodes = Nodes::connect(&address, program)?;
        Ok(Self {
            address,
            nodes,
            orders: VecDeque::new(),
            taken: 0,
            sent: HashMap::new(),
            trouble: None,
            gave_up: None,
            program,
            losses: 0,
        })
    }

    /// Sends orders. Whatever goes wrong is found out, and mended, when they are taken: then the answers
    /// are as if those for the same key had been done in their order.
    pub(crate) fn post(&mut self, orders: impl IntoIterator<Item = Order>) {
        self.orders.extend(orders);
        if self.gave_up.is_none() {
            self.trouble = self.send_waiting().err().or(self.trouble.take());
        }
    }

    /// The next `count` orders, each answered or refused; or why this gave up, with some of them
    /// neither.
    pub(crate) fn take(&mut self, count: usize) -> (Vec<Order>, Result<(), String>) {
        let result = self.wait_for(count);
        self.taken += count as u64;
        (self.orders.drain(..count).collect(), result)
    }

    fn wait_for(&mut self, count: usize) -> Result<(), String> {
        let (mut since, mut pause): (Option<Instant>, _) = (None, FIRST_PAUSE);
        let mut left = self.unanswered();
        while self.orders.iter().take(count).any(|order| order.reply.is_none()) {
            if let Some(reason) = &self.gave_up {
                return Err(reason.clone());
            }
            let Err(trouble) = self.round(count) else { continue };
            let before = mem::replace(&mut left, self.unanswered());
            let progressed = left < before;
            if since.is_none() {
                self.tell_trouble(&trouble);
            }
            if progressed || since.is_none() {
                (since, pause) = (Some(Instant::now()), FIRST_PAUSE);
            }
            self.be_patient(&trouble, since.unwrap_or_else(Instant::now).elapsed())
                .inspect_err(|reason| self.gave_up = Some(reason.clone()))?;
            // A key that has only moved is found at once.
            if !matches!(trouble, Trouble::Ask(_) | Trouble::Moved) || !progressed {
                thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            if !matches!(trouble, Trouble::Ask(_)) {
                // Whoever cannot tell now may tell after the next pause.
                self.nodes.learn().ok();
            }
        }
        Ok(())
    }

    /// Whether some are in doubt.
    pub(crate) fn has_doubts(&self) -> bool {
        self.orders.iter().any(|order| order.in_doubt)
    }

    fn unanswered(&self) -> usize {
        self.orders.iter().filter(|order| order.reply.is_none()).count()
    }

    fn tell_trouble(&self, trouble: &Trouble) {
        let is_away = matches!(trouble, Trouble::Lost(_) | Trouble::NotNow(_));
        if is_away && !self.address.patience.is_zero() {
            let (address, seconds) = (&self.address, self.address.patience.as_secs_f64());
            (self.program.tell)(&format!("{address}: {trouble}; trying again for {seconds} s"));
        }
    }

    fn be_patient(&self, trouble: &Trouble, waited: Duration) -> Result<(), String> {
        let patience = match trouble {
            Trouble::Refused(text) => return Err(text.clone()),
            // Nobody is away.
            Trouble::Moved | Trouble::Ask(_) => self.address.patience.max(MOVING),
            Trouble::Lost(_) | Trouble::NotNow(_) => self.address.patience,
        };
        if (self.program.is_to_stop)() {
            return Err(format!("{trouble}, and the program was told to stop"));
        }
        if waited >= patience {
            return Err(format!("{trouble}; gave up after {} s", patience.as_secs_f64()));
        }
        Ok(())
    }

    /// Sends what waits, and receives until the first `count` orders have their replies. After trouble
    /// nothing is on the way any more.
    fn round(&mut self, count: usize) -> Result<(), Trouble> {
        let mut result = self.trouble.take().map_or_else(|| self.send_waiting(), Err);
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

    /// Who has to answer the first of the first `count` orders without a reply.
    fn node_of_first(&self, count: usize) -> Option<Node> {
        let place = self.orders.iter().take(count).position(|order| order.reply.is_none())?;
        let number = self.taken + place as u64;
        let has_it = |(_, sent): &(&Node, &VecDeque<u64>)| sent.contains(&number);
        self.sent.iter().find(has_it).map(|(node, _)| node.clone())
    }

    /// Sends all orders that were not sent, or to be sent again, to all nodes. Tells the last trouble.
    fn send_waiting(&mut self) -> Result<(), Trouble> {
        let mut result = Ok(());
        for (node, numbers) in self.waiting_by_node(&mut result) {
            if let Err(trouble) = self.send(&node, &numbers) {
                result = Err(trouble);
            }
        }
        result
    }

    /// What waits, and for whom. Behind an order that was refused nothing of its slot is sent until it is
    /// answered: no more are to overtake it than those that were on the way.
    fn waiting_by_node(&self, result: &mut Result<(), Trouble>) -> Vec<(Node, Vec<u64>)> {
        let mut by_node: Vec<(Node, Vec<u64>)> = Vec::new();
        let mut held = HashSet::new();
        let open = |(_, order): &(u64, &Order)| order.reply.is_none();
        for (number, order) in (self.taken..).zip(&self.orders).filter(open) {
            let is_held = held.contains(&order.slot);
            if order.was_refused {
                held.insert(order.slot);
            }
            if is_held || !order.waits() {
                continue;
            }
            let node = match order.asked_at.clone().map_or_else(|| self.nodes.of(order.slot), Ok) {
                Ok(node) => node,
                Err(trouble) => {
                    *result = Err(trouble);
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

    fn send(&mut self, node: &Node, numbers: &[u64]) -> Result<(), Trouble> {
        let first = self.taken;
        let order = |number: &u64| (number - first) as usize;
        let mut commands = Vec::new();
        for order in numbers.iter().map(order).map(|place| &self.orders[place]) {
            if order.asked_at.is_some() {
                redis::cmd("ASKING").write_packed_command(&mut commands);
            }
            commands.extend_from_slice(&order.command);
        }
        let link = match self.nodes.link(node) {
            Ok(link) => link,
            Err(trouble) => {
                // It has got nothing; who else may have the key is asked again.
                for place in numbers.iter().map(order) {
                    self.orders[place].asked_at = None;
                }
                return Err(trouble);
            }
        };
        let sent = link.send(&commands);
        for place in numbers.iter().map(order) {
            self.orders[place].is_sent = true;
        }
        self.sent.entry(node.clone()).or_default().extend(numbers);
        sent.map_err(|trouble| self.lose(node, trouble))
    }

    /// The connection is lost, and so are the replies to all that was sent over it.
    fn lose(&mut self, node: &Node, trouble: Trouble) -> Trouble {
        self.losses += 1;
        self.nodes.forget(node);
        for number in self.sent.remove(node).unwrap_or_default() {
            self.orders[(number - self.taken) as usize].lose();
        }
        trouble
    }

    /// Receives the reply to the first order that this node has still to answer.
    fn receive(&mut self, node: &Node) -> Result<(), Trouble> {
        let Some(number) = self.sent.get(node).and_then(VecDeque::front) else { return Ok(()) };
        let place = (number - self.taken) as usize;
        let order = &self.orders[place];
        let reply = self.nodes.link(node).and_then(|link| order.receive(link));
        if let Err(trouble @ Trouble::Lost(_)) = reply {
            return Err(self.lose(node, trouble));
        }
        self.sent.get_mut(node).map(VecDeque::pop_front);
        let order = &mut self.orders[place];
        (order.is_sent, order.asked_at) = (false, None);
        match reply {
            Ok(reply) => {
                order.reply = Some(reply);
                if order.was_refused
                    && let Some((order, later)) =
                        self.orders.make_contiguous()[place..].split_first_mut()
                {
                    overtaken::put_right(order, later);
                }
            }
            Err(Trouble::Ask(_) | Trouble::Moved) if !self.nodes.are_a_cluster() => {
                let text = "it redirects to another server, though it is none of a cluster";
                order.reply = Some(Err(text.to_owned()));
            }
            Err(trouble) => {
                order.was_refused = true;
                if let Trouble::Ask(asked) = &trouble {
                    order.asked_at = Some(asked.clone().told_by(node));
                }
                return Err(trouble);
            }
        }
        Ok(())
    }
}

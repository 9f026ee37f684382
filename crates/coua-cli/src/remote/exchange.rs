//! Commands in pipelines to all nodes at once, sent again until they are answered.

use super::address::Address;
use super::link::{Link, Node, Trouble};
use super::nodes::Nodes;
use crate::message;
use crate::signals::Stop;
use redis::Value;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Pauses between trials: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// A command on its way.
#[derive(Debug)]
pub(super) struct Order {
    /// The slot of its key.
    pub(super) slot: u16,
    /// The command as bytes of the protocol.
    pub(super) command: Vec<u8>,
    /// It was sent before, and the reply did not come: it may have been done already.
    pub(super) in_doubt: bool,
    /// Where to find the key while it is moving.
    asked_at: Option<Node>,
    /// The reply, or why it was refused.
    pub(super) reply: Option<Result<Value, String>>,
}

impl Order {
    pub(super) fn new(slot: u16, command: Vec<u8>) -> Self {
        Self { slot, command, in_doubt: false, asked_at: None, reply: None }
    }
}

/// The servers, and what is known of their troubles.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) address: Address,
    nodes: Nodes,
    /// Ends the patience with a server that is away.
    pub(super) stop: Option<Arc<Stop>>,
    pub(super) is_quiet: bool,
    /// How often connections were lost.
    pub(super) losses: u64,
}

impl Exchange {
    pub(super) fn new(address: Address) -> Result<Self, Trouble> {
        let nodes = Nodes::connect(&address)?;
        Ok(Self { address, nodes, stop: None, is_quiet: false, losses: 0 })
    }

    /// Has every order answered or refused; or says why it gave up, with some orders neither.
    ///
    /// Those for the same key are done in their order.
    pub(super) fn run(&mut self, orders: &mut [Order]) -> Result<(), String> {
        let (mut since, mut pause): (Option<Instant>, _) = (None, FIRST_PAUSE);
        loop {
            let left = orders.iter().filter(|order| order.reply.is_none()).count();
            if left == 0 {
                return Ok(());
            }
            let Err(trouble) = self.round(orders) else { continue };
            let progressed = orders.iter().filter(|order| order.reply.is_none()).count() < left;
            if since.is_none() {
                self.tell(&trouble);
            }
            if progressed || since.is_none() {
                (since, pause) = (Some(Instant::now()), FIRST_PAUSE);
            }
            self.be_patient(&trouble, since.unwrap_or_else(Instant::now).elapsed())?;
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
    }

    fn tell(&self, trouble: &Trouble) {
        let is_away = matches!(trouble, Trouble::Lost(_) | Trouble::NotNow(_));
        if is_away && !self.is_quiet && !self.address.patience.is_zero() {
            let (address, seconds) = (&self.address, self.address.patience.as_secs_f64());
            message::say(format_args!("{address}: {trouble}; trying again for {seconds} s"));
        }
    }

    fn be_patient(&self, trouble: &Trouble, waited: Duration) -> Result<(), String> {
        let patience = self.address.patience;
        let is_stopped = self.stop.as_ref().is_some_and(|stop| stop.signal().is_some());
        if let Trouble::Refused(text) = trouble {
            return Err(text.clone());
        }
        if is_stopped {
            return Err(format!("{trouble}, and the program was told to stop"));
        }
        if waited >= patience {
            return Err(format!("{trouble}; gave up after {} s", patience.as_secs_f64()));
        }
        Ok(())
    }

    /// Sends all orders without a reply, to all nodes, and then takes the replies. Tells the last
    /// trouble.
    fn round(&mut self, orders: &mut [Order]) -> Result<(), Trouble> {
        let mut result = Ok(());
        let mut sent = Vec::new();
        for (node, places) in self.by_node(orders, &mut result) {
            match self.send(&node, &places, orders) {
                Ok(()) => sent.push((node, places)),
                Err(trouble) => {
                    self.note_loss(&node, &trouble);
                    result = Err(trouble);
                }
            }
        }
        for (node, places) in sent {
            if let Err(trouble) = self.take_replies(&node, &places, orders) {
                result = Err(trouble);
            }
        }
        result
    }

    /// The places of the orders for each node.
    fn by_node(
        &self,
        orders: &[Order],
        result: &mut Result<(), Trouble>,
    ) -> Vec<(Node, Vec<usize>)> {
        let mut by_node: Vec<(Node, Vec<usize>)> = Vec::new();
        for (place, order) in orders.iter().enumerate().filter(|(_, order)| order.reply.is_none()) {
            let node = match order.asked_at.clone().map_or_else(|| self.nodes.of(order.slot), Ok) {
                Ok(node) => node,
                Err(trouble) => {
                    *result = Err(trouble);
                    continue;
                }
            };
            match by_node.iter_mut().find(|(known, _)| *known == node) {
                Some((_, places)) => places.push(place),
                None => by_node.push((node, vec![place])),
            }
        }
        by_node
    }

    fn send(&mut self, node: &Node, places: &[usize], orders: &mut [Order]) -> Result<(), Trouble> {
        let link = self.nodes.link(node)?;
        let mut commands = Vec::new();
        for &place in places {
            let order = &mut orders[place];
            if order.asked_at.is_some() {
                redis::cmd("ASKING").write_packed_command(&mut commands);
            }
            commands.extend_from_slice(&order.command);
        }
        let sent = link.send(&commands);
        if sent.is_err() {
            for &place in places {
                orders[place].lose();
            }
        }
        sent
    }

    fn take_replies(
        &mut self,
        node: &Node,
        places: &[usize],
        orders: &mut [Order],
    ) -> Result<(), Trouble> {
        let mut result = Ok(());
        for (number, &place) in places.iter().enumerate() {
            let link = self.nodes.link(node)?;
            match orders[place].take_reply(link) {
                Ok(()) => {}
                Err(Trouble::Lost(text)) => {
                    for &place in &places[number..] {
                        orders[place].lose();
                    }
                    let trouble = Trouble::Lost(text);
                    self.note_loss(node, &trouble);
                    return Err(trouble);
                }
                Err(trouble) => result = Err(trouble),
            }
        }
        result
    }

    fn note_loss(&mut self, node: &Node, trouble: &Trouble) {
        if matches!(trouble, Trouble::Lost(_)) {
            self.losses += 1;
        }
        self.nodes.forget(node);
    }
}

impl Order {
    /// The connection was lost before the reply came.
    fn lose(&mut self) {
        self.in_doubt = true;
        self.asked_at = None;
    }

    fn take_reply(&mut self, link: &mut Link) -> Result<(), Trouble> {
        if self.asked_at.take().is_some() {
            link.receive()?;
        }
        match link.receive() {
            Ok(reply) => self.reply = Some(Ok(reply)),
            Err(Trouble::Refused(text)) => self.reply = Some(Err(text)),
            Err(Trouble::Ask(node)) => {
                self.asked_at = Some(node.clone());
                return Err(Trouble::Ask(node));
            }
            Err(trouble) => return Err(trouble),
        }
        Ok(())
    }
}

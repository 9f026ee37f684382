//! Which server has which key: one has all, or each of a cluster's primaries has some slots.

use crate::address::Address;
use crate::error::Program;
use crate::link::{Link, MOST_BYTES_OF_SLOTS, Trouble};
use crate::wire::Node;
use redis::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Servers of a cluster that are remembered: the slots do not suffice for as many.
const MOST_NODES: usize = 16_384;

/// The servers of a filter, and the connections to them.
#[derive(Debug)]
pub(crate) struct Nodes {
    address: Address,
    /// The primaries of a cluster; none if the server stands alone.
    cluster: Option<Cluster>,
    links: HashMap<Node, Link>,
    program: Program,
}

#[derive(Debug, Default)]
struct Cluster {
    /// First slot, last slot, primary.
    ranges: Vec<(u16, u16, Node)>,
    /// All that were ever heard of, to be asked who is left.
    known: Vec<Node>,
}

impl Nodes {
    /// Connects to the server of the address, and learns whether it is one of a cluster.
    pub(crate) fn connect(address: &Address, program: Program) -> Result<Self, Trouble> {
        let (address, links) = (address.clone(), HashMap::new());
        let mut nodes = Self { address, cluster: None, links, program };
        let first = nodes.first();
        let says = nodes.link(&first)?.ask(&redis::cmd("HELLO"))?;
        if mode(&says) == Some(b"cluster") {
            let known = vec![first];
            nodes.cluster = Some(Cluster { known, ..Cluster::default() });
            nodes.learn()?;
        }
        Ok(nodes)
    }

    pub(crate) fn are_a_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// The node that has a slot.
    pub(crate) fn of(&self, slot: u16) -> Result<Node, Trouble> {
        let Some(cluster) = &self.cluster else { return Ok(self.first()) };
        let found = cluster.ranges.iter().find(|(from, to, _)| (*from..=*to).contains(&slot));
        found
            .map(|(_, _, node)| node.clone())
            .ok_or_else(|| Trouble::NotNow(format!("no node of the cluster serves slot {slot}")))
    }

    /// The connection to a node, made if there is none.
    pub(crate) fn link(&mut self, node: &Node) -> Result<&mut Link, Trouble> {
        match self.links.entry(node.clone()) {
            Entry::Occupied(link) => Ok(link.into_mut()),
            Entry::Vacant(place) => {
                Ok(place.insert(Link::open(&self.address, node, self.program)?))
            }
        }
    }

    /// The connection is of no use any more.
    pub(crate) fn forget(&mut self, node: &Node) {
        self.links.remove(node);
    }

    /// Asks a cluster again who has what. Whoever answers first is believed.
    pub(crate) fn learn(&mut self) -> Result<(), Trouble> {
        let Some(cluster) = &self.cluster else { return Ok(()) };
        let mut last = Trouble::NotNow("no node of the cluster answers".to_owned());
        for node in cluster.known.clone() {
            match self.link(&node).and_then(|link| {
                let command = redis::cmd("CLUSTER").arg("SLOTS").to_owned();
                link.ask_for(&command, MOST_BYTES_OF_SLOTS)
            }) {
                Ok(slots) => return self.note(&slots, &node),
                Err(trouble) => {
                    self.forget(&node);
                    last = trouble;
                }
            }
        }
        Err(last)
    }

    fn note(&mut self, slots: &Value, told_by: &Node) -> Result<(), Trouble> {
        let wrong = || Trouble::Refused("CLUSTER SLOTS is not answered as expected".to_owned());
        let Some(cluster) = &mut self.cluster else { return Ok(()) };
        let Value::Array(ranges) = slots else { return Err(wrong()) };
        cluster.ranges.clear();
        for range in ranges {
            let Value::Array(parts) = range else { return Err(wrong()) };
            let [Value::Int(from), Value::Int(to), primary, replicas @ ..] = parts.as_slice()
            else {
                return Err(wrong());
            };
            let (from, to) = (u16::try_from(*from), u16::try_from(*to));
            let (Ok(from), Ok(to)) = (from, to) else { return Err(wrong()) };
            let primary = node(primary, told_by).ok_or_else(wrong)?;
            let replicas = replicas.iter().filter_map(|replica| node(replica, told_by));
            for node in std::iter::once(primary.clone()).chain(replicas) {
                if cluster.known.len() < MOST_NODES && !cluster.known.contains(&node) {
                    cluster.known.push(node);
                }
            }
            cluster.ranges.push((from, to, primary));
        }
        Ok(())
    }

    fn first(&self) -> Node {
        Node { host: self.address.host.clone(), port: self.address.port }
    }
}

/// A node of CLUSTER SLOTS.
fn node(value: &Value, told_by: &Node) -> Option<Node> {
    let Value::Array(parts) = value else { return None };
    let [host, Value::Int(port), ..] = parts.as_slice() else { return None };
    let host = match host {
        Value::BulkString(host) => String::from_utf8(host.clone()).ok()?,
        _ => String::new(),
    };
    Some(Node { host, port: u16::try_from(*port).ok()? }.told_by(told_by))
}

/// The field `mode` of HELLO.
fn mode(says: &Value) -> Option<&[u8]> {
    let mut fields = says.as_map_iter()?;
    fields.find_map(|(name, value)| match (name, value) {
        (Value::BulkString(name), Value::BulkString(value)) if name == b"mode" => Some(&**value),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_without_a_host_are_where_the_one_is_that_tells() {
        let told_by = Node { host: "here".to_owned(), port: 1 };
        let host = |text: &str| Value::BulkString(text.into());
        for (host, expected) in [
            (host("there"), "there"),
            (host(""), "here"),
            (host("?"), "here"),
            (Value::Nil, "here"),
        ] {
            let found = node(&Value::Array(vec![host, Value::Int(7)]), &told_by);
            assert_eq!(found, Some(Node { host: expected.to_owned(), port: 7 }));
        }
    }
}

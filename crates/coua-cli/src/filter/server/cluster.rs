//! The key that holds an item, and the server that holds a key: a single server has all keys, each primary of a cluster
//! has some slots.
//!
//! The key is a promise: every process, of any version, must find an item in the same shard.

use super::connection::{Connection, LinkError, Node};
use super::protocol::{ServerCommand, Value};
use crate::filter::address::Address;
use crate::terminal::Verbosity;
use coua::KeyHash;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The largest number of servers remembered for a cluster: it cannot have more primaries than slots.
const MOST_NODES: usize = 16_384;
/// The most bytes of a reply to CLUSTER SLOTS, with each slot a separate range with a replica.
const MOST_BYTES_OF_SLOTS: u64 = 4 << 20;

/// The servers of a filter, and the connections to them.
#[derive(Debug)]
pub(super) struct Nodes {
    pub(super) address: Address,
    pub(super) verbosity: Verbosity,
    /// The primaries of a cluster; `None` for a single server.
    cluster: Option<Cluster>,
    connections: HashMap<Node, Connection>,
    /// How the names of the module's commands begin, on all servers.
    pub(super) prefix: &'static str,
}

#[derive(Debug, Default)]
struct Cluster {
    ranges: Vec<SlotRange>,
    /// All nodes ever seen; any of them can be asked for the current ones.
    known: Vec<Node>,
}

#[derive(Debug)]
struct SlotRange {
    first: u16,
    last: u16,
    primary: Node,
    replicas: Vec<Node>,
}

impl SlotRange {
    fn read(range: &Value, told_by: &Node) -> Option<Self> {
        let [Value::Int(first), Value::Int(last), nodes @ ..] = range.elements()? else {
            return None;
        };
        let nodes: Option<Vec<_>> = nodes.iter().map(|told| node(told, told_by)).collect();
        let mut replicas = nodes.filter(|nodes| !nodes.is_empty())?;
        let primary = replicas.remove(0);
        let [first, last] = [first, last].map(|slot| u16::try_from(*slot));
        Some(Self { first: first.ok()?, last: last.ok()?, primary, replicas })
    }
}

impl Nodes {
    /// Connects to the server of the address, and finds out whether it belongs to a cluster.
    pub(super) fn connect(address: &Address, verbosity: Verbosity) -> Result<Self, LinkError> {
        let (address, connections) = (address.clone(), HashMap::new());
        let mut nodes = Self { address, verbosity, cluster: None, connections, prefix: "" };
        let first = nodes.first();
        let connection = nodes.connection(&first)?;
        let (prefix, says) = (connection.prefix, connection.call(&ServerCommand::new("HELLO"))?);
        nodes.prefix = prefix;
        if says.field("mode").and_then(Value::text) == Some(b"cluster") {
            nodes.cluster = Some(Cluster { known: vec![first], ..Cluster::default() });
            nodes.learn()?;
        }
        Ok(nodes)
    }

    pub(super) fn are_a_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// The node that has a slot.
    pub(super) fn of(&self, slot: u16) -> Result<Node, LinkError> {
        let Some(cluster) = &self.cluster else { return Ok(self.first()) };
        let found = cluster.ranges.iter().find(|range| (range.first..=range.last).contains(&slot));
        found
            .map(|range| range.primary.clone())
            .ok_or_else(|| LinkError::NotNow(format!("no node of the cluster serves slot {slot}")))
    }

    /// The connection to a node, opened if there is none.
    pub(super) fn connection(&mut self, node: &Node) -> Result<&mut Connection, LinkError> {
        match self.connections.entry(node.clone()) {
            Entry::Occupied(connection) => Ok(connection.into_mut()),
            Entry::Vacant(place) => Ok(place.insert(Connection::open(&self.address, node)?)),
        }
    }

    /// Drops the connection.
    pub(super) fn forget(&mut self, node: &Node) {
        self.connections.remove(node);
    }

    /// Asks the cluster again which node has which slots. The first answer is used.
    pub(super) fn learn(&mut self) -> Result<(), LinkError> {
        let Some(cluster) = &self.cluster else { return Ok(()) };
        let command = ServerCommand::new("CLUSTER").arg("SLOTS");
        let mut last = LinkError::NotNow("no node of the cluster replies".to_owned());
        for node in cluster.known.clone() {
            let connection = self.connection(&node);
            match connection.and_then(|open| open.call_for(&command, MOST_BYTES_OF_SLOTS)) {
                Ok(slots) => return self.record_slots(&slots, &node),
                Err(error) => {
                    self.forget(&node);
                    last = error;
                }
            }
        }
        Err(last)
    }

    fn record_slots(&mut self, slots: &Value, told_by: &Node) -> Result<(), LinkError> {
        let Some(cluster) = &mut self.cluster else { return Ok(()) };
        let read = |range| SlotRange::read(range, told_by);
        let ranges = slots.elements().and_then(|ranges| ranges.iter().map(read).collect());
        let Some::<Vec<_>>(ranges) = ranges else {
            return Err(LinkError::Refused("unexpected reply to CLUSTER SLOTS".to_owned()));
        };
        for range in &ranges {
            for node in [&range.primary].into_iter().chain(&range.replicas) {
                if cluster.known.len() < MOST_NODES && !cluster.known.contains(node) {
                    cluster.known.push(node.clone());
                }
            }
        }
        for (old, new) in successions(&cluster.ranges, &ranges) {
            self.verbosity.say(format_args!(
                "{}: {new} has become the owner of the slots of {old}; what {old} had not passed on to it is new again",
                self.address
            ));
        }
        cluster.ranges = ranges;
        Ok(())
    }

    fn first(&self) -> Node {
        Node { host: self.address.host.clone(), port: self.address.port }
    }
}

/// Nodes that have lost all their slots, each with a node that had none and now has some of these. A planned move of slots
/// takes them one by one.
fn successions<'a>(before: &'a [SlotRange], now: &'a [SlotRange]) -> Vec<(&'a Node, &'a Node)> {
    let owns = |ranges: &[SlotRange], node: &Node| ranges.iter().any(|it| it.primary == *node);
    let mut found = Vec::new();
    for range in now.iter().filter(|range| !owns(before, &range.primary)) {
        let old = before.iter().find(|old| (old.first..=old.last).contains(&range.first));
        let pair = old.map(|old| (&old.primary, &range.primary));
        found.extend(pair.filter(|pair| !owns(now, pair.0) && !found.contains(pair)));
    }
    found
}

/// A node of CLUSTER SLOTS.
fn node(value: &Value, told_by: &Node) -> Option<Node> {
    let [host, Value::Int(port), ..] = value.elements()? else { return None };
    let host = String::from_utf8(host.text().unwrap_or_default().to_vec()).ok()?;
    Some(Node { host, port: u16::try_from(*port).ok()? }.told_by(told_by))
}

/// The number of slots of a cluster.
const SLOTS: u16 = 16_384;

/// The keys that a filter is spread over.
#[derive(Clone, Debug)]
pub(super) struct Shards {
    keys: Vec<String>,
}

impl Shards {
    /// `name` alone, or `{name:0}` to `{name:N-1}`: each has its own hash tag, so a cluster spreads them over all of
    /// its slots.
    pub(super) fn new(name: &str, shards: Option<u32>) -> Self {
        let keys = match shards {
            None => vec![name.to_owned()],
            Some(shards) => (0..shards).map(|number| key(name, number)).collect(),
        };
        Self { keys }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The shard of an item by its hash, XXH3-64 with seed 0: the same as with `--shard`.
    pub(super) fn of(&self, hash: KeyHash) -> usize {
        hash.share(self.keys.len() as u32) as usize
    }
}

/// The key of a shard.
pub(super) fn key(name: &str, number: u32) -> String {
    format!("{{{name}:{number}}}")
}

/// The slot of a key in a cluster: that of its hash tag, if it begins with one.
pub(super) fn slot(key: &str) -> u16 {
    let tag = key.strip_prefix('{').and_then(|key| key.split_once('}'));
    let tag = tag.map_or(key, |(tag, _)| tag);
    crc16::State::<crc16::XMODEM>::calculate(tag.as_bytes()) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_without_a_host_are_where_the_one_is_that_tells() {
        let told_by = Node { host: "here".to_owned(), port: 1 };
        let host = |text: &str| Value::Text(text.into());
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

    use coua::KeyHasher;

    #[test]
    fn golden_shards() {
        let shards = Shards::new("seen", Some(64));
        let of = |item: &str| shards.of(KeyHasher::default().hash(item.as_bytes()));
        let found = ["", "a", "b", "https://example.org/", "coua"].map(of);
        assert_eq!(found, [48, 7, 15, 18, 51]);
    }

    /// `coua dedup --shard` and Python divide keys in the same way.
    #[test]
    fn shards_are_those_of_the_library() {
        for hash in (0..1000_u64).map(|item| KeyHasher::default().hash(item.to_le_bytes())) {
            for count in [1, 2, 3, 64, 16_384] {
                let found = Shards::new("seen", Some(count)).of(hash);
                assert_eq!(found, hash.share(count) as usize, "of {count}");
            }
        }
    }

    #[test]
    fn keys_and_their_slots() {
        assert_eq!(Shards::new("seen", None).keys(), ["seen"]);
        let shards = Shards::new("seen", Some(2));
        assert_eq!(shards.keys(), ["{seen:0}", "{seen:1}"]);
        // The same as CLUSTER KEYSLOT replies.
        assert_eq!(
            ["123456789", "{seen:0}", "seen:0", "seen", "{seen}.push"].map(slot),
            [12739, 2055, 2055, 4229, 4229]
        );
    }
}

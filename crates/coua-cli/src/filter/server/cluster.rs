//! The key that holds an item, and the server that holds a key: a single server has all keys, each primary of a cluster
//! has some slots.
//!
//! The key is a promise: every process, of any version, must find an item in the same shard.

use super::address::Address;
use super::connection::{Connection, LinkError, MOST_BYTES_OF_SLOTS, Node};
use coua::KeyHash;
use redis::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The largest number of servers remembered for a cluster: it cannot have more primaries than slots.
const MOST_NODES: usize = 16_384;

/// The servers of a filter, and the connections to them.
#[derive(Debug)]
pub(super) struct Nodes {
    address: Address,
    /// The primaries of a cluster; `None` for a single server.
    cluster: Option<Cluster>,
    connections: HashMap<Node, Connection>,
    /// How the names of the module's commands begin, on all servers.
    pub(super) prefix: &'static str,
}

#[derive(Debug, Default)]
struct Cluster {
    /// First slot, last slot, primary.
    ranges: Vec<(u16, u16, Node)>,
    /// All nodes ever seen; any of them can be asked for the current ones.
    known: Vec<Node>,
}

impl Nodes {
    /// Connects to the server of the address, and finds out whether it belongs to a cluster.
    pub(super) fn connect(address: &Address) -> Result<Self, LinkError> {
        let (address, connections) = (address.clone(), HashMap::new());
        let mut nodes = Self { address, cluster: None, connections, prefix: "" };
        let first = nodes.first();
        let connection = nodes.connection(&first)?;
        let (prefix, says) = (connection.prefix, connection.call(&redis::cmd("HELLO"))?);
        nodes.prefix = prefix;
        if mode(&says) == Some(b"cluster") {
            let known = vec![first];
            nodes.cluster = Some(Cluster { known, ..Cluster::default() });
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
        let found = cluster.ranges.iter().find(|(from, to, _)| (*from..=*to).contains(&slot));
        found
            .map(|(_, _, node)| node.clone())
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
        let mut last = LinkError::NotNow("no node of the cluster replies".to_owned());
        for node in cluster.known.clone() {
            match self.connection(&node).and_then(|connection| {
                let command = redis::cmd("CLUSTER").arg("SLOTS").to_owned();
                connection.call_for(&command, MOST_BYTES_OF_SLOTS)
            }) {
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
        let wrong = || LinkError::Refused("unexpected reply to CLUSTER SLOTS".to_owned());
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

/// The field `mode` of a reply to HELLO.
fn mode(says: &Value) -> Option<&[u8]> {
    let mut fields = says.as_map_iter()?;
    fields.find_map(|(name, value)| match (name, value) {
        (Value::BulkString(name), Value::BulkString(value)) if name == b"mode" => Some(&**value),
        _ => None,
    })
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

//! The keys of a filter, and the node of a cluster that holds a key: each primary has some slots.
//!
//! The key of an item is a promise: every process, of any version, must find it in the same shard.

use super::address::Node;
use super::protocol::Value;
use std::ops::RangeInclusive;

/// The largest number of nodes remembered for a cluster: it cannot have more primaries than slots.
const MOST_NODES: usize = 16_384;

/// Which node has which slots.
#[derive(Debug)]
pub(super) struct SlotMap {
    ranges: Vec<SlotRange>,
    /// All nodes ever seen; any of them can be asked for the current ones.
    pub(super) known: Vec<Node>,
}

#[derive(Debug)]
struct SlotRange {
    slots: RangeInclusive<u16>,
    /// The primary, then its replicas.
    nodes: Vec<Node>,
}

impl SlotRange {
    fn read(range: &Value, reporter: &Node) -> Option<Self> {
        let [Value::Int(first), Value::Int(last), nodes @ ..] = range.elements()? else {
            return None;
        };
        let [first, last] = [first, last].map(|slot| u16::try_from(*slot).ok());
        let nodes = nodes.iter().map(|value| node(value, reporter)).collect::<Option<Vec<_>>>()?;
        (!nodes.is_empty()).then_some(Self { slots: first?..=last?, nodes })
    }
}

impl SlotMap {
    /// A cluster of which one node is known.
    pub(super) fn known_to(node: &Node) -> Self {
        Self { ranges: Vec::new(), known: vec![node.clone()] }
    }

    /// The node that has a slot.
    pub(super) fn owner(&self, slot: u16) -> Option<&Node> {
        let range = self.ranges.iter().find(|range| range.slots.contains(&slot));
        range.map(|range| &range.nodes[0])
    }

    fn has_primary(&self, node: &Node) -> bool {
        self.ranges.iter().any(|range| range.nodes[0] == *node)
    }

    /// The map of a later reply to CLUSTER SLOTS; `None` if the reply is not one.
    pub(super) fn read(&self, reply: &Value, reporter: &Node) -> Option<Self> {
        let ranges = reply.elements()?.iter().map(|range| SlotRange::read(range, reporter));
        let ranges = ranges.collect::<Option<Vec<_>>>()?;
        let mut known = self.known.clone();
        for node in ranges.iter().flat_map(|range| &range.nodes) {
            if known.len() < MOST_NODES && !known.contains(node) {
                known.push(node.clone());
            }
        }
        Some(Self { ranges, known })
    }

    /// The nodes that have lost all their slots since `before`, each with a node that had none and now has some of
    /// these. A planned move of slots takes them one by one.
    pub(super) fn successions<'a>(&'a self, before: &'a Self) -> Vec<[&'a Node; 2]> {
        let mut found = Vec::new();
        for SlotRange { slots, nodes } in &self.ranges {
            let old = before.owner(*slots.start()).filter(|old| !self.has_primary(old));
            let pair = old.filter(|_| !before.has_primary(&nodes[0])).map(|old| [old, &nodes[0]]);
            found.extend(pair.filter(|pair| !found.contains(pair)));
        }
        found
    }
}

/// A node of CLUSTER SLOTS.
fn node(value: &Value, reporter: &Node) -> Option<Node> {
    let [host, Value::Int(port), ..] = value.elements()? else { return None };
    let host = String::from_utf8(host.text().unwrap_or_default().to_vec()).ok()?;
    Some(Node { host, port: u16::try_from(*port).ok()? }.reported_by(reporter))
}

/// The number of slots of a cluster.
const SLOTS: u16 = 16_384;

/// The keys that a filter is spread over: `name` alone, or `{name:0}` to `{name:N-1}`. Each of these has its own hash
/// tag, so a cluster spreads them over all of its slots. An item belongs to the same shard as with `--shard`.
pub(super) fn keys_of(name: &str, shards: Option<u32>) -> Vec<String> {
    match shards {
        None => vec![name.to_owned()],
        Some(shards) => (0..shards).map(|number| key(name, number)).collect(),
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
        let reported_by = Node { host: "here".to_owned(), port: 1 };
        let host = |text: &str| Value::Text(text.into());
        for (host, expected) in [
            (host("there"), "there"),
            (host(""), "here"),
            (host("?"), "here"),
            (Value::Nil, "here"),
        ] {
            let found = node(&Value::Array(vec![host, Value::Int(7)]), &reported_by);
            assert_eq!(found, Some(Node { host: expected.to_owned(), port: 7 }));
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

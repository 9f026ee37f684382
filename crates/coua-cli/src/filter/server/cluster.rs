//! The keys of a filter, and the node of a cluster that holds a key: each primary has some slots.
//!
//! The key of an item is a promise: every process, of any version, must find it in the same shard.

use super::connection::Node;
use super::protocol::Value;

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

impl SlotMap {
    /// A cluster of which one node is known.
    pub(super) fn known_to(node: &Node) -> Self {
        Self { ranges: Vec::new(), known: vec![node.clone()] }
    }

    /// The node that has a slot.
    pub(super) fn owner(&self, slot: u16) -> Option<&Node> {
        let range = self.ranges.iter().find(|range| (range.first..=range.last).contains(&slot));
        range.map(|range| &range.primary)
    }

    /// Follows a reply to CLUSTER SLOTS, and returns the nodes that have lost all their slots, each with its
    /// successor; `None` if the reply is not one.
    pub(super) fn update(&mut self, reply: &Value, told_by: &Node) -> Option<Vec<(Node, Node)>> {
        let read = |range| SlotRange::read(range, told_by);
        let ranges = reply.elements()?.iter().map(read).collect::<Option<Vec<_>>>()?;
        for node in
            ranges.iter().flat_map(|range| [&range.primary].into_iter().chain(&range.replicas))
        {
            if self.known.len() < MOST_NODES && !self.known.contains(node) {
                self.known.push(node.clone());
            }
        }
        let found = successions(&self.ranges, &ranges);
        let found = found.into_iter().map(|(old, new)| (old.clone(), new.clone())).collect();
        self.ranges = ranges;
        Some(found)
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

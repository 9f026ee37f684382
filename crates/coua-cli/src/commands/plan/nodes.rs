//! A filter on several machines, each with a shard of the keys: `docs/scale.md`.

use super::planner::Planner;
use crate::filter::collisions;
use crate::terminal::{Failure, Report, Result, counted, grouped, significant, size};
use coua::sizing::CuckooPlan;
use serde_json::json;

/// Standard deviations by which the fullest shard may exceed the mean. Not one of a billion shards exceeds this.
const SPREAD: f64 = 6.0;

/// Cost of a record of another shard, as a fraction of one of the node's own: a URL is only read and hashed
/// (`docs/scale.md`).
const PASSED_OVER: f64 = 0.35;

/// A node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    /// Memory for its filter.
    pub(super) memory: u64,
    /// Records of its own that it de-duplicates.
    pub(super) records_per_second: u64,
}

/// The plan for several nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct MachinesPlan {
    items: u64,
    nodes: u32,
    node: Machine,
    /// The filter of one of them.
    filter: CuckooPlan,
}

impl MachinesPlan {
    /// The fewest nodes with enough memory for the items.
    pub(super) fn plan(items: u64, rate: Option<f64>, node: Machine) -> Result<Self> {
        let planner = Planner { rate, window: None };
        // Returns an error of the rate or the number of items, whatever the number of nodes.
        planner.plan(Some(items), None)?;
        let filter = |nodes| planner.plan(Some(fullest_shard(items, nodes)), None);
        let fits = |nodes| filter(nodes).map(|filter| filter.whole.bytes <= node.memory);
        if !fits(u32::MAX)? {
            return Err(too_small(items, filter(u32::MAX)?.whole.bytes, node.memory));
        }
        let (mut low, mut high) = (1, u32::MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            if fits(middle)? { high = middle } else { low = middle + 1 }
        }
        Ok(Self { items, nodes: low, node, filter: filter(low)?.whole })
    }

    /// Bits that distinguish keys: the number of the shard adds bits to those that its filter remembers, up to those of
    /// the hash.
    fn bits_told_apart(&self) -> f64 {
        (self.filter.hash_bits + f64::from(self.nodes).log2()).min(64.0)
    }

    /// Bits of every hash that each filter remembers.
    pub(super) fn filter_bits(&self) -> f64 {
        self.filter.hash_bits
    }

    fn expected_wrongly_dropped(&self) -> f64 {
        collisions::in_stream(self.items, self.bits_told_apart())
    }

    /// If each record is sent to the node of its shard.
    fn by_key(&self, record_bytes: u64) -> Travel {
        let elsewhere = 1.0 - 1.0 / f64::from(self.nodes);
        let own = self.items as f64 / f64::from(self.nodes);
        Travel::new(record_bytes as f64 * elsewhere, own, self.node)
    }

    /// If each node reads all records, and takes those of its shard.
    fn all_read(&self, record_bytes: u64) -> Travel {
        let own = self.items as f64 / f64::from(self.nodes);
        let records = own + PASSED_OVER * (self.items as f64 - own);
        Travel::new(record_bytes as f64 * f64::from(self.nodes), records, self.node)
    }

    pub(super) fn report(&self, record_bytes: u64) -> Report {
        let (mut report, filter) = (Report::default(), &self.filter);
        let (by_key, all_read) = (self.by_key(record_bytes), self.all_read(record_bytes));
        report.number("items", "items", self.items);
        let rate = self.items as f64 / self.bits_told_apart().exp2();
        report.measure("rate", "false-positive rate", rate, significant);
        let dropped = self.expected_wrongly_dropped();
        let name = "records dedup would wrongly drop";
        report.measure("expected_wrongly_dropped", name, dropped, significant);
        report.number("nodes", "nodes", self.nodes.into());
        report.number("shards", "shards, one per node", self.nodes.into());
        report.number("node_items", "items in the fullest shard (--capacity)", filter.items);
        report.bytes("node_bytes", "memory of its filter", filter.bytes);
        report.bytes("bytes", "total memory", filter.bytes.saturating_mul(self.nodes.into()));
        let bits = |number: f64| format!("{number:.2}");
        report.measure("bits_per_item", "bits per item", filter.bits_per_item(), bits);
        report.measure("hash_bits", "hash bits", filter.hash_bits, bits);
        report.field("records_per_second", self.node.records_per_second);
        by_key.write("by_key", "each record to the node of its key", &mut report);
        all_read.write("all_read", "each node reads all (--shard)", &mut report);
        let asked = on_a_server(record_bytes);
        report.field("on_a_server", json!({"wire_bytes": asked}));
        report.row("queried on servers", format!("{asked} bytes per record"));
        report
    }
}

/// Traffic and time of a way to distribute records.
#[derive(Clone, Copy, Debug)]
struct Travel {
    /// Bytes sent per record.
    wire_bytes: f64,
    hours: f64,
}

impl Travel {
    /// For a node that processes `records` records.
    fn new(wire_bytes: f64, records: f64, node: Machine) -> Self {
        Self { wire_bytes, hours: records / node.records_per_second as f64 / 3600.0 }
    }

    fn write(self, field: &'static str, name: &str, report: &mut Report) {
        let Self { wire_bytes, hours } = self;
        report.field(field, json!({"wire_bytes": wire_bytes, "hours": hours}));
        let [bytes, hours] = [wire_bytes, hours].map(significant);
        report.row(name, format!("{bytes} bytes per record, {hours} hours"));
    }
}

/// The items of the fullest shard, with one shard per node.
fn fullest_shard(items: u64, nodes: u32) -> u64 {
    let mean = items as f64 / f64::from(nodes);
    items.min(items.div_ceil(nodes.into()).saturating_add((SPREAD * mean.sqrt()).ceil() as u64))
}

/// Bytes sent for a record which is its own key: as an argument of a command, with its length before it, and the reply.
fn on_a_server(record_bytes: u64) -> u64 {
    let ends = 4;
    let digits = u64::from(record_bytes.checked_ilog10().unwrap_or(0)) + 1;
    let answer = 4;
    record_bytes.saturating_add(1 + digits + ends + answer)
}

/// The warning if 64 bits are too few to distinguish `items` items.
pub(super) fn too_few_bits(items: u64, hash_bits: f64) -> Option<String> {
    let dropped = collisions::in_stream(items, hash_bits);
    (hash_bits >= 64.0 && dropped >= 1.0).then(|| {
        format!(
            "64 hash bits are too few to distinguish {}: expect {} of them to be wrongly dropped",
            counted(items, "item"),
            significant(dropped)
        )
    })
}

fn too_small(items: u64, least: u64, memory: u64) -> Failure {
    let (items, nodes) = (counted(items, "item"), grouped(u32::MAX.into()));
    let reason = format!(
        "{} is too little: {items} on {nodes} nodes, the maximum, need {} each",
        size(memory),
        size(least)
    );
    Failure::at("--memory-per-node", reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua::KeyHasher;
    use std::collections::HashSet;

    const NODE: Machine = Machine { memory: 64 << 30, records_per_second: 20_000_000 };
    fn plan(items: u64, rate: Option<f64>, memory: u64) -> MachinesPlan {
        MachinesPlan::plan(items, rate, Machine { memory, ..NODE }).unwrap()
    }

    #[test]
    fn as_few_nodes_as_fit() {
        for (items, rate, memory) in [
            (1_000_000_000_000, None, 64 << 30),
            (1_000_000_000_000, Some(1e-6), 64 << 30),
            (10_000_000_000_000, None, 64 << 30),
            (5_000_000, Some(1e-5), 1 << 20),
            (1000, None, 10_000),
        ] {
            let cluster = plan(items, rate, memory);
            assert!(cluster.filter.bytes <= memory, "{items}: {cluster:?}");
            assert!(cluster.filter.items * u64::from(cluster.nodes) >= items, "{cluster:?}");
            if cluster.nodes > 1 {
                let fewer = fullest_shard(items, cluster.nodes - 1);
                let planner = Planner { rate, window: None };
                let larger = planner.plan(Some(fewer), None).unwrap().whole;
                assert!(larger.bytes > memory, "{items}: {cluster:?}");
            }
        }
        assert_eq!(plan(1_000_000, None, 64 << 30).nodes, 1);
    }

    /// A cluster confuses two keys only if they are in one shard and their hashes begin with the same bits.
    #[test]
    fn a_shard_tells_more_keys_apart_than_its_filter_has_bits() {
        let (items, bits, shares) = (1_u64 << 16, 20, 16);
        let hashes = (0..items).map(|item| KeyHasher::default().hash(item));
        let told_apart: HashSet<_> =
            hashes.map(|hash| (hash.share(shares), hash.to_u64() >> (64 - bits))).collect();
        let lost = (items - told_apart.len() as u64) as f64;
        let expected = collisions::in_stream(items, f64::from(bits) + f64::from(shares).log2());
        assert!((0.7..1.3).contains(&(lost / expected)), "{lost} and {expected}");
    }

    #[test]
    fn wrong_answers_do_not_depend_on_the_nodes() {
        let trillion = 1_000_000_000_000_u64;
        let by_hand = (trillion as f64).powi(2) / 65_f64.exp2();
        for memory in [1 << 30, 64 << 30, 1 << 50] {
            let dropped = plan(trillion, None, memory).expected_wrongly_dropped();
            assert!((dropped / by_hand - 1.0).abs() < 1e-6, "{dropped} and {by_hand}");
        }
        let at_a_rate = plan(trillion, Some(1e-6), 64 << 30).expected_wrongly_dropped();
        assert!((0.4..=1.0).contains(&(at_a_rate / (trillion as f64 * 0.5e-6))), "{at_a_rate}");
    }

    #[test]
    fn what_travels_and_how_long_it_takes() {
        let cluster = MachinesPlan { nodes: 10, ..plan(7_200_000_000_000, None, 64 << 30) };
        let (by_key, all_read) = (cluster.by_key(100), cluster.all_read(100));
        assert!(
            (by_key.wire_bytes - 90.0).abs() < 1e-9 && (all_read.wire_bytes - 1000.0).abs() < 1e-9
        );
        assert!((by_key.hours - 10.0).abs() < 1e-9);
        assert!((all_read.hours - 10.0 * (1.0 + 9.0 * PASSED_OVER)).abs() < 1e-9);
        // $60\r\n, the record, \r\n; and :1\r\n.
        assert_eq!([0, 9, 10, 60, 1234].map(on_a_server), [10, 19, 21, 71, 1247]);
        assert_eq!(on_a_server(u64::MAX), u64::MAX);
    }

    #[test]
    fn one_node_sends_nothing() {
        let alone = plan(0, None, 1 << 20);
        assert_eq!((alone.nodes, alone.filter.items), (1, 0));
        let by_key = alone.by_key(60);
        assert!(by_key.wire_bytes.abs() < 1e-9 && by_key.hours.abs() < 1e-9);
        assert!(alone.expected_wrongly_dropped().abs() < 1e-9);
    }

    #[test]
    fn the_fullest_shard_has_no_more_than_all() {
        assert_eq!(fullest_shard(1000, 1), 1000);
        assert_eq!(fullest_shard(1_000_000, 100), 10_600);
        assert_eq!(fullest_shard(3, u32::MAX), 2);
        assert_eq!(fullest_shard(0, 7), 0);
        assert_eq!(fullest_shard(u64::MAX, 1), u64::MAX);
    }

    #[test]
    fn nodes_that_are_too_small_are_refused() {
        let refused = |items, memory| {
            let node = Machine { memory, ..NODE };
            MachinesPlan::plan(items, None, node).unwrap_err().reason().to_owned()
        };
        let reason = refused(1000, 10);
        assert!(reason.starts_with("10 B is too little: 1,000 items on 4,294,967,295"), "{reason}");
        let reason = refused(u64::MAX, 1 << 30);
        assert!(reason.contains("too little"), "{reason}");
    }

    #[test]
    fn sixty_four_bits_are_enough_for_six_billion_items() {
        assert_eq!(too_few_bits(6_000_000_000, 64.0), None);
        assert_eq!(too_few_bits(1_000_000_000_000, 60.0), None, "as it was asked for");
        let text = too_few_bits(1_000_000_000_000, 64.0).unwrap();
        assert!(
            text.contains("distinguish 1,000,000,000,000 items: expect 27105 of them"),
            "{text}"
        );
    }
}

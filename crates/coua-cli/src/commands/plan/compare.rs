//! The memory of other structures for the same number of items at the same rate.

use crate::terminal::size;
use coua::sizing::peers::{binary_fuse, blocked_bloom, bloom, hash_set, quotient};
use coua::{CuckooFilter, WhenFull};
use serde::Serialize;

/// Another structure. The field names are part of the interface.
#[derive(Debug, Serialize)]
pub(super) struct Peer {
    name: &'static str,
    /// None if it cannot reach the rate.
    bytes: Option<u64>,
    bits_per_item: Option<f64>,
    removes: bool,
    grows: bool,
    /// It has no false positives, except equal 64-bit hashes where only hashes are stored.
    exact: bool,
}

// Whether items can be taken away, and whether more can be added than planned.
const REMOVES_AND_GROWS: [bool; 2] = [true, true];
const REMOVES: [bool; 2] = [true, false];
const NEITHER: [bool; 2] = [false, false];

/// The structures to compare with.
pub(super) fn peers(items: u64, rate: f64, record_bytes: u64) -> Vec<Peer> {
    let builder = CuckooFilter::builder().capacity(items).rate(rate);
    let cuckoo = builder.when_full(WhenFull::ExceedRate).plan();
    // A block of 256 bits reaches low rates only by being almost empty.
    let sane = |bytes: &u64| *bytes < items.saturating_mul(125).max(1 << 20);
    let filter = |name, bytes: Option<u64>, [removes, grows]: [bool; 2]| {
        let bits_per_item = bytes.map(|bytes| 8.0 * bytes as f64 / items.max(1) as f64);
        Peer { name, bytes, bits_per_item, removes, grows, exact: false }
    };
    let set = |name, bytes| Peer { exact: true, ..filter(name, Some(bytes), REMOVES_AND_GROWS) };
    let of_records = items.saturating_mul(record_bytes.saturating_add(16));
    vec![
        filter("coua", cuckoo.ok().map(|plan| plan.bytes), REMOVES_AND_GROWS),
        filter("Bloom", bloom(items, rate), NEITHER),
        filter("blocked Bloom", blocked_bloom(items, rate).filter(sane), NEITHER),
        // Four bits for each of a Bloom filter.
        filter("counting Bloom", bloom(items, rate).map(|bytes| bytes.saturating_mul(4)), REMOVES),
        filter("quotient", quotient(items, rate), REMOVES_AND_GROWS),
        filter("binary fuse", binary_fuse(items, rate), NEITHER),
        set("set of 64-bit hashes", hash_set(items, 8)),
        // Three words of a vector, and the record in its own heap block.
        set("set of records", hash_set(items, 24).saturating_add(of_records)),
    ]
}

/// One line for each.
pub(super) fn table(peers: &[Peer]) -> String {
    let mut text = format!(
        "{:22} {:>9} {:>9}  {:7} {:5}\n",
        "compared with", "memory", "bits/item", "removes", "grows"
    );
    let yes = |answer| if answer { "yes" } else { "no" };
    for peer in peers {
        let memory = peer.bytes.map_or_else(|| "-".to_owned(), size);
        let bits = peer.bits_per_item.map_or_else(|| "-".to_owned(), |bits| format!("{bits:.2}"));
        let (removes, grows) = (yes(peer.removes), yes(peer.grows));
        let line = format!("{:22} {memory:>9} {bits:>9}  {removes:7} {grows:5}", peer.name);
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_reach_the_rate_is_told() {
        let lines = table(&peers(1000, 1e-16, 60));
        assert!(lines.contains("blocked Bloom                  -"), "{lines}");
    }
}

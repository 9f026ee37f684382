//! `coua plan`.

use crate::args::value;
use crate::filter::dropped_in_stream;
use crate::terminal::{Failure, Report, ReportFormat, Result, print, significant, size};
use coua::sizing::CuckooPlan;
use coua::sizing::peers::{binary_fuse, blocked_bloom, bloom, hash_set, quotient};
use coua::{BuildError, CuckooFilter, WhenFull};
use serde::Serialize;
use serde_json::json;

/// Show how much memory a filter needs, and how other methods compare
///
/// Without a rate, the plan is for all 64 bits of every hash, the default of `dedup`.
///
/// The memory is that of a filter created for this number of items. A filter that grows past its plan takes between 1
/// and 2.1 times the memory that is planned for its items, because all its segments fill, and split in two, at about
/// the same number of items. `coua compact` frees the excess.
///
/// For a window, plan an eighth of its items at an eighth of the rate, and take ten times the memory: that of its
/// generations, and of an empty one. With --window-by last, repeats may move all items into one generation: it grows,
/// and the memory may be up to 2.1 times as much until the next one begins.
///
/// A set of records is compared for records of 60 bytes. docs/json.md describes the fields of the JSON object.
#[derive(clap::Args, Debug)]
pub(crate) struct PlanArgs {
    /// Number of items, such as 14M or 1e9
    #[arg(long, value_name = "N", value_parser = value::count)]
    items: u64,

    /// False-positive rate with these items, such as 0.001 or 0.1%
    #[arg(long, value_name = "RATE", value_parser = value::rate)]
    rate: Option<f64>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl PlanArgs {
    /// Prints how much memory the filter needs, and how much others would need.
    pub(crate) fn run(&self) -> Result<()> {
        let plan = self.plan().map_err(|error| Failure::at("plan", error))?;
        let peers = peers(plan.items, plan.rate);
        let report = report(&plan, &peers);
        let text = if self.json {
            report.print_as(ReportFormat::Json)
        } else {
            report.table() + "\n" + &table(&peers)
        };
        print(&text)
    }

    fn plan(&self) -> Result<CuckooPlan, BuildError> {
        let builder = CuckooFilter::builder().capacity(self.items);
        match self.rate {
            Some(rate) => builder.rate(rate).when_full(WhenFull::ExceedRate).plan(),
            None => builder.plan(),
        }
    }
}

fn report(plan: &CuckooPlan, peers: &[Peer]) -> Report {
    let mut report = Report::default();
    report.number("items", "items", plan.items);
    report.measure("rate", "false-positive rate", plan.rate, significant);
    let dropped = dropped_in_stream(plan.items, plan.hash_bits);
    let name = "records dedup would wrongly drop";
    report.measure("expected_wrongly_dropped", name, dropped, significant);
    report.bytes("bytes", "memory", plan.bytes);
    report.field("overflow_bytes", plan.overflow_bytes);
    let hundredths = |number: f64| format!("{number:.2}");
    report.measure("bits_per_item", "bits per item", plan.bits_per_item(), hundredths);
    report.measure("hash_bits", "hash bits", plan.hash_bits, hundredths);
    report.number("slot_bits", "bits per slot", plan.slot_bits.into());
    report.number("slots", "slots", plan.slots);
    report.number("segments", "segments", plan.segments);
    report.field("compared", json!(peers));
    report
}

/// Another structure. The field names are part of the interface.
#[derive(Debug, Serialize)]
struct Peer {
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

/// The bytes of a record that a set stores.
const RECORD: u64 = 60;

/// The structures to compare with.
fn peers(items: u64, rate: f64) -> Vec<Peer> {
    let builder = CuckooFilter::builder().capacity(items).rate(rate);
    let cuckoo = builder.when_full(WhenFull::ExceedRate).plan();
    // A block of 256 bits reaches low rates only by being almost empty.
    let sane = |bytes: &u64| *bytes < items.saturating_mul(125).max(1 << 20);
    let filter = |name, bytes: Option<u64>, [removes, grows]: [bool; 2]| {
        let bits_per_item = bytes.map(|bytes| 8.0 * bytes as f64 / items.max(1) as f64);
        Peer { name, bytes, bits_per_item, removes, grows, exact: false }
    };
    let set = |name, bytes| Peer { exact: true, ..filter(name, Some(bytes), REMOVES_AND_GROWS) };
    let of_records = items.saturating_mul(RECORD + 16);
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
fn table(peers: &[Peer]) -> String {
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
        let lines = table(&peers(1000, 1e-16));
        assert!(lines.contains("blocked Bloom                  -"), "{lines}");
    }
}

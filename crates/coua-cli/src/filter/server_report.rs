//! What there is to say of a filter on a server: `info` and `--stats`.

use crate::clock::window_text;
use crate::terminal::{
    FilterFigures, Notes, Report, Result, grouped, percent, significant, tenths,
};
use coua::window::{Clock, Window};
use coua_remote::{Address, Description, Filter};
use serde_json::json;

/// What there is to say of the filter, as its server tells it.
pub(crate) fn describe(address: &Address) -> Result<Report> {
    let (filter, found) = Filter::open(address, Notes::Told.program())?;
    let mut report = Report::default();
    report.text("server", "server", &filter.name());
    report.number("shards", "shards", found.shards);
    report.number("items", "items", found.items);
    report.number("items_deleted", "items removed", found.deleted);
    let (fewest, most) = (found.fewest_items, found.most_items);
    report.field("fewest_items_in_a_shard", fewest);
    report.field("most_items_in_a_shard", most);
    let range = || format!("{} to {}", grouped(fewest), grouped(most));
    report.row_if_any("items in a shard", (found.shards > 1).then(range));
    tell_measures(&figures(&found), &mut report);
    report.number("slots", "slots", found.slots);
    report.text("when_full", "when full", found.when_full());
    let window_object = |window: Window| {
        let clock = if window.clock() == Clock::Count { "items" } else { "arrival" };
        json!({"clock": clock, "length": window.length(), "generations": window.generations()})
    };
    report.field("window", found.window.map(window_object));
    report.row_if_any("window of each shard", found.window.map(window_text));
    Ok(report)
}

/// Adds how exact a filter is, and how large.
pub(crate) fn tell_measures(filter: &FilterFigures, report: &mut Report) {
    let rate = filter.false_positive_rate;
    report.measure("false_positive_rate", "false-positive rate now", rate, significant);
    report.measure("hash_bits", "hash bits", filter.hash_bits, significant);
    report.measure("load", "load", filter.load, percent);
    report.bytes("memory_bytes", "memory", filter.memory_bytes);
    report.measure("bits_per_item", "bits per item", filter.bits_per_item(), tenths);
}

/// The figures of a run.
pub(super) fn figures(found: &Description) -> FilterFigures {
    FilterFigures {
        items: found.items,
        load: found.load,
        memory_bytes: found.memory_bytes,
        hash_bits: found.hash_bits,
        false_positive_rate: found.false_positive_rate,
        window: None,
    }
}

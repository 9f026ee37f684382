//! What there is to report about a filter on a server: `info`.

use super::address::Address;
use super::remote_filter::RemoteFilter;
use crate::clock::window_text;
use crate::terminal::{FilterFigures, Report, Result, Verbosity, grouped};
use coua::window::{Clock, Window};
use serde_json::json;

/// What there is to say of the filter, as its server tells it.
pub(crate) fn report(address: &Address) -> Result<Report> {
    let (filter, found) = RemoteFilter::open(address, Verbosity::Normal)?;
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
    FilterFigures::from(&found).write_measures(&mut report);
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

//! `coua info` about a filter on a server.

use super::Address;
use super::description::Description;
use super::filter::Filter;
use crate::clock::window_text;
use crate::terminal::figures::{Format, Table};
use crate::terminal::message::{Failure, Notes};
use crate::terminal::text::{grouped, known, percent, significant, size};
use coua::window::{Clock, Window};
use serde::Serialize;

/// What there is to say; the names of the fields are part of the interface.
#[derive(Debug, Serialize)]
struct Info {
    server: String,
    shards: u64,
    items: u64,
    items_deleted: u64,
    fewest_items_in_a_shard: u64,
    most_items_in_a_shard: u64,
    false_positive_rate: Option<f64>,
    hash_bits: Option<f64>,
    load: Option<f64>,
    memory_bytes: u64,
    bits_per_item: f64,
    slots: u64,
    when_full: &'static str,
    /// Of each shard; null for a filter that never forgets.
    window: Option<WindowInfo>,
}

#[derive(Debug, Serialize)]
struct WindowInfo {
    clock: &'static str,
    length: u64,
    generations: u32,
}

impl WindowInfo {
    fn of(window: Window) -> Self {
        let clock = if window.clock() == Clock::Count { "items" } else { "arrival" };
        Self { clock, length: window.length(), generations: window.generations() }
    }
}

/// The description, to be printed.
pub(crate) fn describe(address: &Address, form: Format) -> Result<String, Failure> {
    let (filter, found) = Filter::open(address, Notes::Told)?;
    let info = Info::of(filter.name(), &found);
    Ok(match form {
        Format::Json => serde_json::to_string_pretty(&info).unwrap_or_default() + "\n",
        Format::Text => info.table(found.window),
    })
}

impl Info {
    fn of(server: String, found: &Description) -> Self {
        Self {
            server,
            shards: found.shards,
            items: found.items,
            items_deleted: found.deleted,
            fewest_items_in_a_shard: found.fewest_items,
            most_items_in_a_shard: found.most_items,
            false_positive_rate: found.false_positive_rate,
            hash_bits: found.hash_bits,
            load: found.load,
            memory_bytes: found.memory_bytes,
            bits_per_item: found.bits_per_item(),
            slots: found.slots,
            when_full: found.when_full(),
            window: found.window.map(WindowInfo::of),
        }
    }

    fn table(&self, window: Option<Window>) -> String {
        let mut table = Table::default();
        table.row("server", &self.server);
        table.row("shards", grouped(self.shards));
        table.row("items", grouped(self.items));
        table.row("items removed", grouped(self.items_deleted));
        if self.shards > 1 {
            let (fewest, most) = (self.fewest_items_in_a_shard, self.most_items_in_a_shard);
            table.row("items in a shard", format!("{} to {}", grouped(fewest), grouped(most)));
        }
        table.row("false-positive rate now", known(self.false_positive_rate, significant));
        table.row("hash bits", known(self.hash_bits, significant));
        table.row("load", percent(self.load));
        table.row("memory", size(self.memory_bytes));
        table.row("bits per item", format!("{:.1}", self.bits_per_item));
        table.row("slots", grouped(self.slots));
        table.row("when full", self.when_full);
        if let Some(window) = window {
            table.row("window of each shard", window_text(window));
        }
        table.text()
    }
}

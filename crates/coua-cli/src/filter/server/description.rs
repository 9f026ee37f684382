//! The description of a filter: CF.INFO of all shards together.

use super::protocol::Value;
use crate::clock::window_text;
use crate::filter::OnFull;
use crate::key::KeySpec;
use crate::terminal::{FilterFigures, Report, grouped};
use coua::window::{Clock, Window};
use serde_json::json;

/// All shards of a filter together.
#[derive(Debug)]
pub(super) struct Description {
    /// The hash bits are the fewest of any shard, and the rate is that of a key that was never added.
    pub(super) figures: FilterFigures,
    /// The items of each shard, every copy counted.
    pub(super) items: Vec<u64>,
    /// Items that were removed.
    pub(super) deleted: u64,
    /// Slots of all buckets.
    slots: u64,
    pub(super) on_full: OnFull,
    /// The window of each shard, if they have one; it is the same for all.
    pub(super) window: Option<Window>,
    /// A shard has the layout of `RedisBloom`.
    pub(super) is_of_redisbloom: bool,
    /// How the filter's keys are made, if the first shard has a note of it.
    pub(super) key_spec: Option<KeySpec>,
}

impl Description {
    /// Combines the replies of all shards, which have these keys.
    pub(super) fn of(keys: &[String], shards: &[Value]) -> Result<Self, String> {
        let windows: Vec<_> = shards.iter().map(window).collect();
        if let Some(other) = windows.iter().position(|other| *other != windows[0]) {
            return Err(format!(
                "{} and {} have different windows (see CF.INFO key FULL), but belong to one filter; rename or \
                 delete what does not belong to it",
                keys[other], keys[0]
            ));
        }
        let mut all = Self::sum(shards).ok_or("unexpected reply to CF.INFO")?;
        let note = shards[0].field("Notes").and_then(|notes| notes.field(KeySpec::NOTE)?.text());
        let key_spec = note.map(|note| KeySpec::of_note(note, KeySpec::NOTE)).transpose();
        all.key_spec = key_spec.map_err(|failure| failure.reason().to_owned())?;
        all.window = windows[0];
        Ok(all)
    }

    /// Adds up the numbers of all shards; `None` if one of them lacks a field that every filter has.
    fn sum(shards: &[Value]) -> Option<Self> {
        let sum = |name| total(&wholes(shards, name)?);
        let (buckets, widths) =
            (wholes(shards, "Number of buckets")?, wholes(shards, "Bucket size")?);
        // A server may send any number.
        let slots = buckets.iter().zip(widths).map(|(buckets, width)| buckets.checked_mul(width));
        let slots: Vec<_> = slots.collect::<Option<_>>()?;
        let all_slots = total(&slots)?;
        let load = reals(shards, "Load").map(|loads| {
            let used = loads.iter().zip(&slots).map(|(load, slots)| load * *slots as f64);
            used.sum::<f64>() / all_slots.max(1) as f64
        });
        let rates = reals(shards, "Error rate");
        let items = wholes(shards, "Number of items inserted")?;
        let is_fixed = wholes(shards, "Expansion rate")?.contains(&0);
        Some(Self {
            figures: FilterFigures {
                items: total(&items)?,
                load,
                memory_bytes: sum("Size")?,
                hash_bits: reals(shards, "Hash bits")
                    .map(|bits| bits.into_iter().fold(f64::INFINITY, f64::min)),
                // A lookup goes to one shard only.
                false_positive_rate: rates
                    .map(|rates| rates.iter().sum::<f64>() / shards.len() as f64),
                ..FilterFigures::default()
            },
            items,
            deleted: sum("Number of items deleted")?,
            slots: all_slots,
            on_full: if is_fixed { OnFull::Stop } else { OnFull::Grow },
            window: None,
            is_of_redisbloom: shards.iter().any(|shard| shard.field("Layout").is_some()),
            key_spec: None,
        })
    }

    /// Adds its figures to a report.
    pub(super) fn write_report(&self, report: &mut Report) {
        report.number("shards", "shards", self.items.len() as u64);
        report.number("items", "items", self.figures.items);
        report.number("items_deleted", "items removed", self.deleted);
        let (fewest, most) = (self.items.iter().min().copied(), self.items.iter().max().copied());
        report.field("fewest_items_in_a_shard", fewest);
        report.field("most_items_in_a_shard", most);
        let range = fewest.zip(most).filter(|_| self.items.len() > 1);
        let range = range.map(|(few, many)| format!("{} to {}", grouped(few), grouped(many)));
        report.row_if_any("items in a shard", range);
        self.figures.write_measures(report);
        report.number("slots", "slots", self.slots);
        report.text("when_full", "when full", self.on_full.name());
        let window_object = |window: Window| {
            let clock = if window.clock() == Clock::Count { "items" } else { "arrival" };
            json!({"clock": clock, "length": window.length(), "generations": window.generations()})
        };
        report.field("window", self.window.map(window_object));
        report.row_if_any("window of each shard", self.window.map(window_text));
        if let Some(keys) = &self.key_spec {
            keys.write_report(report);
        }
    }
}

/// The window of a shard, if it has one.
fn window(shard: &Value) -> Option<Window> {
    let number = |name| shard.field(name).and_then(whole);
    let timed = number("Window milliseconds").map(|length| (Clock::Arrival, length));
    let (clock, length) =
        timed.or_else(|| number("Window items").map(|items| (Clock::Count, items)))?;
    let generations = u32::try_from(number("Generations")?).ok()?;
    Window::new(clock, length, generations).ok()
}

/// A field of all shards.
fn wholes(shards: &[Value], field: &str) -> Option<Vec<u64>> {
    shards.iter().map(|shard| whole(shard.field(field)?)).collect()
}

fn reals(shards: &[Value], field: &str) -> Option<Vec<f64>> {
    shards.iter().map(|shard| real(shard.field(field)?)).collect()
}

fn total(numbers: &[u64]) -> Option<u64> {
    numbers.iter().try_fold(0_u64, |sum, number| sum.checked_add(*number))
}

fn whole(value: &Value) -> Option<u64> {
    if let Value::Int(number) = value { u64::try_from(*number).ok() } else { None }
}

fn real(value: &Value) -> Option<f64> {
    let real = match value {
        Value::Int(number) => *number as f64,
        value => str::from_utf8(value.text()?).ok()?.parse().ok()?,
    };
    Some(real).filter(|real: &f64| real.is_finite() && *real >= 0.0)
}

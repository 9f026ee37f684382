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
        let note = shards[0].field("Notes").and_then(|notes| notes.field(KeySpec::NOTE)?.text());
        let key_spec = note.map(|note| KeySpec::of_note(note, KeySpec::NOTE)).transpose();
        let key_spec = key_spec.map_err(|failure| failure.reason().to_owned())?;
        Self::sum(shards, windows[0], key_spec).ok_or("unexpected reply to CF.INFO".to_owned())
    }

    /// Adds up the numbers of all shards; `None` if one of them lacks a field that every filter has.
    fn sum(shards: &[Value], window: Option<Window>, key_spec: Option<KeySpec>) -> Option<Self> {
        let (buckets, widths) =
            (wholes(shards, "Number of buckets")?, wholes(shards, "Bucket size")?);
        // A server may send any number.
        let slots = buckets.iter().zip(widths).map(|(buckets, width)| buckets.checked_mul(width));
        let slots: Vec<_> = slots.collect::<Option<_>>()?;
        let items = wholes(shards, "Number of items inserted")?;
        let is_fixed = wholes(shards, "Expansion rate")?.contains(&0);
        let bits = reals(shards, "Hash bits");
        let figures = FilterFigures {
            items: total(&items)?,
            load: reals(shards, "Load").and_then(|loads| mean(&loads, &slots)),
            memory_bytes: total(&wholes(shards, "Size")?)?,
            hash_bits: bits.map(|bits| bits.into_iter().fold(f64::INFINITY, f64::min)),
            // A lookup goes to one shard only.
            false_positive_rate: reals(shards, "Error rate")
                .and_then(|rates| mean(&rates, &vec![1; rates.len()])),
            ..FilterFigures::default()
        };
        Some(Self {
            figures,
            items,
            deleted: total(&wholes(shards, "Number of items deleted")?)?,
            slots: total(&slots)?,
            on_full: if is_fixed { OnFull::Stop } else { OnFull::Grow },
            window,
            is_of_redisbloom: shards.iter().any(|shard| shard.field("Layout").is_some()),
            key_spec,
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

/// The mean of values with these weights.
fn mean(values: &[f64], weights: &[u64]) -> Option<f64> {
    let sum: f64 = values.iter().zip(weights).map(|(value, weight)| value * *weight as f64).sum();
    Some(sum / total(weights)?.max(1) as f64)
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

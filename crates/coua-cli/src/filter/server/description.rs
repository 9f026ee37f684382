//! The options of a filter, as arguments of CF.RESERVE, and its description: CF.INFO of all shards together.

use super::connection::Value;
use crate::clock::window_text;
use crate::filter::spec::{GENERATIONS, differs, rate_without_items, window_object};
use crate::filter::{Address, FilterFigures, FilterSpec, OnFull, WindowLength};
use crate::key::KeySpec;
use crate::terminal::{Failure, Report, Result, counted, significant};
use coua::window::{AgeFrom, Clock, Window};

/// The initial capacity of a shard if none is given; it grows.
const FEW: u64 = 1024;
/// The lowest capacity that a server accepts.
const LEAST_CAPACITY: u64 = 4;
const MOST_CAPACITY: u64 = 1 << 30;
/// A field of CF.INFO.
pub(super) const ITEMS: &str = "Number of items inserted";
/// With fewer, a growing filter would be full early: a server divides its segments, and never moves all items at once.
const FEWEST_BITS: f64 = 31.0;
const MOST_BITS: f64 = 64.0;

/// Whether the filter never grows.
fn is_fixed(spec: &FilterSpec) -> bool {
    spec.on_full == Some(OnFull::Stop)
}

/// The options of each of `shards` shards. Returns an error for options that a server does not support.
pub(super) fn of_shard(spec: &FilterSpec, shards: u64) -> Result<FilterSpec> {
    if spec.rate.is_some() && spec.capacity.is_none() {
        return Err(rate_without_items());
    }
    if spec.window.age_from == Some(AgeFrom::LastSeen) {
        let reason =
            "is not available on a server: there a record's age counts from when it was first seen";
        return Err(Failure::at("--window-by=last", reason));
    }
    if spec.window.window()?.is_some() && is_fixed(spec) {
        let reason = "is not available with a window on a server, where such a filter always grows";
        return Err(Failure::at("--when-full=stop", reason));
    }
    let mut spec = spec.clone();
    spec.capacity = spec.capacity.map(|all| all.div_ceil(shards));
    if is_fixed(&spec) && shards > 1 {
        // A shard that cannot grow gets four standard deviations more than its share.
        let more = |share: u64| share + (4.0 * (share as f64).sqrt()).ceil() as u64;
        spec.capacity = spec.capacity.map(more);
    }
    if let Some(WindowLength::Items(items)) = &mut spec.window.length {
        *items = items.div_ceil(shards);
    }
    Ok(spec)
}

/// The arguments of CF.RESERVE after the key, for a shard with these options.
pub(super) fn arguments(spec: &FilterSpec) -> Result<String> {
    if is_fixed(spec) && spec.capacity.is_none() {
        return Err(Failure::at("--when-full=stop", "needs --capacity"));
    }
    let capacity = spec.capacity.unwrap_or(FEW).max(LEAST_CAPACITY);
    if capacity > MOST_CAPACITY {
        let reason = "is more than 2^30 items in a shard; use more shards \
                      (?shards=N), or drop --capacity";
        return Err(Failure::at("--capacity", reason));
    }
    let accuracy = match spec.rate {
        // For a filter of fixed size, the server chooses the bits.
        Some(rate) if is_fixed(spec) => format!("ERROR {rate}"),
        Some(rate) => format!("HASHBITS {}", bits_for(rate, capacity)?),
        None => format!("HASHBITS {MOST_BITS}"),
    };
    let growth = if is_fixed(spec) { "EXPANSION 0" } else { "EXPANSION 1" };
    let window = match spec.window.length {
        Some(WindowLength::Items(items)) => format!("ITEMS {}", items.max(GENERATIONS.into())),
        Some(WindowLength::Time(millis)) => format!(" {millis}ms"),
        None => return Ok(format!("{capacity} {growth} {accuracy}")),
    };
    Ok(format!("{capacity} {growth} {accuracy} WINDOW{window} GENERATIONS {GENERATIONS}"))
}

/// The hash bits that a rate needs.
fn bits_for(rate: f64, items: u64) -> Result<f64> {
    let bits = (items as f64 / rate).log2().ceil();
    if bits > MOST_BITS {
        let least = significant(items as f64 * (-MOST_BITS).exp2());
        let items = counted(items, "item");
        let reason = format!("is less than 64-bit hashes allow: {least} for {items}");
        return Err(Failure::at("--rate", reason));
    }
    Ok(bits.max(FEWEST_BITS))
}

/// Returns an error if the existing filter does not have the options that are wanted of each shard.
pub(super) fn agree(spec: &FilterSpec, found: &Description, name: &Address) -> Result<()> {
    if let Some(wanted) = spec.on_full.filter(|wanted| *wanted != found.on_full) {
        return Err(differs(name, "--when-full", found.on_full.name(), wanted.name()));
    }
    spec.window.agree_with(found.window, &name.to_string())?;
    let capacity = spec.capacity.unwrap_or_default() as f64;
    let rate = capacity / found.figures.hash_bits.unwrap_or_default().exp2();
    let missed = spec.rate.filter(|wanted| rate > wanted * 1.001);
    missed.map_or(Ok(()), |wanted| Err(differs(name, "--rate", significant(rate), wanted)))
}

/// All shards of a filter together.
#[derive(Debug)]
pub(super) struct Description {
    /// The hash bits are the fewest of any shard, and the rate is that of a key that was never added.
    pub(super) figures: FilterFigures,
    /// Items that were removed.
    pub(super) deleted: u64,
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
        let expansions = shards.iter().map(|shard| whole(shard, "Expansion rate"));
        let is_fixed = expansions.collect::<Option<Vec<_>>>()?.contains(&0);
        let bits = reals(shards, "Hash bits");
        let figures = FilterFigures {
            items: total(shards, |shard| whole(shard, ITEMS))?,
            load: reals(shards, "Load").as_deref().map(mean),
            memory_bytes: total(shards, |shard| whole(shard, "Size"))?,
            hash_bits: bits.map(|bits| bits.into_iter().fold(f64::INFINITY, f64::min)),
            // A lookup goes to one shard only.
            false_positive_rate: reals(shards, "Error rate").as_deref().map(mean),
            ..FilterFigures::default()
        };
        Some(Self {
            figures,
            deleted: total(shards, |shard| whole(shard, "Number of items deleted"))?,
            on_full: if is_fixed { OnFull::Stop } else { OnFull::Grow },
            window,
            is_of_redisbloom: shards.iter().any(|shard| shard.field("Layout").is_some()),
            key_spec,
        })
    }

    /// Adds its figures to a report.
    pub(super) fn write_report(&self, report: &mut Report) {
        report.number("items", "items", self.figures.items);
        report.number("items_deleted", "items removed", self.deleted);
        self.figures.write_measures(report);
        report.text("when_full", "when full", self.on_full.name());
        report.field("window", self.window.map(window_object));
        report.row_if_any("window of each shard", self.window.map(window_text));
        if let Some(keys) = &self.key_spec {
            keys.write_report(report);
        }
    }
}

/// The window of a shard, if it has one.
fn window(shard: &Value) -> Option<Window> {
    let timed = whole(shard, "Window milliseconds").map(|length| (Clock::Arrival, length));
    let counted = || whole(shard, "Window items").map(|items| (Clock::Count, items));
    let (clock, length) = timed.or_else(counted)?;
    let generations = u32::try_from(whole(shard, "Generations")?).ok()?;
    Window::new(clock, length, generations).ok()
}

pub(super) fn whole(shard: &Value, field: &str) -> Option<u64> {
    u64::try_from(shard.field(field)?.int()?).ok()
}

/// The sum of a number over all shards. A server may send any number.
fn total(shards: &[Value], number: impl Fn(&Value) -> Option<u64>) -> Option<u64> {
    shards.iter().try_fold(0_u64, |sum, shard| sum.checked_add(number(shard)?))
}

/// A field of all shards.
fn reals(shards: &[Value], field: &str) -> Option<Vec<f64>> {
    let real = |shard: &Value| {
        let real = match shard.field(field)? {
            Value::Int(number) => *number as f64,
            value => str::from_utf8(value.text()?).ok()?.parse().ok()?,
        };
        Some(real).filter(|real: &f64| real.is_finite() && *real >= 0.0)
    };
    shards.iter().map(real).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::WindowSpec;

    fn text(spec: &FilterSpec, shards: u64) -> String {
        arguments(&of_shard(spec, shards).unwrap()).unwrap()
    }

    #[test]
    fn words_for_the_server() {
        let all = FilterSpec::default();
        assert_eq!(text(&all, 1), "1024 EXPANSION 1 HASHBITS 64");
        let roomy = FilterSpec { capacity: Some(1_000_000), ..all };
        assert_eq!(text(&roomy, 1), "1000000 EXPANSION 1 HASHBITS 64");
        assert_eq!(text(&roomy, 64), "15625 EXPANSION 1 HASHBITS 64");
        let exact = FilterSpec { rate: Some(0.001), ..roomy.clone() };
        assert_eq!(text(&exact, 1), "1000000 EXPANSION 1 HASHBITS 31");
        assert_eq!(text(&exact, 64), "15625 EXPANSION 1 HASHBITS 31");
        let finer = FilterSpec { rate: Some(1e-6), ..roomy };
        assert_eq!(text(&finer, 1), "1000000 EXPANSION 1 HASHBITS 40");
        let fixed = FilterSpec { on_full: Some(OnFull::Stop), ..exact };
        assert_eq!(text(&fixed, 1), "1000000 EXPANSION 0 ERROR 0.001");
        assert_eq!(text(&fixed, 64), "16125 EXPANSION 0 ERROR 0.001");
        let forgetful = |length, shards| {
            let window = WindowSpec { length: Some(length), ..WindowSpec::default() };
            text(&FilterSpec { window, ..FilterSpec::default() }, shards)
        };
        let week = forgetful(WindowLength::Time(604_800_000), 2);
        assert_eq!(week, "1024 EXPANSION 1 HASHBITS 64 WINDOW 604800000ms GENERATIONS 8");
        let items = forgetful(WindowLength::Items(1_000_000), 16);
        assert_eq!(items, "1024 EXPANSION 1 HASHBITS 64 WINDOWITEMS 62500 GENERATIONS 8");
    }

    #[test]
    fn what_a_server_cannot_do_is_told() {
        let most = FilterSpec { capacity: Some(1 << 31), ..FilterSpec::default() };
        let is_possible = |spec: &FilterSpec, shards| {
            of_shard(spec, shards).is_ok_and(|spec| arguments(&spec).is_ok())
        };
        assert!(!is_possible(&most, 1) && is_possible(&most, 2));
        let most = FilterSpec { capacity: Some(1 << 30), rate: Some(1e-12), ..most };
        assert!(!is_possible(&most, 1));
    }
}

//! The module's commands: operations on keys, in batches per shard; and CF.INFO.

use super::protocol::Value;
use crate::filter::{OnFull, Op};
use crate::key::{BlockKeys, KeySpec};
use crate::terminal::{FilterFigures, Result};
use coua::window::{Clock, Window};
use std::fmt::Display;

/// The most keys in a command: enough to make its overhead small, few enough not to delay other clients.
const MOST_KEYS: usize = 4096;
/// The most bytes of keys in a command; a longer key has a command of its own.
const MOST_BYTES: usize = 1 << 20;
/// Servers refuse longer items by default.
pub(super) const LONGEST_KEY: usize = 512 << 20;

/// The command for `op`: its name without the prefix, and the arguments between the filter's key and the keys. They
/// never let the server create a filter, because it would have the server's defaults.
pub(super) fn command(op: Op) -> (&'static str, &'static [&'static str]) {
    match op {
        Op::Dedup | Op::AddNew => ("INSERTNX", &["NOCREATE", "ITEMS"]),
        Op::Add => ("INSERT", &["NOCREATE", "ITEMS"]),
        Op::Remove => ("MDEL", &[]),
        Op::Check => ("MEXISTS", &[]),
        Op::Count => ("MCOUNT", &[]),
    }
}

/// The answer for a key for which the filter has no room.
pub(super) const FULL: i64 = -1;
/// The answer for a key that is present.
pub(super) const ALREADY_THERE: i64 = 0;

/// Whether `number` is a possible answer: 1 if the key was inserted, removed or is present; or the number of copies.
pub(super) fn allows(op: Op, number: i64) -> bool {
    match op {
        Op::Dedup | Op::AddNew => (FULL..=1).contains(&number),
        Op::Add => matches!(number, FULL | 1),
        Op::Remove | Op::Check => matches!(number, 0 | 1),
        Op::Count => number >= 0,
    }
}

/// The answer for one key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct KeyAnswer {
    /// The server's number; `None` if it sent none.
    pub(super) number: Option<i64>,
    /// The operation was sent twice, because the first reply was lost: it may have been executed twice.
    pub(super) in_doubt: bool,
}

/// The keys of one shard in one command.
#[derive(Debug)]
pub(super) struct KeyBatch {
    pub(super) shard: usize,
    pub(super) places: Vec<usize>,
    bytes: usize,
}

impl KeyBatch {
    /// Batches of keys by shard, in their order.
    pub(super) fn of(keys: &BlockKeys, shards: usize) -> Vec<Self> {
        let mut done = Vec::new();
        let mut open: Vec<Option<Self>> = (0..shards).map(|_| None).collect();
        for (place, (hash, key)) in keys.hashes.iter().zip(keys.contents.iter()).enumerate() {
            let shard = hash.share(shards as u32) as usize;
            let batch =
                open[shard].get_or_insert_with(|| Self { shard, places: Vec::new(), bytes: 0 });
            batch.places.push(place);
            batch.bytes += key.len();
            if batch.places.len() >= MOST_KEYS || batch.bytes >= MOST_BYTES {
                done.extend(open[shard].take());
            }
        }
        done.extend(open.into_iter().flatten());
        done
    }

    /// Its keys.
    pub(super) fn keys<'a>(&'a self, all: &'a BlockKeys) -> impl Iterator<Item = &'a [u8]> {
        let BlockKeys { contents, .. } = all;
        let start = |place: usize| place.checked_sub(1).map_or(0, |before| contents.ends[before]);
        self.places.iter().map(move |&place| &contents.bytes[start(place)..contents.ends[place]])
    }
}

/// All shards of a filter together.
#[derive(Debug, Default)]
pub(super) struct Description {
    /// The number of shards.
    pub(super) shards: u64,
    /// Items in all shards, every copy counted.
    pub(super) items: u64,
    /// Items that were removed.
    pub(super) deleted: u64,
    /// Memory of all shards.
    pub(super) memory_bytes: u64,
    /// Slots of all buckets.
    pub(super) slots: u64,
    /// Slots in use, 0 to 1.
    pub(super) load: Option<f64>,
    /// The lowest value of any shard.
    pub(super) hash_bits: Option<f64>,
    /// The current rate, for a key that was never added.
    pub(super) false_positive_rate: Option<f64>,
    /// The filter never grows.
    pub(super) is_fixed: bool,
    /// Items of the emptiest shard.
    pub(super) fewest_items: u64,
    /// Items of the fullest shard.
    pub(super) most_items: u64,
    /// The window of each shard, if they have one; it is the same for all.
    pub(super) window: Option<Window>,
    /// A shard has the layout of `RedisBloom`.
    pub(super) is_of_redisbloom: bool,
    /// The note about the keys, from the first shard.
    pub(super) key_note: Option<Vec<u8>>,
}

impl Description {
    /// Combines the replies of all shards; `None` if one of them lacks a field that every filter has.
    pub(super) fn of(shards: &[Value]) -> Option<Self> {
        let mut all = Self { fewest_items: u64::MAX, ..Self::default() };
        let (mut used, mut rates) = (Some(0.0), Some(0.0));
        for shard in shards {
            let number = |name| shard.field(name).and_then(whole);
            let real = |name| shard.field(name).and_then(real);
            let items = number("Number of items inserted")?;
            let slots = number("Number of buckets")?.checked_mul(number("Bucket size")?)?;
            all.shards += 1;
            // A server may send any number.
            all.items = all.items.checked_add(items)?;
            all.deleted = all.deleted.checked_add(number("Number of items deleted")?)?;
            all.memory_bytes = all.memory_bytes.checked_add(number("Size")?)?;
            all.slots = all.slots.checked_add(slots)?;
            all.is_fixed |= number("Expansion rate")? == 0;
            all.is_of_redisbloom |= shard.field("Layout").is_some();
            all.fewest_items = all.fewest_items.min(items);
            all.most_items = all.most_items.max(items);
            used = used.zip(real("Load")).map(|(used, load)| used + load * slots as f64);
            rates = rates.zip(real("Error rate")).map(|(rates, rate)| rates + rate);
            if let Some(bits) = real("Hash bits") {
                all.hash_bits = Some(all.hash_bits.map_or(bits, |fewest: f64| fewest.min(bits)));
            }
        }
        all.window = shards.first().and_then(window);
        all.key_note = shards.first().and_then(|shard| note(shard, KeySpec::NOTE));
        all.load = used.map(|used| used / all.slots.max(1) as f64);
        // A lookup of a key that was never added goes to one shard only.
        all.false_positive_rate = rates.map(|rates| rates / shards.len().max(1) as f64);
        Some(all)
    }

    /// How the filter's keys are made, if the server has a note of it.
    pub(super) fn key_spec(&self, filter: impl Display) -> Result<Option<KeySpec>> {
        self.key_note.as_deref().map(|note| KeySpec::of_note(note, filter)).transpose()
    }

    pub(super) fn on_full(&self) -> OnFull {
        if self.is_fixed { OnFull::Stop } else { OnFull::Grow }
    }
}

/// The window of a shard, if it has one.
pub(super) fn window(shard: &Value) -> Option<Window> {
    let number = |name| shard.field(name).and_then(whole);
    let timed = number("Window milliseconds").map(|length| (Clock::Arrival, length));
    let (clock, length) =
        timed.or_else(|| number("Window items").map(|items| (Clock::Count, items)))?;
    let generations = u32::try_from(number("Generations")?).ok()?;
    Window::new(clock, length, generations).ok()
}

/// The note with the name `wanted`.
fn note(shard: &Value, wanted: &str) -> Option<Vec<u8>> {
    shard.field("Notes")?.field(wanted)?.text().map(<[u8]>::to_vec)
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

impl From<&Description> for FilterFigures {
    fn from(found: &Description) -> Self {
        Self {
            items: found.items,
            capacity: None,
            load: found.load,
            memory_bytes: found.memory_bytes,
            hash_bits: found.hash_bits,
            false_positive_rate: found.false_positive_rate,
            window: None,
        }
    }
}

//! What the server tells of a filter: CF.INFO of all its shards, together.

use crate::terminal::FilterFigures;
use coua::window::{Clock, Window};
use redis::{FromRedisValue, Value};

/// All shards of a filter together.
#[derive(Debug, Default)]
pub(super) struct Description {
    /// How many there are.
    pub(super) shards: u64,
    /// Items in all of them, every copy counted.
    pub(super) items: u64,
    /// Items that were removed.
    pub(super) deleted: u64,
    /// Memory of all of them.
    pub(super) memory_bytes: u64,
    /// Slots of all buckets.
    pub(super) slots: u64,
    /// Slots in use, 0 to 1; none for filters of another module's layout.
    pub(super) load: Option<f64>,
    /// The fewest of any shard.
    pub(super) hash_bits: Option<f64>,
    /// Now, for a key that was never added.
    pub(super) false_positive_rate: Option<f64>,
    /// It never grows.
    pub(super) is_fixed: bool,
    /// Items of the emptiest shard.
    pub(super) fewest_items: u64,
    /// Items of the fullest shard.
    pub(super) most_items: u64,
    /// Of each shard, if they forget; they all have the same.
    pub(super) window: Option<Window>,
}

impl Description {
    /// Of the replies of all shards; none if one of them lacks what every filter has.
    pub(super) fn of(shards: &[Value]) -> Option<Self> {
        let mut all = Self { fewest_items: u64::MAX, ..Self::default() };
        let (mut used, mut rates) = (Some(0.0), Some(0.0));
        for shard in shards {
            let number = |name| field(shard, name).and_then(whole);
            let real = |name| field(shard, name).and_then(real);
            let items = number("Number of items inserted")?;
            let slots = number("Number of buckets")?.checked_mul(number("Bucket size")?)?;
            all.shards += 1;
            // A server may say anything.
            all.items = all.items.checked_add(items)?;
            all.deleted = all.deleted.checked_add(number("Number of items deleted")?)?;
            all.memory_bytes = all.memory_bytes.checked_add(number("Size")?)?;
            all.slots = all.slots.checked_add(slots)?;
            all.is_fixed |= number("Expansion rate")? == 0;
            all.fewest_items = all.fewest_items.min(items);
            all.most_items = all.most_items.max(items);
            used = used.zip(real("Load")).map(|(used, load)| used + load * slots as f64);
            rates = rates.zip(real("Error rate")).map(|(rates, rate)| rates + rate);
            if let Some(bits) = real("Hash bits") {
                all.hash_bits = Some(all.hash_bits.map_or(bits, |fewest: f64| fewest.min(bits)));
            }
        }
        all.window = shards.first().and_then(window);
        all.load = used.map(|used| used / all.slots.max(1) as f64);
        // A key that was never added is asked of one shard only.
        all.false_positive_rate = rates.map(|rates| rates / shards.len().max(1) as f64);
        Some(all)
    }

    /// As `--when-full` names it.
    pub(super) fn when_full(&self) -> &'static str {
        if self.is_fixed { "error" } else { "exceed" }
    }
}

/// The window of a shard, if it forgets.
pub(super) fn window(shard: &Value) -> Option<Window> {
    let number = |name| field(shard, name).and_then(whole);
    let timed = number("Window milliseconds").map(|length| (Clock::Arrival, length));
    let (clock, length) =
        timed.or_else(|| number("Window items").map(|items| (Clock::Count, items)))?;
    let generations = u32::try_from(number("Generations")?).ok()?;
    Window::new(clock, length, generations).ok()
}

fn field<'a>(fields: &'a Value, wanted: &str) -> Option<&'a Value> {
    let is_wanted = |name: &Value| match name {
        Value::SimpleString(name) => name == wanted,
        Value::BulkString(name) => name == wanted.as_bytes(),
        _ => false,
    };
    fields.as_map_iter()?.find(|(name, _)| is_wanted(name)).map(|(_, value)| value)
}

fn whole(value: &Value) -> Option<u64> {
    u64::from_redis_value_ref(value).ok()
}

fn real(value: &Value) -> Option<f64> {
    f64::from_redis_value_ref(value).ok().filter(|value| value.is_finite() && *value >= 0.0)
}

impl From<&Description> for FilterFigures {
    fn from(found: &Description) -> Self {
        Self {
            items: found.items,
            load: found.load,
            memory_bytes: found.memory_bytes,
            hash_bits: found.hash_bits,
            false_positive_rate: found.false_positive_rate,
            window: None,
        }
    }
}

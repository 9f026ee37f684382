//! The description of a filter, in the words of `coua info --json`.

use coua::window::AgeFrom;
use coua::{CuckooFilter, HashAlgorithm, KeyHasher, Layout, WhenFull};
use serde_json::{Map, Value, json};

use crate::failure::Outcome;
use crate::state::Asked;

impl Asked<'_> {
    /// A JSON object.
    pub(crate) fn describe(&self, hasher: KeyHasher, key_note: Option<&[u8]>) -> Outcome<String> {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| {
            fields.insert(name.to_owned(), value);
        };
        put("memory_bytes", self.memory().into());
        put("false_positive_rate", self.rate().into());
        let (hash, seed) = match hasher.algorithm() {
            HashAlgorithm::Xxh3 { seed } => ("xxh3", json!(seed)),
            _ => ("siphash13", Value::Null),
        };
        put("hash", hash.into());
        put("seed", seed);
        if let Some(note) = key_note {
            let text = || String::from_utf8_lossy(note).into_owned().into();
            put("key_options", serde_json::from_slice(note).unwrap_or_else(|_| text()));
        }
        match self {
            Self::Items(filter) => {
                let CuckooFields { layout, when_full } = CuckooFields::of(filter.template());
                put("kind", if filter.window().is_some() { "window" } else { "cuckoo" }.into());
                put("layout", layout.into());
                put("when_full", when_full.into());
                put("load", filter.load_factor().into());
                put("slots", filter.slots().into());
                put("slot_bits", filter.slot_bits().into());
                put("segments", filter.segments().into());
                put("hash_bits", filter.hash_bits().into());
                put("max_items", bounded(filter.max_items()));
                if let Some(window) = filter.window() {
                    put("window_length", window.length().into());
                    put("generations", window.generations().into());
                    let is_last = window.age_from() == AgeFrom::LastSeen;
                    put("window_by", if is_last { "last" } else { "first" }.into());
                    put("present", filter.clock().into());
                    put("forgotten", filter.forgotten().into());
                }
            }
            Self::Shared(filter) => {
                put("kind", "shared".into());
                put("load", filter.load_factor().into());
                put("hash_bits", filter.hash_bits().into());
                put("max_items", bounded(filter.max_items()));
                put("shards", filter.shards().into());
            }
            Self::Bloom(bloom) => {
                put("kind", "bloom".into());
                put("blocks", bloom.blocks().into());
                put("items_estimate", bloom.count_estimate().into());
            }
        }
        if !matches!(self, Self::Bloom(_)) {
            put("items", self.len()?.into());
            put("capacity", self.capacity()?.into());
        }
        Ok(Value::Object(fields).to_string())
    }
}

/// Names of a filter's options.
struct CuckooFields {
    layout: &'static str,
    when_full: &'static str,
}

impl CuckooFields {
    fn of(filter: &CuckooFilter) -> Self {
        let layout = match filter.layout() {
            Layout::Overlapping => "overlapping",
            _ => "buckets",
        };
        let when_full = match filter.when_full() {
            WhenFull::Refuse => "error",
            WhenFull::ExceedRate => "exceed",
            _ => "grow",
        };
        Self { layout, when_full }
    }
}

/// Null: no limit.
fn bounded(items: u64) -> Value {
    if items == u64::MAX { Value::Null } else { items.into() }
}

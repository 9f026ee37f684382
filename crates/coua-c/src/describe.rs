//! The description of a filter, in the words of `coua info --json`.

use coua::window::AgeFrom;
use coua::{KeyHasher, WhenFull};
use serde_json::{Map, Value, json};

use crate::state::Asked;

impl Asked<'_> {
    /// A JSON object.
    pub(crate) fn describe(&self, hasher: KeyHasher, key_note: Option<&[u8]>) -> String {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| {
            fields.insert(name.to_owned(), value);
        };
        put("memory_bytes", self.memory().into());
        put("false_positive_rate", self.rate().into());
        let (hash, seed) = match hasher {
            KeyHasher::Xxh3 { seed } => ("xxh3", json!(seed)),
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
                put("kind", if filter.window().is_some() { "window" } else { "cuckoo" }.into());
                put("when_full", name_of(filter.template().when_full()).into());
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
        }
        put("items", self.len().into());
        put("capacity", self.capacity().into());
        Value::Object(fields).to_string()
    }
}

fn name_of(when_full: WhenFull) -> &'static str {
    match when_full {
        WhenFull::Refuse => "error",
        WhenFull::ExceedRate => "exceed",
        _ => "grow",
    }
}

/// Null: no limit.
fn bounded(items: u64) -> Value {
    if items == u64::MAX { Value::Null } else { items.into() }
}

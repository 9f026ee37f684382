//! CF.INFO and CF.DEBUG.

use std::ffi::CStr;

use coua::window::Clock;

use crate::cuckoo::{Figures, NativeCuckoo};
use crate::error::CommandError;
use crate::redisbloom::PeerCuckoo;
use crate::server::{Call, Reply};
use crate::value::Value;

/// Shorter names of fields.
const OTHER_NAMES: [(&str, &str); 3] = [
    ("FILTERS", "Number of filters"),
    ("ITEMS", "Number of items inserted"),
    ("EXPANSION", "Expansion rate"),
];

/// CF.INFO
pub(super) fn info(call: &Call<'_>) -> Result<Reply, CommandError> {
    let words = call.argv();
    if !(2..=3).contains(&words.len()) {
        return Err(CommandError::Arity);
    }
    let key = call.key::<Value>(1)?;
    let value = key.value().ok_or(CommandError::NotFound)?;
    let numbers = numbers_of(value)?;
    let mut all: Vec<_> = NAMES.into_iter().zip(numbers.map(Reply::count)).collect();
    // Without a word there are only these: clients fail on any other.
    let Some(&wanted) = words.get(2) else { return Ok(Reply::Map(all)) };
    all.extend(further_fields(value)?);
    if wanted.eq_ignore_ascii_case(b"FULL") {
        return Ok(Reply::Map(all));
    }
    let other = OTHER_NAMES.iter().find(|(word, _)| wanted.eq_ignore_ascii_case(word.as_bytes()));
    let name = other.map_or(wanted, |(_, name)| name.as_bytes());
    let field = all.into_iter().find(|(it, _)| it.to_bytes().eq_ignore_ascii_case(name));
    field.map(|(_, value)| value).ok_or_else(|| CommandError::unknown(wanted))
}

/// CF.DEBUG
pub(super) fn debug(call: &Call<'_>) -> Result<Reply, CommandError> {
    let key = call.key::<Value>(1)?;
    let [_, buckets, filters, items, deletes, bucket_size, expansion, max_iterations] =
        numbers_of(key.value().ok_or(CommandError::NotFound)?)?;
    let line = format!(
        "bktsize:{bucket_size} buckets:{buckets} items:{items} deletes:{deletes} filters:{filters} \
         max_iterations:{max_iterations} expansion:{expansion}"
    );
    Ok(Reply::Bytes(line.into_bytes()))
}

/// RedisBloom's fields.
const NAMES: [&CStr; 8] = [
    c"Size",
    c"Number of buckets",
    c"Number of filters",
    c"Number of items inserted",
    c"Number of items deleted",
    c"Bucket size",
    c"Expansion rate",
    c"Max iterations",
];

/// Their values, in this order.
fn numbers_of(value: &Value) -> Result<[u64; 8], CommandError> {
    let of_native = |native: &NativeCuckoo| {
        let (hints, figures) = (native.hints(), native.figures());
        let bucket_size = u64::from(hints.bucket_size);
        [
            native.memory_bytes(),
            // The actual slots, in buckets of the requested size.
            figures.slots.div_ceil(bucket_size),
            figures.filters,
            native.len(),
            native.deleted,
            bucket_size,
            u64::from(hints.expansion),
            u64::from(hints.max_iterations),
        ]
    };
    value.ask(of_native, PeerCuckoo::info)
}

/// The fields that `FULL` adds.
fn further_fields(value: &Value) -> Result<Vec<(&'static CStr, Reply)>, CommandError> {
    let of = |rate, hash_bits, load, bytes: u64, items: u64| {
        let per_item = bytes as f64 / items.max(1) as f64;
        vec![
            (c"Error rate", Reply::Real(rate)),
            (c"Hash bits", Reply::Real(hash_bits)),
            (c"Load", Reply::Real(load)),
            (c"Bytes per item", Reply::Real(per_item)),
        ]
    };
    match value {
        Value::Native(native) => {
            let Figures { rate, hash_bits, load, window, .. } = native.figures();
            let mut fields = of(rate, hash_bits, load, native.memory_bytes(), native.len());
            fields.extend(window.into_iter().flat_map(|(window, clock)| {
                let is_counted = window.clock() == Clock::Count;
                let length = if is_counted { c"Window items" } else { c"Window milliseconds" };
                [
                    (length, Reply::count(window.length())),
                    (c"Generations", Reply::count(window.generations().into())),
                    (c"Clock", Reply::count(clock)),
                ]
            }));
            let notes = native.notes.iter().flat_map(|(name, value)| [name, value]);
            let notes: Vec<_> = notes.map(|part| Reply::Bytes(part.to_vec())).collect();
            fields.extend((!notes.is_empty()).then_some((c"Notes", Reply::Array(notes))));
            Ok(fields)
        }
        Value::Imported(imported) => {
            let (rate, hash_bits) = (imported.false_positive_rate(), imported.hash_bits());
            let (bytes, items) = (imported.memory_bytes(), imported.items());
            let mut fields = of(rate, hash_bits, imported.load_factor(), bytes, items);
            fields.push((c"Layout", Reply::Bytes(b"RedisBloom".to_vec())));
            Ok(fields)
        }
        Value::Incomplete(_) => Err(CommandError::Incomplete),
    }
}

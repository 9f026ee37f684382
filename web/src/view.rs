//! Views of a filter for JavaScript, as JSON. All values are numbers or plain names, so that nothing needs an escape.

use std::fmt::Display;
use std::io::Cursor;

use coua::inspect::{Contents, Place, SegmentInfo, Slot, TableView};
use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{KeyHash, LoadError};

/// A snapshot that is looked into.
pub(crate) struct Snapshot {
    pub(crate) contents: Contents,
    pub(crate) bytes: Cursor<Vec<u8>>,
}

/// An object. Fields whose value is empty are missing.
fn object(fields: &[(&str, &dyn Display)]) -> String {
    let fields = fields.iter().map(|(name, value)| (name, value.to_string()));
    let fields = fields.filter(|(_, value)| !value.is_empty());
    let fields: Vec<_> = fields.map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", fields.join(","))
}

/// An array.
pub(crate) fn array(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}

/// A hash as sixteen digits: JavaScript's numbers do not hold it.
fn hex(hash: KeyHash) -> String {
    format!("\"{:016x}\"", hash.to_u64())
}

/// A filter in numbers.
pub(crate) fn described(filter: &Generations) -> String {
    let limit = Some(filter.max_items()).filter(|&most| most < u64::MAX);
    let window = filter.window().map(|window| described_window(window, filter.forgotten()));
    object(&[
        ("length", &filter.len()),
        ("capacity", &filter.capacity()),
        ("maxItems", &limit.map_or_else(String::new, |most| most.to_string())),
        ("slots", &filter.slots()),
        ("segments", &filter.segments()),
        ("slotBits", &filter.slot_bits()),
        ("load", &filter.load_factor()),
        ("hashBits", &filter.hash_bits()),
        ("falsePositiveRate", &filter.false_positive_rate()),
        ("memoryBytes", &filter.memory_bytes()),
        ("window", &window.unwrap_or_default()),
    ])
}

/// A window, as JavaScript names its options.
fn described_window(window: Window, forgotten: u64) -> String {
    let clock = match window.clock() {
        Clock::Arrival => r#""arrival""#,
        Clock::Given => r#""given""#,
        Clock::Count => r#""count""#,
    };
    let is_last = window.age_from() == AgeFrom::LastSeen;
    object(&[
        ("length", &window.length()),
        ("clock", &clock),
        ("generations", &window.generations()),
        ("windowBy", if is_last { &r#""last""# } else { &r#""first""# }),
        ("forgotten", &forgotten),
    ])
}

/// A table. It has its slots if there are few.
pub(crate) fn table(view: &TableView, snapshot: &mut Cursor<Vec<u8>>) -> Result<String, LoadError> {
    let is_small = view.segment_slots * view.segments.len() as u64 <= FEW_SLOTS;
    let slots = if is_small { view.slots(snapshot, 0)? } else { Vec::new() };
    let generation = view.generation.map_or_else(|| "null".to_owned(), |number| number.to_string());
    Ok(object(&[
        ("generation", &generation),
        ("buckets", &view.buckets),
        ("segmentSlots", &view.segment_slots),
        ("length", &view.len),
        ("falsePositiveRate", &view.false_positive_rate),
        ("isKeyed", &view.hasher(None).is_err()),
        ("segments", &array(view.segments.iter().map(segment))),
        ("slots", &array(slots.iter().map(slot))),
        ("overflowEntries", &view.overflow.len()),
        ("extra", &view.overflow.iter().map(|(_, entry)| entry.extra).sum::<u64>()),
        ("withoutSlot", &view.overflow.iter().map(|(_, entry)| entry.overflowed).sum::<u64>()),
    ]))
}

/// The most slots of a table that is drawn as a whole.
const FEW_SLOTS: u64 = 1024;

/// The bits of a fingerprint are without the choice bit.
fn segment(it: &SegmentInfo) -> String {
    let fingerprint_bits = it.slot_bits - 1;
    object(&[
        ("depth", &it.depth),
        ("occupied", &it.occupied),
        ("fingerprintBits", &fingerprint_bits),
    ])
}

/// A slot in use: its number in the segment, the other bucket of its item, the fingerprint, the choice bit, and the
/// smallest hash that would be stored like this. The short names keep long lists short.
fn slot(it: &Slot) -> String {
    object(&[
        ("n", &it.number),
        ("o", &it.other_bucket),
        ("f", &it.fingerprint),
        ("c", &u8::from(it.is_alternate)),
        ("r", &hex(it.representative)),
    ])
}

/// The place of a key, and what is there: the slots in use of both buckets, and copies in the overflow table. The step
/// leads from the primary bucket to the alternate one; the way back subtracts it.
pub(crate) fn located(
    view: &TableView,
    snapshot: &mut Cursor<Vec<u8>>,
    key: &[u8],
) -> Result<String, LoadError> {
    let hash = view.hasher(None)?.hash(key);
    let Place { segment, primary, alternate, fingerprint, representative, .. } = view.locate(hash);
    let mut slots = view.slots(snapshot, segment)?;
    slots.retain(|slot| [primary, alternate].contains(&slot.bucket));
    let entry = view.overflow.iter().find(|(of, _)| *of == representative);
    Ok(object(&[
        ("hash", &hex(hash)),
        ("segment", &segment),
        ("primary", &primary),
        ("alternate", &alternate),
        ("fingerprint", &fingerprint),
        ("fingerprintBits", &(view.segments[segment].slot_bits - 1)),
        ("step", &((alternate + view.buckets - primary) % view.buckets)),
        ("representative", &hex(representative)),
        ("slots", &array(slots.iter().map(slot))),
        ("overflowed", &entry.map_or(0, |(_, entry)| entry.extra + entry.overflowed)),
    ]))
}

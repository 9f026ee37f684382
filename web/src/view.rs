//! Views of a filter for JavaScript.

use std::io::Cursor;

use coua::inspect::{Contents, Place, SegmentInfo, Slot, TableView};
use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{KeyHash, LoadError};
use serde::Serialize;

/// A hash as sixteen digits: JavaScript's numbers do not hold it.
fn hex(hash: KeyHash) -> String {
    format!("{:016x}", hash.to_u64())
}

/// A filter in numbers.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Description {
    length: u64,
    capacity: u64,
    /// Missing: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_items: Option<u64>,
    slots: u64,
    segments: f64,
    slot_bits: u32,
    load: f64,
    hash_bits: f64,
    false_positive_rate: f64,
    memory_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<WindowShown>,
}

impl Description {
    pub(crate) fn of(filter: &Generations) -> Self {
        Self {
            length: filter.len(),
            capacity: filter.capacity(),
            max_items: Some(filter.max_items()).filter(|&most| most < u64::MAX),
            slots: filter.slots(),
            segments: filter.segments() as f64,
            slot_bits: filter.slot_bits(),
            load: filter.load_factor(),
            hash_bits: filter.hash_bits(),
            false_positive_rate: filter.false_positive_rate(),
            memory_bytes: filter.memory_bytes(),
            window: filter.window().map(|window| WindowShown::of(window, filter.forgotten())),
        }
    }
}

/// A window, as JavaScript names its options.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WindowShown {
    /// In milliseconds, or items.
    length: u64,
    clock: &'static str,
    generations: u32,
    window_by: &'static str,
    forgotten: u64,
}

impl WindowShown {
    fn of(window: Window, forgotten: u64) -> Self {
        Self {
            length: window.length(),
            clock: match window.clock() {
                Clock::Arrival => "arrival",
                Clock::Given => "given",
                Clock::Count => "count",
            },
            generations: window.generations(),
            window_by: match window.age_from() {
                AgeFrom::FirstSeen => "first",
                AgeFrom::LastSeen => "last",
            },
            forgotten,
        }
    }
}

/// The place of a key, and what is there.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Located {
    hash: String,
    segment: usize,
    primary: u64,
    alternate: u64,
    fingerprint: u64,
    fingerprint_bits: u32,
    /// The distance from the primary bucket to the alternate one; the way back subtracts it.
    step: u64,
    /// The stored part of the key's hash: equal for keys that the filter cannot distinguish.
    representative: String,
    /// The slots in use of both buckets.
    slots: Vec<SlotShown>,
    /// Copies in the overflow table.
    overflowed: u64,
}

impl Located {
    pub(crate) fn of(
        view: &TableView,
        snapshot: &mut Cursor<Vec<u8>>,
        key: &[u8],
    ) -> Result<Self, LoadError> {
        let hash = view.hasher(None)?.hash(key);
        let Place { segment, primary, alternate, fingerprint, representative, .. } =
            view.locate(hash);
        let buckets = view.buckets;
        let mut slots = view.slots(snapshot, segment)?;
        slots.retain(|slot| [primary, alternate].contains(&slot.bucket));
        let entry = view.overflow.iter().find(|entry| entry.representative == representative);
        Ok(Self {
            hash: hex(hash),
            segment,
            primary,
            alternate,
            fingerprint,
            fingerprint_bits: view.segments[segment].slot_bits - 1,
            step: (alternate + buckets - primary) % buckets,
            representative: hex(representative),
            slots: slots.iter().map(SlotShown::of).collect(),
            overflowed: entry.map_or(0, |entry| entry.extra + entry.without_slot),
        })
    }
}

/// A table.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TableShown {
    /// Null: not a generation of a window.
    generation: Option<u64>,
    buckets: u64,
    segment_slots: u64,
    length: u64,
    false_positive_rate: f64,
    /// Whether keys are hashed with a secret key.
    is_keyed: bool,
    segments: Vec<SegmentShown>,
    /// The slots in use, if there are few.
    slots: Vec<SlotShown>,
    /// Entries of the overflow table.
    overflow_entries: usize,
    extra: u64,
    without_slot: u64,
}

/// The most slots of a table that is drawn as a whole.
const FEW_SLOTS: u64 = 1024;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SegmentShown {
    depth: u32,
    occupied: u32,
    fingerprint_bits: u32,
}

/// A slot in use. The short names keep long lists short.
#[derive(Serialize)]
struct SlotShown {
    /// Its number in the segment.
    n: u64,
    /// The other bucket of its item.
    o: u64,
    /// The fingerprint.
    f: u64,
    /// The choice bit: 1 in the alternate bucket.
    c: u8,
    /// The answer for the key.
    r: String,
}

impl TableShown {
    pub(crate) fn of(view: &TableView, snapshot: &mut Cursor<Vec<u8>>) -> Result<Self, LoadError> {
        let is_small = view.segment_slots * view.segments.len() as u64 <= FEW_SLOTS;
        let slots = if is_small { view.slots(snapshot, 0)? } else { Vec::new() };
        Ok(Self {
            generation: view.generation,
            buckets: view.buckets,
            segment_slots: view.segment_slots,
            length: view.len,
            false_positive_rate: (view.stored as f64 / view.hash_bits.exp2()).min(1.0),
            is_keyed: view.hasher(None).is_err(),
            segments: view.segments.iter().map(SegmentShown::of).collect(),
            slots: slots.iter().map(SlotShown::of).collect(),
            overflow_entries: view.overflow.len(),
            extra: view.overflow.iter().map(|entry| entry.extra).sum(),
            without_slot: view.overflow.iter().map(|entry| entry.without_slot).sum(),
        })
    }
}

impl SegmentShown {
    fn of(segment: &SegmentInfo) -> Self {
        Self {
            depth: segment.depth,
            occupied: segment.occupied,
            // Without the choice bit.
            fingerprint_bits: segment.slot_bits - 1,
        }
    }
}

impl SlotShown {
    fn of(slot: &Slot) -> Self {
        Self {
            n: slot.number,
            o: slot.other_bucket,
            f: slot.fingerprint,
            c: slot.is_alternate.into(),
            r: hex(slot.representative),
        }
    }
}

/// The snapshot that is looked into.
pub(crate) struct Snapshot {
    pub(crate) contents: Contents,
    pub(crate) bytes: Cursor<Vec<u8>>,
}

impl Snapshot {
    pub(crate) fn of(bytes: Vec<u8>) -> Result<(Self, Vec<TableShown>), LoadError> {
        let mut bytes = Cursor::new(bytes);
        let contents = Contents::read(&mut bytes)?;
        let tables = contents.tables.iter().map(|table| TableShown::of(table, &mut bytes));
        let tables = tables.collect::<Result<_, _>>()?;
        Ok((Self { contents, bytes }, tables))
    }
}

//! Views of a table for JavaScript.

use std::io::{Read, Seek};

use coua::inspect::{Choice, Overflow, Place, SegmentInfo, Slot, TableView};
use coua::window::{AgeFrom, Clock, Generations, Window};
use coua::{HashAlgorithm, KeyHash, LoadError};
use serde::Serialize;

/// A hash as sixteen digits: JavaScript's numbers do not hold it.
fn hex(hash: u64) -> String {
    format!("{hash:016x}")
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

/// The place of a key.
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
    buckets: u64,
    /// The stored part of the key's hash: equal for keys that the filter cannot distinguish.
    representative: String,
}

impl Located {
    pub(crate) fn of(view: &TableView, hash: KeyHash) -> Self {
        let Place { segment, primary, alternate, fingerprint, representative, .. } =
            view.locate(hash);
        let buckets = view.parameters().buckets;
        Self {
            hash: hex(hash.to_u64()),
            segment,
            primary,
            alternate,
            fingerprint,
            fingerprint_bits: view.segments()[segment].fingerprint_bits,
            step: (alternate + buckets - primary) % buckets,
            buckets,
            representative: hex(representative.to_u64()),
        }
    }
}

/// A table.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TableShown {
    parameters: ParametersShown,
    segments: Vec<SegmentShown>,
    overflow: Vec<OverflowShown>,
    /// Entries of the overflow table; the first are shown.
    overflow_entries: usize,
}

/// Entries of the overflow table that are shown.
const MOST_OVERFLOW: usize = 1000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ParametersShown {
    buckets: u64,
    segment_slots: u64,
    hash_bits: f64,
    length: u64,
    stored: u64,
    /// Missing: keys are hashed with a secret key.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SegmentShown {
    prefix: String,
    depth: u32,
    occupied: u32,
    slot_bits: u32,
    fingerprint_bits: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slots: Vec<SlotShown>,
}

/// A slot in use. The short names keep long lists short.
#[derive(Serialize)]
pub(crate) struct SlotShown {
    /// Its number in the segment.
    n: u64,
    /// The bucket of its item.
    b: u64,
    /// The other bucket of its item.
    o: u64,
    /// The fingerprint.
    f: u64,
    /// The choice bit: 1 in the alternate bucket.
    c: u8,
    /// The answer for the key.
    r: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OverflowShown {
    representative: String,
    extra: u64,
    without_slot: u64,
}

impl TableShown {
    pub(crate) fn of(view: &TableView) -> Self {
        let entries = view.overflow();
        Self {
            parameters: ParametersShown::of(view),
            segments: view.segments().iter().map(SegmentShown::of).collect(),
            overflow: entries.iter().take(MOST_OVERFLOW).map(OverflowShown::of).collect(),
            overflow_entries: entries.len(),
        }
    }

    /// Adds the slots of all segments.
    pub(crate) fn add_slots<R: Read + Seek>(
        &mut self,
        view: &TableView,
        file: &mut R,
    ) -> Result<(), LoadError> {
        for (number, segment) in self.segments.iter_mut().enumerate() {
            segment.slots = view.slots(file, number)?.iter().map(SlotShown::of).collect();
        }
        Ok(())
    }
}

impl ParametersShown {
    fn of(view: &TableView) -> Self {
        let found = view.parameters();
        let seed = found.hasher.and_then(|hasher| match hasher.algorithm() {
            HashAlgorithm::Xxh3 { seed } => Some(seed.to_string()),
            _ => None,
        });
        Self {
            buckets: found.buckets,
            segment_slots: found.segment_slots,
            hash_bits: found.hash_bits,
            length: found.len,
            stored: found.stored,
            seed,
        }
    }
}

impl SegmentShown {
    fn of(segment: &SegmentInfo) -> Self {
        Self {
            prefix: hex(segment.prefix),
            depth: segment.depth,
            occupied: segment.occupied,
            slot_bits: segment.slot_bits,
            fingerprint_bits: segment.fingerprint_bits,
            slots: Vec::new(),
        }
    }
}

impl SlotShown {
    pub(crate) fn of(slot: &Slot) -> Self {
        Self {
            n: slot.number,
            b: slot.bucket,
            o: slot.other_bucket,
            f: slot.fingerprint,
            c: u8::from(slot.choice == Choice::Alternate),
            r: hex(slot.representative.to_u64()),
        }
    }
}

impl OverflowShown {
    fn of(entry: &Overflow) -> Self {
        Self {
            representative: hex(entry.representative.to_u64()),
            extra: entry.extra,
            without_slot: entry.without_slot,
        }
    }
}

//! Coua's memory beside what was planned for it, and beside fingerprint bits / load.

use coua::sizing::CuckooPlan;
use coua::{CuckooFilter, KeyHash, Layout, WhenFull};
use serde::{Deserialize, Serialize};

use crate::host;
use crate::keys::{Key, Row};
use crate::markdown::{Table, short};

/// A layout of the filter, and a rate.
struct Shape {
    name: &'static str,
    layout: Layout,
    slots_per_bucket: u32,
    rates: &'static [f64],
}

const SHAPES: [Shape; 4] = [
    Shape {
        name: "buckets of 4",
        layout: Layout::Buckets,
        slots_per_bucket: 4,
        rates: &[0.01, 0.001, 0.0001, 0.000_001],
    },
    Shape {
        name: "buckets of 8",
        layout: Layout::Buckets,
        slots_per_bucket: 8,
        rates: &[0.01, 0.001],
    },
    Shape {
        name: "buckets of 2",
        layout: Layout::Buckets,
        slots_per_bucket: 2,
        rates: &[0.01, 0.001],
    },
    Shape {
        name: "windows",
        layout: Layout::Overlapping,
        slots_per_bucket: 2,
        rates: &[0.01, 0.001, 0.0001],
    },
];

/// A filter that was filled to what it was planned for.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the unit belongs to the name in the JSON file")]
pub(super) struct Planned {
    /// Buckets of how many, or windows.
    layout: String,
    rate: f64,
    /// Fingerprint, and what tells the slot's place.
    slot_bits: u32,
    /// Items / slots, when full.
    load: f64,
    /// As the filter counts them.
    bits_per_key: f64,
    planned_bytes: u64,
    /// Those the filter says it has.
    bytes: u64,
    /// Those by which the process grew; 0 where the system does not tell.
    resident_bytes: u64,
    refused: u64,
}

/// Fills one filter of each kind with so many items.
///
/// # Errors
///
/// If a filter cannot be planned or built.
pub(super) fn measure(items: u64) -> Result<Vec<Planned>, coua::BuildError> {
    let mut all = Vec::new();
    for shape in &SHAPES {
        for &rate in shape.rates {
            eprintln!("{items}: {}, rate {rate}", shape.name);
            all.push(shape.fill(items, rate)?);
        }
    }
    Ok(all)
}

impl Shape {
    fn fill(&self, items: u64, rate: f64) -> Result<Planned, coua::BuildError> {
        let plan = CuckooPlan::for_rate(items, rate, self.layout, self.slots_per_bucket)?;
        let mut block = Vec::with_capacity(u64::BLOCK);
        let before = host::resident();
        let mut filter = CuckooFilter::builder()
            .capacity(items)
            .rate(rate)
            .layout(self.layout)
            .slots_per_bucket(self.slots_per_bucket)
            .when_full(WhenFull::Refuse)
            .build()?;
        let mut refused = 0;
        for from in (0..items).step_by(u64::BLOCK) {
            let keys = Row::Present.keys::<u64>(from..items.min(from + u64::BLOCK as u64));
            block.clear();
            block.extend(keys.map(KeyHash::from_u64));
            let mut left = &block[..];
            while let Err(full) = filter.insert_batch(left) {
                left = &left[full.done + 1..];
                refused += 1;
            }
        }
        let grown =
            host::resident().zip(before).map(|(after, before)| after.saturating_sub(before));
        let bytes = filter.memory_bytes() as u64;
        Ok(Planned {
            layout: self.name.to_owned(),
            rate,
            slot_bits: filter.slot_bits(),
            load: filter.load(),
            bits_per_key: bytes as f64 * 8.0 / (items - refused) as f64,
            planned_bytes: plan.bytes,
            bytes,
            resident_bytes: grown.unwrap_or(0),
            refused,
        })
    }
}

/// All of them.
pub(super) fn table(all: &[Planned]) -> Table {
    let mut table = Table::new([
        "layout",
        "rate",
        "slot bits f",
        "load a",
        "bits/key",
        "over f/a",
        "planned MiB",
        "used / planned",
        "process grew / planned",
        "refused",
    ]);
    for one in all {
        let ideal = f64::from(one.slot_bits) / one.load;
        let planned = one.planned_bytes as f64;
        table.row([
            one.layout.clone(),
            short(one.rate),
            one.slot_bits.to_string(),
            format!("{:.4}", one.load),
            format!("{:.2}", one.bits_per_key),
            format!("{:+.2} %", (one.bits_per_key / ideal - 1.0) * 100.0),
            short(planned / f64::from(1 << 20)),
            format!("{:.4}", one.bytes as f64 / planned),
            format!("{:.4}", one.resident_bytes as f64 / planned),
            one.refused.to_string(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::measure;

    #[test]
    fn filters_take_what_was_planned() {
        let all = measure(500_000).unwrap();
        assert_eq!(all.len(), 11);
        for one in &all {
            assert_eq!(one.refused, 0, "{one:?}");
            assert!(one.load > 0.8, "{one:?}");
            let used = one.bytes as f64 / one.planned_bytes as f64;
            assert!((0.95..1.05).contains(&used), "{one:?}");
            let ideal = f64::from(one.slot_bits) / one.load;
            assert!((0.98..1.05).contains(&(one.bits_per_key / ideal)), "{one:?}");
        }
    }
}

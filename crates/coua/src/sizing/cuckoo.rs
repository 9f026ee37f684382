//! Sizing of cuckoo filters.

use std::ops::RangeInclusive;

use crate::error::{BuildError, OutOfMemory};
use crate::kernel::{
    Geometry, LOW_BITS, Layout, MAX_BUCKETS, MIN_FINGERPRINT_BITS, Resolution, max_fingerprint_bits,
};
use crate::sizing::{COPIES_ENTRY_BYTES, HASH_VALUES};
use crate::table::Segment;

/// The most slots in a segment of a filter of fixed size. Larger segments reach no higher load;
/// smaller ones vary more in their number of items.
const FIXED_SEGMENT_SLOTS: u64 = 1 << 16;
/// The most slots in a segment of a growing filter. Their larger variation does little
/// harm, because a full one splits. A split takes a quarter of the time, and a batch has four times
/// as many segments to work in.
pub(crate) const GROWING_SEGMENT_SLOTS: u64 = 1 << 14;

/// Planned loads (items / slots).
pub(crate) struct Loads {
    /// The whole filter, if its size is fixed. Safe for segments of 2^15 and more slots, the spread
    /// of items over segments included; a few items may end in the overflow table.
    pub(crate) fixed: f64,
    /// The whole filter, if it grows: so far below `split` that the spread of items over
    /// segments (about 1 %) splits almost none of them before the capacity is reached.
    pub(crate) growing: f64,
    /// A segment of a growing filter, before it splits.
    pub(crate) split: f64,
}

pub(crate) fn loads(geometry: &Geometry) -> Loads {
    let (fixed, growing, split) = match (geometry.layout, geometry.slots_per_bucket) {
        (Layout::Overlapping, _) => (0.93, 0.89, 0.92),
        (Layout::Buckets, 8) => (0.97, 0.94, 0.97),
        (Layout::Buckets, 4) => (0.95, 0.92, 0.95),
        (Layout::Buckets, 2) => (0.84, 0.80, 0.83),
        (Layout::Buckets, _) => (0.46, 0.43, 0.46),
    };
    Loads { fixed, growing, split }
}

/// The load at which a filter of this geometry holds what it was planned for.
pub(crate) fn design_load(geometry: &Geometry) -> f64 {
    let loads = loads(geometry);
    match geometry.resolution {
        // A fingerprint of 3 or 4 bits chooses among few alternate buckets, and eviction fails sooner.
        Resolution::Cells { .. } if geometry.low_bits == 3 => loads.fixed * 0.82,
        Resolution::Cells { .. } if geometry.low_bits == 4 => loads.fixed * 0.92,
        Resolution::Cells { .. } => loads.fixed,
        Resolution::Prefix { .. } => loads.growing,
    }
}

pub(crate) fn check_rate(rate: f64) -> Result<(), BuildError> {
    if rate > 0.0 && rate < 1.0 { Ok(()) } else { Err(BuildError::Rate { rate }) }
}

pub(crate) fn check_hash_bits(bits: u32) -> Result<(), BuildError> {
    if (8..=64).contains(&bits) { Ok(()) } else { Err(BuildError::HashBits { bits }) }
}

pub(crate) fn check_slots(layout: Layout, slots: u32) -> Result<(), BuildError> {
    let supported = match layout {
        Layout::Buckets => matches!(slots, 1 | 2 | 4 | 8),
        Layout::Overlapping => slots == 2,
    };
    if supported { Ok(()) } else { Err(BuildError::SlotsPerBucket { slots }) }
}

/// `like` with as many segments (a depth within these) and buckets of a segment as hold `items` items.
fn sized(like: Geometry, items: u64, depths: RangeInclusive<u32>) -> Geometry {
    let Geometry { layout, slots_per_bucket, .. } = like;
    let load = design_load(&like);
    let most_slots = match like.resolution {
        Resolution::Cells { .. } => FIXED_SEGMENT_SLOTS,
        Resolution::Prefix { .. } => GROWING_SEGMENT_SLOTS,
    };
    // One bucket more than the load needs: with few items chance matters more.
    let slots = (items.max(1) as f64 / load).ceil() + f64::from(slots_per_bucket);
    let depth = (slots / most_slots as f64).max(1.0).log2().ceil() as u32;
    let depth = depth.clamp(*depths.start(), *depths.end());
    let segment = (slots / f64::from(depth).exp2()).ceil() as u64;
    let buckets = match layout {
        Layout::Buckets => segment.div_ceil(u64::from(slots_per_bucket)),
        Layout::Overlapping => (segment - 1).max(1),
    };
    Geometry { buckets, base_depth: depth, ..like }
}

/// `like`, fitted to `items` items at `rate` to the bit; its size stays.
pub(crate) fn exact(like: Geometry, items: u64, rate: f64) -> Result<Geometry, BuildError> {
    check_rate(rate)?;
    let wanted = items.max(1) as f64 / rate;
    let mut most = 0.0;
    // From the coarsest rate to the finest that 64 hash bits allow.
    let widest = max_fingerprint_bits(like.layout, like.slots_per_bucket);
    for fingerprint_bits in MIN_FINGERPRINT_BITS..=widest {
        let low_bits = fingerprint_bits.min(LOW_BITS);
        let resolution = Resolution::Cells { top_bits: fingerprint_bits - low_bits };
        let geometry = sized(Geometry { low_bits, resolution, ..like }, items, 0..=u32::MAX);
        let cells = geometry.cells();
        if cells > HASH_VALUES || geometry.level(geometry.base_depth).is_none() {
            break;
        }
        if cells >= wanted {
            return Ok(geometry);
        }
        most = cells;
    }
    Err(too_small(rate, items, most))
}

/// The refusal of a rate for which `items` items need more than `most` cells.
pub(crate) fn too_small(rate: f64, items: u64, most: f64) -> BuildError {
    let items = items.max(1) as f64;
    let mut smallest = items / most;
    // The quotient may be rounded down, but the rate in the error must be accepted.
    while items / smallest > most {
        smallest = smallest.next_up();
    }
    if smallest < 1.0 {
        return BuildError::RateTooSmall { rate, smallest };
    }
    // Even the coarsest filter would be too large.
    BuildError::OutOfMemory(OutOfMemory { bytes: u64::MAX })
}

/// `like` for `items` items, with `bits` remembered bits of the hash; it can grow.
pub(crate) fn prefix(like: Geometry, items: u64, bits: u32) -> Result<Geometry, BuildError> {
    check_hash_bits(bits)?;
    let geometry = fitted(Geometry { resolution: Resolution::Prefix { bits }, ..like }, items);
    let fits = geometry.buckets < MAX_BUCKETS && geometry.level(geometry.base_depth).is_some();
    fits.then_some(geometry).ok_or(BuildError::OutOfMemory(OutOfMemory { bytes: u64::MAX }))
}

/// `like`, which must have a prefix resolution, resized for `items` items.
pub(crate) fn fitted(like: Geometry, items: u64) -> Geometry {
    let Resolution::Prefix { bits } = like.resolution else {
        return like;
    };
    // A representative has at most 63 bits after the prefix.
    let sized = sized(like, items, bits.saturating_sub(63)..=bits);
    // The bits that the widest slot cannot hold must follow from the place.
    let top_bits = max_fingerprint_bits(like.layout, like.slots_per_bucket) - LOW_BITS;
    let widest = u128::from((1u64 << LOW_BITS) - 1) << top_bits;
    let least = (1u128 << (bits - sized.base_depth)).div_ceil(widest) as u64;
    Geometry { buckets: sized.buckets.max(least), low_bits: LOW_BITS, ..sized }
}

/// Bytes of an empty filter of this geometry; `u64::MAX` if more.
fn table_bytes(geometry: &Geometry) -> u64 {
    let lists = ((size_of::<Segment>() + 4) as u64) << geometry.base_depth;
    geometry.slot_bytes().saturating_add(lists)
}

/// The expected number of cells with more items than a bucket has slots: with n items in C cells a
/// cell holds k of them with the Poisson probability of mean n / C. Each takes an entry of the overflow
/// table.
fn crowded_cells(geometry: &Geometry, items: u64) -> f64 {
    let cells = geometry.cells();
    let mean = items as f64 / cells;
    // Beyond it, e^-mean is 0 and every cell is crowded.
    if mean > 700.0 {
        return cells;
    }
    let mut exactly = (-mean).exp();
    for copies in 1..=geometry.slots_per_bucket {
        exactly *= mean / f64::from(copies);
    }
    // Sums the terms beyond, because one minus the others would cancel all digits.
    let mut crowded = 0.0;
    for copies in geometry.slots_per_bucket + 1.. {
        exactly *= mean / f64::from(copies);
        crowded += exactly;
        if exactly <= crowded * f64::EPSILON && f64::from(copies) > mean {
            break;
        }
    }
    cells * crowded
}

/// The size and rate of a cuckoo filter before it is built; returned by
/// [`CuckooFilterBuilder::plan`](crate::CuckooFilterBuilder::plan).
///
/// A segment that gets far more than its share by chance splits before the others; a table of more than 2 MiB
/// allocates memory for it in steps of 2 MiB.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CuckooPlan {
    /// Items at the stated rate.
    pub items: u64,
    /// False-positive rate with these items, 0..=1, at most the requested one.
    pub rate: f64,
    /// Bits of the hash remembered: the rate with n items is n / 2^`hash_bits`.
    pub hash_bits: f64,
    /// Bits of a slot.
    pub slot_bits: u32,
    /// Slots, over all segments.
    pub slots: u64,
    /// Independent segments.
    pub segments: u64,
    /// Memory of the filter with these items, including the overflow table.
    pub bytes: u64,
    /// The part of `bytes` for the expected overflow table: 16 bytes for each group of more
    /// indistinguishable items than a bucket has slots. Almost nothing unless the rate is
    /// high and a bucket has one or two slots.
    pub overflow_bytes: u64,
}

impl CuckooPlan {
    pub(crate) fn of(geometry: &Geometry, items: u64) -> Self {
        let cells = geometry.cells();
        let overflow_bytes = (crowded_cells(geometry, items) * COPIES_ENTRY_BYTES as f64) as u64;
        let level = geometry.level(geometry.base_depth);
        Self {
            items,
            rate: (items as f64 / cells).min(1.0),
            hash_bits: cells.log2(),
            slot_bits: level.map_or(0, |level| level.codec.slot_bits),
            slots: geometry.slots(),
            segments: 1 << geometry.base_depth,
            bytes: table_bytes(geometry).saturating_add(overflow_bytes),
            overflow_bytes,
        }
    }

    /// Bits of memory for each item.
    pub fn bits_per_item(&self) -> f64 {
        8.0 * self.bytes as f64 / self.items.max(1) as f64
    }
}

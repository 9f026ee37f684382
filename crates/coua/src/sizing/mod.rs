//! All formulas from items and rate to geometry and bytes.
//!
//! The law of the cuckoo filter: a filter that distinguishes C hashes and holds n items answers "yes"
//! for an absent key with probability n / C, whatever its load and bucket size. C is the number of
//! buckets times the number of fingerprints, or 2^bits if a number of hash bits was set.

pub mod peers;

use std::ops::RangeInclusive;

use crate::error::{BuildError, OutOfMemory};
use crate::kernel::{
    Geometry, LOW_BITS, MAX_BUCKETS, MAX_FINGERPRINT_BITS, MIN_FINGERPRINT_BITS, Resolution, SLOTS,
};
use crate::table::Segment;

/// Memory of one entry of the overflow table: 24 bytes, in nodes of a tree that are two thirds full, and pointers.
pub(crate) const OVERFLOW_ENTRY_BYTES: usize = 40;
/// Memory of one entry that only counts copies: 12 bytes, in pages that are nine tenths full, and their directory.
pub(crate) const COPIES_ENTRY_BYTES: usize = 16;
/// The number of hashes: 2^64.
const HASH_VALUES: f64 = 18_446_744_073_709_551_616.0;

/// The most slots in a segment of a filter of fixed size. Larger segments reach no higher load;
/// smaller ones vary more in their number of items.
const FIXED_SEGMENT_SLOTS: u64 = 1 << 16;
/// The most slots in a segment of a growing filter. Their larger variation does little
/// harm, because a full one splits. A split takes a quarter of the time, and a batch has four times
/// as many segments to work in.
pub(crate) const GROWING_SEGMENT_SLOTS: u64 = 1 << 14;

/// Planned load (items / slots) of a filter of fixed size. Safe for segments of 2^15 and more slots, the spread
/// of items over segments included; a few items may end in the overflow table.
const FIXED_LOAD: f64 = 0.95;
/// Planned load of a growing filter: low enough for the spread of items over segments (about 1 %).
pub(crate) const GROWING_LOAD: f64 = 0.92;
/// The load at which a segment splits that is the half of one. A higher load saves memory, but the last evictions cost
/// most: growing to 1.4 million items takes 725 million instructions, and 926 with a load of 0.95.
pub(crate) const SPLIT_LOAD: f64 = 0.91;

/// The load at which a filter of this geometry holds what it was planned for.
pub(crate) fn design_load(geometry: &Geometry) -> f64 {
    match geometry.resolution {
        // A fingerprint of 3 or 4 bits chooses among few alternate buckets, and eviction fails sooner.
        Resolution::Cells { .. } if geometry.low_bits == 3 => FIXED_LOAD * 0.82,
        Resolution::Cells { .. } if geometry.low_bits == 4 => FIXED_LOAD * 0.92,
        Resolution::Cells { .. } => FIXED_LOAD,
        Resolution::Prefix { .. } => GROWING_LOAD,
    }
}

pub(crate) fn check_rate(rate: f64) -> Result<(), BuildError> {
    if rate > 0.0 && rate < 1.0 { Ok(()) } else { Err(BuildError::Rate { rate }) }
}

/// `like` with the segments (a depth within these) and the buckets of a segment that hold `items` items.
fn sized(like: Geometry, items: u64, depths: RangeInclusive<u32>) -> Geometry {
    let load = design_load(&like);
    let most_slots = match like.resolution {
        Resolution::Cells { .. } => FIXED_SEGMENT_SLOTS,
        Resolution::Prefix { .. } => GROWING_SEGMENT_SLOTS,
    };
    // One bucket more than the load needs: with few items chance matters more.
    let slots = (items.max(1) as f64 / load).ceil() + f64::from(SLOTS);
    let depth = (slots / most_slots as f64).max(1.0).log2().ceil() as u32;
    let depth = depth.clamp(*depths.start(), *depths.end());
    let segment = (slots / f64::from(depth).exp2()).ceil() as u64;
    Geometry { buckets: segment.div_ceil(SLOTS.into()), base_depth: depth, ..like }
}

/// The geometry of a filter of fixed size, fitted to `items` items at `rate` to the bit.
pub(crate) fn exact(items: u64, rate: f64) -> Result<Geometry, BuildError> {
    check_rate(rate)?;
    let wanted = items.max(1) as f64 / rate;
    let mut most = 0.0;
    // From the coarsest rate to the finest that 64 hash bits allow.
    for fingerprint_bits in MIN_FINGERPRINT_BITS..=MAX_FINGERPRINT_BITS {
        let low_bits = fingerprint_bits.min(LOW_BITS);
        let resolution = Resolution::Cells { top_bits: fingerprint_bits - low_bits };
        let like = Geometry { low_bits, resolution, ..Geometry::ONE_BUCKET };
        let geometry = sized(like, items, 0..=u32::MAX);
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

/// The geometry of a filter for `items` items that remembers `bits` bits of the hash and can grow.
pub(crate) fn prefix(items: u64, bits: u32) -> Result<Geometry, BuildError> {
    if !(8..=64).contains(&bits) {
        return Err(BuildError::HashBits { bits });
    }
    let resolution = Resolution::Prefix { bits };
    let geometry = fitted(Geometry { resolution, ..Geometry::ONE_BUCKET }, items);
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
    let widest = u128::from((1u64 << LOW_BITS) - 1) << (MAX_FINGERPRINT_BITS - LOW_BITS);
    let least = (1u128 << (bits - sized.base_depth)).div_ceil(widest) as u64;
    Geometry { buckets: sized.buckets.max(least), low_bits: LOW_BITS, ..sized }
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
    for copies in 1..=SLOTS {
        exactly *= mean / f64::from(copies);
    }
    // Sums the terms beyond, because one minus the others would cancel all digits.
    let mut crowded = 0.0;
    for copies in SLOTS + 1.. {
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
    /// indistinguishable items than a bucket has slots. Almost nothing unless the rate is high.
    pub overflow_bytes: u64,
}

impl CuckooPlan {
    pub(crate) fn of(geometry: &Geometry, items: u64) -> Self {
        let cells = geometry.cells();
        let overflow_bytes = (crowded_cells(geometry, items) * COPIES_ENTRY_BYTES as f64) as u64;
        let level = geometry.level(geometry.base_depth);
        let lists = ((size_of::<Segment>() + 4) as u64) << geometry.base_depth;
        Self {
            items,
            rate: (items as f64 / cells).min(1.0),
            hash_bits: cells.log2(),
            slot_bits: level.map_or(0, |level| level.codec.slot_bits),
            slots: geometry.slots(),
            segments: 1 << geometry.base_depth,
            bytes: geometry.slot_bytes().saturating_add(lists).saturating_add(overflow_bytes),
            overflow_bytes,
        }
    }

    /// Bits of memory for each item.
    pub fn bits_per_item(&self) -> f64 {
        8.0 * self.bytes as f64 / self.items.max(1) as f64
    }
}

//! Cutting a filter into shards and joining them again.
//!
//! A segment with prefix `p` of depth `d` in the whole filter is, bit for bit, the segment with the
//! last `d - bits` bits of `p` in the shard that its first `bits` bits name: where a key lies in a
//! segment depends on the hash bits after the prefix only.

use crate::directory::Directory;
use crate::error::{ConvertError, OutOfMemory};
use crate::filter::{CuckooFilter, WhenFull};
use crate::geometry::{Geometry, Resolution};
use crate::growth::Whole;
use crate::hash::KeyHash;
use crate::prepared::Copies;
use crate::shared::{Allowance, Shard, SharedCuckooFilter};
use crate::side::{Aside, Side};
use crate::sizing::fitted;
use crate::table::{Segment, Table};

use std::sync::RwLock;
use std::sync::atomic::AtomicUsize;

/// Bits of the hash that choose the shard, where the geometry allows it. 64 shards: two threads
/// seldom meet, and a block of keys gives each shard enough for a batch of its own.
const SHARD_BITS: u32 = 6;
/// Items that a growing filter starts with room for: its segments keep their size for ever, and small
/// ones cost more overhead and reach a lower load. This makes 4096 slots.
const SMALLEST_GROWING: u64 = 240_000;

impl SharedCuckooFilter {
    /// The filter for many threads with the items of a plain one, which is copied. O(bytes).
    ///
    /// # Errors
    ///
    /// [`ConvertError`] if memory is lacking, or a growing filter cannot be rebuilt with 64 segments
    /// (only if many of its keys share a prefix of the hash).
    ///
    /// ```
    /// use coua::{CuckooFilter, SharedCuckooFilter};
    /// let mut plain = CuckooFilter::new();
    /// plain.insert("a")?;
    /// let seen = SharedCuckooFilter::from_filter(&plain)?;
    /// assert!(seen.contains("a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_filter(filter: &CuckooFilter) -> Result<Self, ConvertError> {
        match deeper(filter) {
            None => Self::cut(filter),
            Some(geometry) => {
                let refused = |error: OutOfMemory| ConvertError::Build(error.into());
                let mut rebuilt =
                    CuckooFilter::empty(geometry, filter.policy, filter.hasher).map_err(refused)?;
                rebuilt.absorb(filter, Copies::Add).map_err(ConvertError::Full)?;
                Self::cut(&rebuilt)
            }
        }
    }

    fn cut(filter: &CuckooFilter) -> Result<Self, ConvertError> {
        let bits = filter.geometry.base_depth.min(SHARD_BITS);
        let shard = |number| shard_of(filter, number, bits).map(|part| Shard(RwLock::new(part)));
        let shards = (0..1 << bits).map(shard).collect::<Result<_, _>>();
        let unlimited = filter.policy.when_full == WhenFull::ExceedRate;
        let max_items = if unlimited { u64::MAX } else { filter.policy.max_items };
        Ok(Self {
            shards: shards.map_err(|error| ConvertError::Build(error.into()))?,
            bits,
            geometry: filter.geometry,
            policy: filter.policy,
            hasher: filter.hasher,
            allowance: Allowance::new(max_items, filter.stored),
            segments: AtomicUsize::new(filter.table.segments.len()),
        })
    }

    /// The plain filter of these shards.
    pub(super) fn joined(&self, parts: Vec<CuckooFilter>) -> CuckooFilter {
        let mut side = Side::default();
        let mut stored = 0;
        let mut tables = Vec::with_capacity(parts.len());
        for (number, mut part) in (0..).zip(parts) {
            let prefix = prefix_of(number, self.bits);
            for segment in &mut part.table.segments {
                segment.prefix = prefix | (segment.prefix >> self.bits);
            }
            for (hash, aside) in part.side.iter() {
                // The smallest hash of a cell, in the coarser steps of the whole filter's hashes.
                let smallest = hash.to_u64().div_ceil(1 << self.bits);
                side.add(KeyHash::from_u64(prefix | smallest), aside);
            }
            stored += part.stored;
            tables.push(part.table);
        }
        let mut table = Table::joined(tables);
        table.segments.sort_unstable_by_key(|segment| segment.prefix);
        CuckooFilter {
            geometry: self.geometry,
            shapes: self.geometry.shapes(),
            directory: directory_of(&table, self.geometry.base_depth),
            table,
            side,
            stored,
            policy: self.policy,
            hasher: self.hasher,
            splits: 0,
            whole: Whole::default(),
        }
    }
}

/// The geometry in which a filter that grows has a segment for every shard; `None` if it has.
fn deeper(filter: &CuckooFilter) -> Option<Geometry> {
    let Resolution::Prefix { bits } = filter.geometry.resolution else {
        return None;
    };
    // A shard must have bits left to tell its keys apart.
    let wanted = SHARD_BITS.min(bits - 1);
    if filter.policy.when_full == WhenFull::Refuse || filter.geometry.base_depth >= wanted {
        return None;
    }
    let items = filter.capacity().max(SMALLEST_GROWING);
    let fit = fitted(filter.geometry, items);
    let missing = wanted.saturating_sub(fit.base_depth);
    let buckets = fit.buckets.div_ceil(1 << missing);
    Some(Geometry { buckets, base_depth: fit.base_depth + missing, ..fit })
}

/// The smallest hash of a shard.
fn prefix_of(number: u64, bits: u32) -> u64 {
    // Two shifts, because a shift by 64 (one shard) is not defined.
    (number << 1) << (63 - bits)
}

/// A copy of the shard with this number.
fn shard_of(filter: &CuckooFilter, number: u64, bits: u32) -> Result<CuckooFilter, OutOfMemory> {
    let prefix = prefix_of(number, bits);
    let geometry = of_a_shard(filter.geometry, bits);
    let table = table_of(filter, (prefix, bits))?;
    let occupied = table.segments.iter().map(|segment| u64::from(segment.occupied)).sum();
    let mut shard = CuckooFilter {
        shapes: geometry.shapes(),
        directory: directory_of(&table, geometry.base_depth),
        geometry,
        table,
        side: Side::default(),
        stored: occupied,
        policy: filter.policy,
        hasher: filter.hasher,
        splits: 0,
        whole: Whole { depth: bits, other_segments: 0 },
    };
    for (hash, aside) in filter.side.under(prefix, bits) {
        set_aside(&mut shard, KeyHash::from_u64(hash.to_u64() << bits), aside);
    }
    Ok(shard)
}

fn set_aside(shard: &mut CuckooFilter, hash: KeyHash, aside: Aside) {
    // The cell's smallest hash in the finer steps that a shard counts in.
    let representative = shard.representative(&shard.locate(hash));
    shard.side.add(representative, aside);
    shard.stored += aside.homeless;
}

/// The geometry of a shard: the same segments, `bits` bits less deep.
fn of_a_shard(whole: Geometry, bits: u32) -> Geometry {
    let resolution = match whole.resolution {
        Resolution::Prefix { bits: all } => Resolution::Prefix { bits: all - bits },
        cells @ Resolution::Cells { .. } => cells,
    };
    Geometry { base_depth: whole.base_depth - bits, resolution, ..whole }
}

/// Copies of the segments under a prefix, in hash order.
fn table_of(filter: &CuckooFilter, (prefix, bits): (u64, u32)) -> Result<Table, OutOfMemory> {
    let last = prefix | u64::MAX.checked_shr(bits).unwrap_or(0);
    let of_shard = |segment: &&Segment| (prefix..=last).contains(&segment.prefix);
    let mut sources: Vec<_> = filter.table.segments.iter().filter(of_shard).collect();
    sources.sort_unstable_by_key(|segment| segment.prefix);
    let slots = filter.geometry.segment_slots();
    let bytes_of = |segment: &Segment| filter.shapes[usize::from(segment.level)].bytes(slots);
    let mut table = Table::with_room(sources.iter().map(|segment| bytes_of(segment)).sum())?;
    for source in sources {
        let bytes = bytes_of(source);
        let index = table.add_segment(bytes, source.prefix << bits, source.level)?;
        let copy = &mut table.segments[index as usize];
        // Untouched memory is not yet taken: leave it so.
        if source.occupied > 0 {
            let bytes = bytes as usize;
            copy.bytes_mut(bytes).copy_from_slice(source.bytes(bytes));
        }
        copy.occupied = source.occupied;
        copy.spilled = source.spilled;
        copy.overfull = source.overfull;
    }
    Ok(table)
}

/// The directory of a table whose segments stand in hash order.
fn directory_of(table: &Table, base_depth: u32) -> Directory {
    let depth = |segment: &Segment| base_depth + u32::from(segment.level);
    let depths: Vec<_> = table.segments.iter().map(depth).collect();
    Directory::from_depths(&depths).expect("segments of a filter cover all hashes")
}

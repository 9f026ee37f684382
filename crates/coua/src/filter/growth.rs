//! Decides what an insert does when its buckets are full, and how the filter grows.
//!
//! A split divides one segment into two, one bit deeper. A small filter is rebuilt instead, and so is one whose
//! fingerprints have no bit left.
//!
//! An insert whose buckets are full evicts other items. After an eviction has failed, the next such insert
//! makes the filter grow first. The exception is a filter within its plan whose segment is no fuller than chance
//! makes some: it goes on evicting. Where a segment cannot grow, items go to the overflow table once evictions have failed too often;
//! a filter that may not grow refuses them.
//!
//! The decision depends only on the segment and on the number of segments in its region, so regions may take their keys
//! in any order. Only the limit of items, and the rebuilding of filters that are small or short of bits, depend on the
//! whole filter.

use crate::kernel::{Geometry, Resolution};
use crate::sizing::{GROWING_LOAD, GROWING_SEGMENT_SLOTS, SPLIT_LOAD};

/// A segment with less than 1 / `LEAST_USE` of its slots in use does not split, nor does such a filter double: keys
/// chosen to collide fill two buckets, not a segment, and must not cause growth.
const LEAST_USE: u64 = 4;
/// Entries of the overflow table that a segment may have by chance when it holds what it is planned for. With more,
/// its keys have many copies.
pub(super) const MOST_ENTRIES_BY_CHANCE: usize = 4;
/// Standard deviations by which a segment exceeds its share: once in 300,000.
const MOST_DEVIATION: f64 = 4.5;
/// A segment counts as full after this many items, and one for this many slots, have gone to the overflow table because
/// their eviction failed.
const FEW_OVERFLOWED: u64 = 16;
const SLOTS_PER_OVERFLOWED: u64 = 64;

/// What to do when no slot is free for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// Grow, up to `max_items`; then refuse with [`Full`](crate::Full). The stated rate always holds. Keys that
    /// were chosen to share a long prefix of their hashes take 40 bytes each, if there are too many for
    /// their segments.
    #[default]
    Grow,
    /// Never take more memory: refuse if no slot can be freed, or at `max_items`.
    Refuse,
    /// Grow, even beyond `max_items`: the false-positive rate then rises in proportion.
    ExceedRate,
}

/// What an insert does with a key that is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfPresent {
    /// Adds another copy.
    AddCopy,
    /// Changes nothing.
    Skip,
}

/// Limits chosen at creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) max_items: u64,
    pub(crate) when_full: WhenFull,
    pub(crate) max_evictions: u32,
}

impl Policy {
    /// The most items that may be stored.
    #[inline(always)]
    pub(crate) fn limit(&self) -> u64 {
        if self.when_full == WhenFull::ExceedRate { u64::MAX } else { self.max_items }
    }
}

/// Bits of the hash that name a region. Decisions in a filter depend only on the segments of one region, so
/// 2^`REGION_BITS` threads may each take one.
pub(crate) const REGION_BITS: u32 = 6;
/// How much deeper than in a balanced tree a segment may be, if it is deeper than [`FREE_DEPTH`].
const MAX_IMBALANCE: u32 = 4;
/// Every segment may be this deep, so that keys may arrive in the order of their hashes: a directory of
/// 256 KiB.
pub(super) const FREE_DEPTH: u32 = 16;
/// Directory entries are 4 bytes each: this is a limit of 1 GiB.
pub(crate) const MAX_DEPTH: u32 = 28;

/// The maximum depth of a segment in a region of `segments` segments. Keys that share a long prefix (chosen by
/// an attacker who knows the seed) end in the overflow table, not in endless splits.
pub(crate) fn deepest(segments: usize) -> u32 {
    (REGION_BITS + segments.max(1).ilog2() + MAX_IMBALANCE).clamp(FREE_DEPTH, MAX_DEPTH)
}

/// The part of a larger filter that a filter is. The default is a whole filter.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shard {
    /// The filter is a part. A part keeps its geometry, because the parts are joined again.
    pub(crate) is_part: bool,
    /// Bits of the hash that choose the shard; the shard does not see them.
    pub(crate) bits: u32,
}

/// What an insert does when its buckets are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Evict,
    /// Put the item into the overflow table: evictions would fail.
    Overflow,
    /// Split the segment.
    Split,
    /// Move all items to twice the slots.
    Rebuild,
    /// Refuse the item: no slot can be freed, and the filter may not grow.
    Refuse,
}

/// The numbers that decide, in slots or items of a segment. They follow from the geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thresholds {
    /// Slots in use at which a segment that is the half of one splits rather than evicts.
    split_at: u32,
    /// Slots in use at which a segment that was not split does so.
    first_split_at: u32,
    /// Slots in use below which it does not split.
    least_used: u32,
    /// The most slots in use that chance explains in a segment which was not split, while the filter holds
    /// what it is planned for.
    most_by_chance: u32,
    /// Overflowed items of a full segment.
    pub(super) most_overflowed: u32,
}

impl Thresholds {
    pub(super) fn of(geometry: &Geometry) -> Self {
        let slots = geometry.segment_slots();
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let planned = slots as f64 * GROWING_LOAD;
        let split_at = number((slots as f64 * SPLIT_LOAD) as u64);
        let most_by_chance = number((planned + MOST_DEVIATION * planned.sqrt()) as u64);
        let is_small = geometry.slots() <= GROWING_SEGMENT_SLOTS;
        Self {
            split_at,
            // A small filter is rebuilt instead.
            first_split_at: if is_small { split_at } else { most_by_chance },
            least_used: number(slots / LEAST_USE),
            most_by_chance,
            most_overflowed: number(FEW_OVERFLOWED + slots / SLOTS_PER_OVERFLOWED),
        }
    }
}

/// The contents of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentLoad {
    /// Slots in use.
    pub(super) occupied: u32,
    /// Items whose eviction failed.
    pub(super) overflowed: u32,
    /// An eviction failed since the segment was made.
    pub(super) is_overfull: bool,
    /// The number of splits; 0 if the segment may hold what was planned.
    pub(super) splits: u8,
}

impl SegmentLoad {
    pub(super) fn is_crowded(&self, thresholds: &Thresholds) -> bool {
        self.overflowed >= thresholds.most_overflowed
    }

    fn above_least(&self, thresholds: &Thresholds) -> bool {
        self.occupied >= thresholds.least_used
    }

    /// Whether a segment that may grow should. The caller makes the exception for chance.
    pub(super) fn at_split_load(&self, thresholds: &Thresholds) -> bool {
        let split_at =
            if self.splits == 0 { thresholds.first_split_at } else { thresholds.split_at };
        self.occupied >= split_at || self.is_overfull && self.above_least(thresholds)
    }
}

/// The inputs of the decision, computed only if its fill does not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GrowthInputs {
    pub(super) when_full: WhenFull,
    /// Items in the filter.
    pub(super) stored: u64,
    pub(super) capacity: u64,
    pub(super) slots: u64,
    /// The filter can be rebuilt to any size, unless it is a part of a larger one.
    pub(super) is_resizable: bool,
    pub(super) is_part: bool,
    /// Entries of the overflow table for its keys, as far as they matter.
    pub(super) entries: usize,
    /// The depth of the segment in the whole filter, and the segments of its region.
    pub(super) depth: u32,
    pub(super) region: usize,
    /// The fingerprints of the segment have no bit left for a split.
    pub(super) is_last_level: bool,
    /// Segments of the filter, and their number if all were as deep as this one.
    pub(super) segments: u64,
    pub(super) segments_if_all_as_deep: u64,
}

impl GrowthInputs {
    /// The shards of a filter must keep segments of one size.
    fn can_rebuild(&self) -> bool {
        self.is_resizable && !self.is_part
    }

    /// Whether rebuilding the whole filter takes unnoticeable time, and gives larger segments.
    fn is_small(&self) -> bool {
        self.can_rebuild() && self.slots <= GROWING_SEGMENT_SLOTS
    }

    /// Whether chance explains the fill of a segment while the filter holds what it was planned for. A small filter is
    /// considered as a whole.
    fn is_as_planned(&self, thresholds: &Thresholds, fill: &SegmentLoad) -> bool {
        if self.is_small() {
            return self.stored < self.capacity;
        }
        fill.splits == 0
            && fill.occupied < thresholds.most_by_chance
            && self.entries <= MOST_ENTRIES_BY_CHANCE
    }

    /// Whether the fingerprints have no bit left, in a filter that is well used and whose segments are mostly that deep:
    /// keys that share a prefix must not make the whole filter grow. Twice the slots then hold all items, however they
    /// are spread.
    fn lacks_bits(&self) -> bool {
        self.is_last_level
            && 2 * self.segments >= self.segments_if_all_as_deep
            && self.stored >= self.slots / LEAST_USE
    }

    /// How to grow; `None` if that is not possible.
    fn growth(&self) -> Option<Decision> {
        if self.when_full == WhenFull::Refuse {
            None
        } else if self.is_small() || self.can_rebuild() && self.lacks_bits() {
            Some(Decision::Rebuild)
        } else if !self.is_last_level && self.depth < deepest(self.region) {
            Some(Decision::Split)
        } else {
            None
        }
    }
}

/// Decides what an insert does in a segment where both its buckets are full.
#[inline(always)]
pub(super) fn decide(
    thresholds: &Thresholds,
    fill: &SegmentLoad,
    growth_inputs: impl FnOnce() -> GrowthInputs,
) -> Decision {
    if !(fill.is_crowded(thresholds) || fill.at_split_load(thresholds)) {
        return Decision::Evict;
    }
    decide_crowded(thresholds, fill, &growth_inputs())
}

/// [`decide`] for segments that are full, or nearly so.
fn decide_crowded(thresholds: &Thresholds, fill: &SegmentLoad, inputs: &GrowthInputs) -> Decision {
    let is_crowded = fill.is_crowded(thresholds);
    // A filter of exactly planned size splits only when it must.
    let prefers_split = inputs.is_resizable
        && fill.at_split_load(thresholds)
        && !inputs.is_as_planned(thresholds, fill);
    if (is_crowded && fill.above_least(thresholds) || prefers_split)
        && let Some(growth) = inputs.growth()
    {
        return growth;
    }
    match (is_crowded, inputs.when_full) {
        (true, WhenFull::Refuse) => Decision::Refuse,
        (true, _) => Decision::Overflow,
        (false, _) => Decision::Evict,
    }
}

/// Items up to which a filter of this geometry grows by splits alone, if its hashes are even: a segment of the last level
/// is hardly ever full while three quarters of all slots are in use, even if each key has some copies.
pub(super) fn most_by_splits(geometry: &Geometry) -> u64 {
    let last = geometry.last_depth();
    if !matches!(geometry.resolution, Resolution::Prefix { .. }) || last > MAX_DEPTH {
        return u64::MAX;
    }
    (geometry.segment_slots() << last) / 4 * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOTS: u32 = 1 << 14;

    /// A segment of a growing filter, with inputs that let it split.
    fn growing() -> GrowthInputs {
        GrowthInputs {
            when_full: WhenFull::Grow,
            stored: 1_000_000,
            capacity: 1_000_000,
            slots: 100 << 14,
            is_resizable: true,
            is_part: false,
            entries: 0,
            depth: 7,
            region: 0,
            is_last_level: false,
            segments: 100,
            segments_if_all_as_deep: 128,
        }
    }

    fn check(cases: &[(&str, SegmentLoad, GrowthInputs, Decision)]) {
        let buckets = u64::from(SLOTS) / 4;
        let geometry = Geometry { buckets, base_depth: 6, ..Geometry::ONE_BUCKET };
        let thresholds = Thresholds::of(&geometry);
        for (what, fill, inputs, expected) in cases {
            let decided = decide(&thresholds, fill, || *inputs);
            assert_eq!(decided, *expected, "{what}");
        }
    }

    const NEARLY_FULL: SegmentLoad =
        SegmentLoad { occupied: SLOTS * 9 / 10, overflowed: 0, is_overfull: false, splits: 1 };
    /// From its split load on.
    const FILLED: SegmentLoad = SegmentLoad { occupied: SLOTS * 95 / 100, ..NEARLY_FULL };
    const FULL: SegmentLoad = SegmentLoad { occupied: SLOTS * 97 / 100, ..NEARLY_FULL };
    const FAILED: SegmentLoad = SegmentLoad { overflowed: 1, is_overfull: true, ..NEARLY_FULL };
    /// Collisions in a segment that is nearly empty.
    const FEW: SegmentLoad = SegmentLoad { occupied: 100, overflowed: 5, ..FAILED };
    const CROWDED: SegmentLoad = SegmentLoad { overflowed: 16 + SLOTS / 64, ..FAILED };
    const CROWDED_FEW: SegmentLoad = SegmentLoad { overflowed: 16 + SLOTS / 64, ..FEW };

    #[test]
    fn a_growing_filter_splits_when_it_should() {
        use Decision::{Evict, Overflow, Rebuild, Split};
        let growing = growing();
        let first = |fill| SegmentLoad { splits: 0, ..fill };
        let small = GrowthInputs { slots: 1 << 14, segments: 1, depth: 0, ..growing };
        let deep = GrowthInputs { depth: 16, region: 10, ..growing };
        let last = GrowthInputs { is_last_level: true, ..growing };
        let part = GrowthInputs { is_part: true, ..last };
        check(&[
            ("room for evictions", NEARLY_FULL, growing, Evict),
            ("filled", FILLED, growing, Split),
            ("an eviction failed", FAILED, growing, Split),
            ("few items, of which some failed", FEW, growing, Evict),
            ("few items, of which many failed", CROWDED_FEW, growing, Overflow),
            ("filled for the first time", first(FILLED), growing, Evict),
            ("by chance", first(FAILED), growing, Evict),
            ("copies, not chance", first(FAILED), GrowthInputs { entries: 5, ..growing }, Split),
            ("more than chance", first(FULL), growing, Split),
            ("a small filter that holds more than planned", FAILED, small, Rebuild),
            ("one that does not", FAILED, GrowthInputs { capacity: 1_000_001, ..small }, Evict),
            ("a small shard", FAILED, GrowthInputs { is_part: true, ..small }, Split),
            ("deep in a region of few", FILLED, deep, Evict),
            ("and crowded", CROWDED, deep, Overflow),
            ("deep in a region of many", FILLED, GrowthInputs { region: 128, ..deep }, Split),
            ("no bit left", FILLED, last, Rebuild),
            ("in a shard", FILLED, part, Evict),
            ("and crowded", CROWDED, part, Overflow),
            ("in few segments", FILLED, GrowthInputs { segments: 63, ..last }, Evict),
            ("in an empty filter", FILLED, GrowthInputs { stored: 400_000, ..last }, Evict),
        ]);
    }

    #[test]
    fn a_filter_of_planned_size_splits_when_it_must() {
        use Decision::{Evict, Overflow, Refuse, Split};
        let fixed = GrowthInputs { is_resizable: false, ..growing() };
        let refusing = GrowthInputs { when_full: WhenFull::Refuse, ..fixed };
        check(&[
            ("an eviction failed", FAILED, fixed, Evict),
            ("filled", FILLED, fixed, Evict),
            ("crowded", CROWDED, fixed, Split),
            ("crowded by few", CROWDED_FEW, fixed, Overflow),
            ("may not grow", FAILED, refusing, Evict),
            ("and crowded", CROWDED, refusing, Refuse),
            ("by few", CROWDED_FEW, refusing, Refuse),
        ]);
    }
}

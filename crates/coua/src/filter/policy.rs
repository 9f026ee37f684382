//! Limits of a filter: those chosen at creation, and those of a shard.

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
pub(crate) const FREE_DEPTH: u32 = 16;
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
    /// Whether it is a part: then it keeps its geometry, because the parts are joined again.
    pub(crate) is_part: bool,
    /// Bits of the hash that choose the shard; the shard does not see them.
    pub(crate) bits: u32,
    /// How much deeper than the filter's base its least deep segments may be.
    pub(crate) levels_above: u8,
}

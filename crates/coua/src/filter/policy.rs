//! What limits a filter: what was chosen at creation, and the filter that it is a shard of.

/// What to do when there is no free slot for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// Grow, up to `max_items`; then refuse with [`Full`](crate::Full). The stated rate always holds. Keys that
    /// were made to share a long prefix of their hashes take 40 bytes each, once there are too many of them for
    /// their segments.
    #[default]
    Grow,
    /// Never take more memory: refuse when no slot can be found, or at `max_items`.
    Refuse,
    /// Grow, also beyond `max_items`: the false-positive rate then rises in proportion.
    ExceedRate,
}

/// What an insert does with a key that is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfPresent {
    AddCopy,
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

/// Bits of the hash that name a region: what is decided in a filter depends on the segments of one region alone, so that
/// 2^`REGION_BITS` threads may each take one.
pub(crate) const REGION_BITS: u32 = 6;
/// How much deeper than in a balanced tree a segment may lie, once it is deeper than [`FREE_DEPTH`].
const MAX_IMBALANCE: u32 = 4;
/// Every segment may lie as deep, so that keys may come in the order of their hashes: a directory of
/// 256 KiB.
pub(crate) const FREE_DEPTH: u32 = 16;
/// Directory entries are 4 bytes each: this is a limit of 1 GiB.
pub(crate) const MAX_DEPTH: u32 = 28;

/// The depth that no segment exceeds in a region of `segments` segments. Keys that share a long prefix (chosen by
/// an attacker who knows the seed) end in the overflow table, not in splits without end.
pub(crate) fn deepest(segments: usize) -> u32 {
    (REGION_BITS + segments.max(1).ilog2() + MAX_IMBALANCE).clamp(FREE_DEPTH, MAX_DEPTH)
}

/// Which part of a larger filter a filter is. The default is that of a filter which is whole.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shard {
    /// Bits of the hash that choose the shard; the shard does not see them.
    pub(crate) bits: u32,
    /// How much deeper than the filter's base its least deep segments may lie.
    pub(crate) levels_above: u8,
}

impl Shard {
    pub(crate) fn is_part(self) -> bool {
        self.bits > 0
    }
}

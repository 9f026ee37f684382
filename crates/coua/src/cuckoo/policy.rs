//! What limits a filter: what was chosen at creation, and the filter that it is a shard of.

/// What to do when there is no free slot for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// Grow, up to `max_items`; then refuse with [`Full`](crate::Full). The stated rate always holds. Keys that
    /// were made to share a long prefix of their hashes are refused earlier, and so are those of a
    /// [`SharedCuckooFilter`](crate::SharedCuckooFilter) of few hash bits.
    #[default]
    Grow,
    /// Never take more memory: refuse when no slot can be found, or at `max_items`.
    Refuse,
    /// Grow, also beyond `max_items`: the false-positive rate then rises in proportion.
    ExceedRate,
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

/// How much deeper than in a balanced tree a segment may lie, once it is deeper than [`FREE_DEPTH`].
const MAX_IMBALANCE: u32 = 4;
/// Every segment may lie as deep, so that keys may come in the order of their hashes: a directory of
/// 256 KiB.
const FREE_DEPTH: u32 = 16;
/// Directory entries are 4 bytes each: this is a limit of 1 GiB.
pub(crate) const MAX_DEPTH: u32 = 28;

/// The depth that no segment of a filter with so many segments exceeds. Keys that share a long prefix
/// (made by somebody who knows the seed) end in `Full`, and not in splits without end.
pub(crate) fn deepest(segments: usize) -> u32 {
    (segments.ilog2() + MAX_IMBALANCE).clamp(FREE_DEPTH, MAX_DEPTH)
}

/// The least number of segments of which one may lie deeper than this.
pub(crate) fn segments_below(depth: u32) -> usize {
    if depth < MAX_DEPTH { 1 << (depth + 1 - MAX_IMBALANCE) } else { usize::MAX }
}

/// What a shard must know of the filter that it is a part of. The default is that of a filter which is no
/// shard.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ShardLimits {
    /// Bits of the hash that choose the shard; the shard does not see them.
    pub(crate) shard_bits: u32,
    /// Segments of the other shards.
    pub(crate) other_segments: usize,
    /// Overflowed items that this shard takes beyond its own limit.
    pub(crate) spare_overflow: u64,
    /// How much deeper than the filter's base its least deep segments may lie.
    pub(crate) levels_above: u8,
}

impl ShardLimits {
    pub(crate) fn is_shard(&self) -> bool {
        self.shard_bits > 0
    }

    /// Whether a segment of this depth may split, in a filter or shard with so many segments.
    pub(crate) fn allow_split(&self, depth: u32, segments: usize) -> bool {
        depth + self.shard_bits < deepest(segments + self.other_segments)
    }
}

//! How slots are shared between buckets, and how wide they can be.

/// How slots are shared between buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// Disjoint buckets of 1, 2, 4 or 8 slots: the fewest evictions, the default.
    Buckets,
    /// Overlapping buckets of two slots (Schmitz, Zentgraf, Rahmann 2025, arXiv 2505.05847):
    /// about one bit an item smaller at the same rate, more evictions per insert.
    Overlapping,
}

/// Widest slot that one unaligned 8-byte load can hold at any bit offset.
pub(crate) const MAX_SLOT_BITS: u32 = 57;
/// Bits of the fingerprint's scaled low part; also the narrowest fingerprint that can still split.
pub(crate) const LOW_BITS: u32 = 6;
/// Narrowest fingerprint of all.
pub(crate) const MIN_FINGERPRINT_BITS: u32 = 3;

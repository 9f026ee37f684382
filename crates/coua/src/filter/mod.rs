//! The cuckoo filter: contains, insert, remove, count.
//!
//! Fan, Andersen, Kaminsky, Mitzenmacher 2014, "Cuckoo Filter: Practically Better Than Bloom", with
//! segments, any number of buckets, a choice bit in every slot and an exact overflow table. See
//! `docs/theory.md` for the formulas.
//!
//! [`Segments`] hold the items in slots. A filter adds the items without a slot, counts, limits, and the decision
//! what an insert does when its buckets are full ([`growth`]).

mod copies;
mod create;
mod describe;
mod grouped;
mod growth;
mod insert;
mod limits;
mod lookup;
mod overflow;
mod rebuild;
mod reinsert;
mod remove;

use crate::error::{Full, FullReason};
use crate::hash::KeyHasher;
use crate::segments::Segments;

pub(crate) use grouped::{GroupedKeys, by_level};
use growth::Thresholds;
pub(crate) use growth::{Decision, MAX_DEPTH, Policy, REGION_BITS, Shard, deepest};
pub use growth::{IfPresent, WhenFull};
pub use overflow::OverflowEntry;
pub(crate) use overflow::{OverflowTable, Repeat};

/// A set or multiset of keys that answers "have I seen this before?" in a few bytes per key.
///
/// * `contains` is always true for a key that was inserted and not removed. For other keys it is wrongly
///   true with probability [`false_positive_rate`](Self::false_positive_rate).
/// * A key may be inserted any number of times, and removed equally often.
/// * Removing a key that was never inserted returns false, but with the probability of the false-positive
///   rate it removes another key's copy: remove only what you inserted.
///
/// All operations on one key take O(1) expected time, or O(log k) if k keys have no slot. Batches are several
/// times faster than single calls once the table is larger than the processor's caches. Creating a filter takes
/// O(segments); methods that describe it take O(1) unless they say otherwise.
///
/// ```
/// use coua::CuckooFilter;
///
/// let mut seen = CuckooFilter::with_capacity(1_000_000, 0.001)?;
/// seen.insert("kestrel")?;
/// assert!(seen.contains("kestrel"));
/// assert!(seen.remove("kestrel"));
/// assert!(seen.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CuckooFilter {
    segments: Segments,
    overflow: OverflowTable,
    /// Items in slots, and overflowed ones: what `max_items` limits. Further copies of a key are counted in
    /// the overflow table.
    stored: u64,
    policy: Policy,
    hasher: KeyHasher,
    /// The part of a larger filter that this is.
    shard: Shard,
    thresholds: Thresholds,
    /// The number of moves of all items to another table; not saved.
    rebuilds: u32,
}

/// Accessors for the layers above.
impl CuckooFilter {
    #[inline(always)]
    pub(crate) fn as_segments(&self) -> &Segments {
        &self.segments
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn overflow(&self) -> &OverflowTable {
        &self.overflow
    }

    /// Items that take a slot, and overflowed ones.
    pub(crate) fn stored(&self) -> u64 {
        self.stored
    }

    #[cold]
    pub(crate) fn full(&self, reason: FullReason) -> Full {
        Full { items: self.len(), max_items: self.policy.max_items, reason }
    }
}

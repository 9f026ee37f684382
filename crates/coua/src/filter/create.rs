//! Creates filters: from segments, or as a copy.

use super::{CuckooFilter, OverflowTable, Policy, Shard, Thresholds};
use crate::error::OutOfMemory;
use crate::hash::KeyHasher;
use crate::segments::Segments;

impl CuckooFilter {
    /// A filter with these segments, and the items in their slots.
    pub(crate) fn of_segments(segments: Segments, policy: Policy, hasher: KeyHasher) -> Self {
        Self {
            stored: segments.iter().map(|segment| u64::from(segment.occupied())).sum(),
            overflow: OverflowTable::default(),
            policy,
            hasher,
            shard: Shard::default(),
            thresholds: Thresholds::of(segments.geometry()),
            rebuilds: 0,
            segments,
        }
    }

    /// Copies the filter. O(bytes); segments without items are not copied.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if there is not enough memory for the copy.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let segments = self.segments.try_clone()?;
        Ok(Self { segments, overflow: self.overflow.try_clone()?, ..*self })
    }

    /// Makes this filter a shard, or sets the limit of items of a shard.
    pub(crate) fn limit_shard(&mut self, shard: Shard, max_items: u64) {
        self.shard = shard;
        self.policy.max_items = max_items;
    }
}

impl Clone for CuckooFilter {
    /// Panics if there is no memory; [`try_clone`](CuckooFilter::try_clone) does not.
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| panic!("{error}"))
    }
}

//! Making a filter: empty, of segments that exist, or as a copy.

use super::{CuckooFilter, OverflowTable, Policy, ShardLimits};
use crate::error::OutOfMemory;
use crate::hash::KeyHasher;
use crate::kernel::Geometry;
use crate::table::Table;

impl CuckooFilter {
    /// An empty filter of this geometry.
    pub(crate) fn empty(
        geometry: Geometry,
        policy: Policy,
        hasher: KeyHasher,
    ) -> Result<Self, OutOfMemory> {
        // More than 2^64 slots have no level.
        let level = geometry.level(geometry.base_depth).ok_or(OutOfMemory { bytes: u64::MAX })?;
        let bytes = level.bytes(geometry.segment_slots());
        Self::of_table(geometry, Table::new(geometry.base_depth, bytes)?, policy, hasher)
    }

    /// A filter with these segments and the items in their slots.
    pub(crate) fn of_table(
        geometry: Geometry,
        table: Table,
        policy: Policy,
        hasher: KeyHasher,
    ) -> Result<Self, OutOfMemory> {
        let mut filter = Self {
            geometry,
            levels: geometry.levels_below(table.deepest_level()),
            uniform: None,
            directory: table.directory(geometry.base_depth)?,
            stored: table.iter().map(|segment| u64::from(segment.occupied())).sum(),
            table,
            overflow: OverflowTable::default(),
            policy,
            hasher,
            splits: 0,
            limits: ShardLimits::default(),
            memory_limit: u64::MAX,
        };
        filter.uniform = filter.find_uniform();
        // Where the list of segments is in the order of their hashes, the directory need not be read.
        if filter.directory.is_in_order() {
            filter.table.detect_spacing();
        }
        Ok(filter)
    }

    /// A copy in memory of its own. O(bytes); segments without items are not copied.
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if there is not enough memory for the copy.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let table = self.table.try_clone(|segment| self.segment_bytes(segment))?;
        let copy = Self::of_table(self.geometry, table, self.policy, self.hasher)?;
        Ok(Self {
            overflow: self.overflow.try_clone()?,
            stored: self.stored,
            splits: self.splits,
            limits: self.limits,
            memory_limit: self.memory_limit,
            ..copy
        })
    }
}

impl Clone for CuckooFilter {
    /// Panics if there is no memory; [`try_clone`](CuckooFilter::try_clone) does not.
    fn clone(&self) -> Self {
        self.try_clone().unwrap_or_else(|error| panic!("{error}"))
    }
}

//! A cuckoo filter that never forgets, as a table.

use std::mem::size_of;

use coua::{CuckooFilter, MergeError};

use super::blueprint::Hints;
use super::compaction::{Compaction, Position, Time, compact, is_quickly_rebuilt};
use super::inserts::Limited;
use crate::refusal::Refusal;
use crate::server::{aligned_block_bytes, block_bytes};
use crate::value::Charge;

/// Bytes of a value: of a list, or a pointer to a table, and some numbers.
pub(super) const VALUE_BYTES: u64 = 104;

/// A filter of the library.
pub(super) struct Table {
    pub(super) filter: CuckooFilter,
    pub(super) hints: Hints,
    charge: Charge,
    /// Bytes of the filter's memory when the charge was settled.
    settled_at: usize,
    /// Bytes that the allocator had given for the filter then: asked before and after every write.
    allocated: u64,
}

impl Table {
    pub(super) fn new(filter: CuckooFilter, hints: Hints) -> Box<Self> {
        let charge = Charge::default();
        let mut table = Self { filter, hints, charge, settled_at: 0, allocated: 0 };
        table.settle();
        Box::new(table)
    }

    /// To be called after every change.
    pub(super) fn settle(&mut self) {
        // Nothing is mapped or given back that this does not tell.
        let bytes = self.filter.memory_bytes();
        if self.settled_at != bytes {
            self.settled_at = bytes;
            self.allocated = allocated_for(&self.filter);
            self.charge.settle(self.filter.mapped_bytes() as u64);
        }
    }

    /// Bytes of memory beside those that the filter counts.
    const BESIDE: u64 = VALUE_BYTES + (size_of::<Self>() - size_of::<CuckooFilter>()) as u64;

    pub(super) fn memory_bytes(&self) -> u64 {
        self.filter.memory_bytes() as u64 + Self::BESIDE
    }

    /// Bytes that the allocator has given for it.
    pub(super) fn allocated_bytes(&self) -> u64 {
        block_bytes(size_of::<Self>() as u64) + self.allocated
    }

    /// The filter, with the limit of memory that it keeps from now on: that may change from one command to the next.
    pub(super) fn limited(&mut self, limit: Option<u64>) -> Limited<'_, CuckooFilter> {
        self.filter.set_memory_limit(limit.map(|limit| limit.saturating_sub(Self::BESIDE)));
        Limited { filter: &mut self.filter, limit, expansion: self.hints.expansion }
    }

    /// Adds all items of another filter, within a limit.
    pub(super) fn merge(
        &mut self,
        other: &CuckooFilter,
        limit: Option<u64>,
    ) -> Result<(), Refusal> {
        let limited = self.limited(limit);
        limited.filter.merge(other).map_err(|error| match error {
            MergeError::Full(full) => limited.refusal_of(full),
            error => Refusal::Merge(error),
        })
    }

    /// Gives memory back, as much as a command may take the time for, from a hash on.
    pub(super) fn compact(&mut self, from: u64) -> Compaction {
        let (has_changed, next) = compact(&mut self.filter, from, &mut Time::all());
        Compaction { has_changed, next: next.map(|from| Position { part: 0, from }) }
    }

    /// Gives memory back after these items, so many, were removed, if they have left little; tells whether all has come back. A
    /// filter that was never full keeps the room it was made with. All servers do the same, as it follows from
    /// what is saved and from the command.
    pub(super) fn compact_after<'a>(
        &mut self,
        removed: impl Iterator<Item = &'a [u8]>,
        count: u64,
        deleted: u64,
    ) -> bool {
        let (slots, items) = (self.filter.slots(), self.filter.len());
        // Copies of few items fill a filter at a quarter of its slots.
        let is_mostly_empty = deleted >= slots / 8 && items <= slots / 4;
        if self.hints.expansion == 0 || !is_mostly_empty {
            return false;
        }
        if is_quickly_rebuilt(&self.filter) {
            return self.has_halved(count) && self.compact(0).has_changed;
        }
        let most = Time::all().joins(&self.filter);
        removed.filter(|item| self.filter.compact_at(*item)).take(most).for_each(drop);
        false
    }

    /// Whether as many removals have brought the load down to 1/4, 1/8, and so on: a compaction that did not
    /// succeed, because of equal items, is tried again only then.
    fn has_halved(&self, removed: u64) -> bool {
        let (slots, now) = (self.filter.slots(), self.filter.len());
        let before = now.saturating_add(removed);
        (2..u64::BITS).map(|halvings| slots >> halvings).any(|it| now <= it && it < before)
    }

    /// A copy in memory of its own.
    pub(super) fn try_clone(&self) -> Result<Box<Self>, Refusal> {
        let filter = self.filter.try_clone().map_err(|_| Refusal::NoMemory)?;
        Ok(Self::new(filter, self.hints))
    }
}

/// Bytes that the allocator has given for what a filter points to, which counts as a single block.
pub(super) fn allocated_for(filter: &CuckooFilter) -> u64 {
    const CACHE_LINE: u64 = 64;
    /// The filter has some short lists beside its slots, which it does not count.
    const LISTS: u64 = 192;
    let inside = filter.memory_bytes() - size_of::<CuckooFilter>();
    let mapped = filter.mapped_bytes();
    LISTS + aligned_block_bytes((inside - mapped) as u64, CACHE_LINE) + mapped as u64
}

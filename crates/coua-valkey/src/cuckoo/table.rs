//! A cuckoo filter that never forgets, as a table; and how items are inserted into filters of the
//! library.

use std::iter;
use std::mem::size_of;

use coua::window::{Generations, Window};
use coua::{CuckooFilter, Full, FullReason, Insertion, KeyHash, MergeError};

use super::compaction::{Compaction, CompactionPosition, Time, compact, is_quickly_rebuilt};
use super::cuckoo_request::Hints;
use crate::error::CommandError;
use crate::server::{aligned_block_bytes, block_bytes};
use crate::value::{MemoryCharge, Outcome, Outcomes, first_change};

/// Which items an insert takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    /// Every item: one that is there gets another copy.
    Add,
    /// Only absent ones.
    Keep,
}

/// A filter of the library.
pub(super) trait Inserts {
    /// Inserts one item.
    fn insert_one(&mut self, hash: KeyHash, copies: Copies) -> Result<Insertion, Full>;

    /// Adds copies up to the first item that is refused; how many.
    fn add_batch(&mut self, hashes: &[KeyHash]) -> usize;

    /// Adds absent items; one answer for each. Why it stopped, if it did, the next item is told.
    fn add_absent_batch(&mut self, hashes: &[KeyHash]) -> Vec<Insertion>;
}

impl Inserts for CuckooFilter {
    fn insert_one(&mut self, hash: KeyHash, copies: Copies) -> Result<Insertion, Full> {
        match copies {
            Copies::Add => self.insert(hash).map(|()| Insertion::Inserted),
            Copies::Keep => self.insert_unique(hash),
        }
    }

    fn add_batch(&mut self, hashes: &[KeyHash]) -> usize {
        self.insert_batch(hashes).map_or_else(|stopped| stopped.done, |()| hashes.len())
    }

    fn add_absent_batch(&mut self, hashes: &[KeyHash]) -> Vec<Insertion> {
        let mut insertions = Vec::new();
        self.insert_unique_batch_into(hashes, &mut insertions).ok();
        insertions
    }
}

/// A filter of the library that keeps a limit of memory.
pub(super) struct LimitedFilter<'a, F> {
    pub(super) filter: &'a mut F,
    pub(super) limit: Option<u64>,
    /// What was asked for at creation; 0 if the filter never grows.
    pub(super) expansion: u16,
}

impl<F: Inserts> LimitedFilter<'_, F> {
    /// Inserts an item, and tells what became of it.
    pub(super) fn insert_one(&mut self, hash: KeyHash, copies: Copies) -> Outcome {
        let inserted = self.filter.insert_one(hash, copies);
        inserted.map_or_else(|full| Outcome::Refused(self.refusal_of(full)), outcome_of)
    }

    /// Inserts items in order, and tells what became of each.
    pub(super) fn insert_all(
        &mut self,
        hashes: &[KeyHash],
        copies: Copies,
        outcomes: &mut Outcomes,
    ) {
        let before = outcomes.len();
        // A batch has its preparations.
        if hashes.len() > 1 {
            match copies {
                Copies::Add => {
                    let done = self.filter.add_batch(hashes);
                    outcomes.extend(iter::repeat_n(Outcome::Inserted, done));
                }
                Copies::Keep => {
                    let is_done = |insertion: &Insertion| *insertion != Insertion::Refused;
                    let insertions = self.filter.add_absent_batch(hashes);
                    outcomes.extend(insertions.into_iter().take_while(is_done).map(outcome_of));
                }
            }
        }
        // After one that was refused most will be.
        let rest = &hashes[outcomes.len() - before..];
        outcomes.extend(rest.iter().map(|&hash| self.insert_one(hash, copies)));
    }
}

impl<F> LimitedFilter<'_, F> {
    /// Why an item is refused.
    pub(super) fn refusal_of(&self, full: Full) -> CommandError {
        match self.limit.filter(|_| full.reason == FullReason::MemoryLimit) {
            Some(limit) => CommandError::KeyMemory { limit },
            None => CommandError::of_full(full.reason, u64::from(self.expansion)),
        }
    }
}

fn outcome_of(insertion: Insertion) -> Outcome {
    if insertion.is_new() { Outcome::Inserted } else { Outcome::Present }
}

/// Bytes of a value: of a list, or a pointer to a table, and some numbers.
pub(super) const VALUE_BYTES: u64 = 80;

/// Figures of a filter.
pub(crate) struct Figures {
    /// Places for fingerprints.
    pub(crate) slots: u64,
    /// Probability of a wrong "there", now.
    pub(crate) rate: f64,
    /// Bits of a hash that are remembered.
    pub(crate) hash_bits: f64,
    /// Slots in use, 0..=1.
    pub(crate) load: f64,
    /// If it forgets: its window, and its clock.
    pub(crate) window: Option<(Window, u64)>,
    /// Filters that a question meets.
    pub(crate) filters: u64,
}

impl Figures {
    /// Of a filter that never forgets.
    pub(super) fn of(filter: &CuckooFilter) -> Self {
        Self {
            slots: filter.slots(),
            rate: filter.false_positive_rate(),
            hash_bits: filter.hash_bits(),
            load: filter.load_factor(),
            window: None,
            filters: 1,
        }
    }

    /// Of generations.
    pub(super) fn of_generations(filter: &Generations) -> Self {
        Self {
            slots: filter.slots(),
            rate: filter.false_positive_rate(),
            hash_bits: filter.hash_bits(),
            load: filter.load_factor(),
            window: filter.window().map(|window| (window, filter.clock())),
            filters: filter.generations().count() as u64,
        }
    }
}

/// A filter of the library.
pub(super) struct Table {
    pub(super) filter: CuckooFilter,
    pub(super) hints: Hints,
    charge: MemoryCharge,
    /// Bytes of the filter's memory when the charge was settled.
    charged_at: usize,
    /// Bytes that the allocator had given for the filter then: asked before and after every write.
    allocated: u64,
    /// Goes up with every change of the filter; not saved.
    pub(super) changes: u16,
}

impl Table {
    pub(super) fn new(filter: CuckooFilter, hints: Hints) -> Box<Self> {
        let (charge, changes) = (MemoryCharge::default(), first_change());
        let mut table = Self { filter, hints, charge, charged_at: 0, allocated: 0, changes };
        table.update_charge();
        Box::new(table)
    }

    /// To be called after every change.
    pub(super) fn update_charge(&mut self) {
        // Nothing is mapped or given back that this does not tell.
        let bytes = self.filter.memory_bytes();
        if self.charged_at != bytes {
            self.charged_at = bytes;
            self.allocated = allocated_for(&self.filter);
            self.charge.update(self.filter.mapped_bytes() as u64);
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

    /// The filter, with the limit of memory that it keeps from now on: that may change from one
    /// command to the next.
    pub(super) fn limited(&mut self, limit: Option<u64>) -> LimitedFilter<'_, CuckooFilter> {
        self.filter.set_memory_limit(limit.map(|limit| limit.saturating_sub(Self::BESIDE)));
        LimitedFilter { filter: &mut self.filter, limit, expansion: self.hints.expansion }
    }

    /// Adds all items of another filter, within a limit.
    pub(super) fn merge(
        &mut self,
        other: &CuckooFilter,
        limit: Option<u64>,
    ) -> Result<(), CommandError> {
        let limited = self.limited(limit);
        limited.filter.merge(other).map_err(|error| match error {
            MergeError::Full(full) => limited.refusal_of(full),
            error => CommandError::Merge(error),
        })
    }

    /// Gives memory back, as much as a command may take the time for, from a hash on.
    pub(super) fn compact(&mut self, from: u64) -> Compaction {
        let (has_changed, next) = compact(&mut self.filter, from, &mut Time::all());
        Compaction { has_changed, next: next.map(|from| CompactionPosition { part: 0, from }) }
    }

    /// Gives memory back after these items were removed, if few are left. Returns whether all of it
    /// has come back. A filter that was never full keeps the room it was made with. All
    /// servers do the same, as it follows from what is saved and from the command.
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

    /// Whether as many removals have brought the load down to 1/4, 1/8, and so on: a compaction
    /// that did not succeed, because of equal items, is tried again only then.
    fn has_halved(&self, removed: u64) -> bool {
        let (slots, now) = (self.filter.slots(), self.filter.len());
        let before = now.saturating_add(removed);
        (2..u64::BITS).map(|halvings| slots >> halvings).any(|it| now <= it && it < before)
    }

    /// A copy in memory of its own.
    pub(super) fn try_clone(&self) -> Result<Box<Self>, CommandError> {
        let filter = self.filter.try_clone().map_err(|_| CommandError::NoMemory)?;
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

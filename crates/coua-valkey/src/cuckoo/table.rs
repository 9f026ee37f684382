//! A cuckoo filter without a window, as a table; and inserts into filters of the library.

use std::mem::{self, size_of};
use std::sync::atomic::Ordering::Relaxed;

use coua::window::{Generations, When, Window};
use coua::{CuckooFilter, Filter, Full, IfPresent, Insertion, KeyHash, MergeError};
use coua_image::Hints;

use super::compaction::{Compaction, QUICKLY_REBUILT, STEP_TIME, compact, rebuild_time};
use super::first_change;
use super::memory::MemoryCharge;
use super::outcome::Outcome;
use crate::error::CommandError;
use crate::server::{aligned_block_bytes, block_bytes};
use crate::settings::REBUILDS;

/// A filter of the library.
pub(super) trait Inserts: Filter {
    /// Bytes that the filter takes.
    fn bytes(&self) -> u64;

    /// The most bytes that it takes after it has grown once more.
    fn bytes_after_growth(&self) -> u64;

    /// The most bytes that one more copy of an item takes; `None` if the filter grows for it.
    fn bytes_to_insert(&self, hash: KeyHash) -> Option<u64>;

    /// Bytes of the further generations that end while so many items are inserted.
    fn bytes_of_parts_for(&self, _items: usize) -> u64 {
        0
    }

    /// Items that the filter can take without moving all of its items in one command.
    fn room(&self) -> u64;

    /// Calls `work` with the filter, to insert items.
    fn change<R>(&mut self, work: impl FnOnce(&mut dyn Filter) -> R) -> R;

    /// Adds all items of another filter. An error may leave them partly merged.
    fn add_all(&mut self, other: &Self) -> Result<(), MergeError>;
}

impl Inserts for CuckooFilter {
    fn bytes(&self) -> u64 {
        self.memory_bytes() as u64
    }

    fn bytes_after_growth(&self) -> u64 {
        /// A filter of at most this many slots doubles.
        const SMALL: u64 = 1 << 14;
        /// From this size on, a filter takes memory in steps of 2 MiB or 1 %.
        const LARGE: u64 = 8 << 20;
        /// Bytes of a segment in the lists of a filter, which double.
        const IN_LISTS: u64 = 64;
        let (bytes, segments) = (self.bytes(), self.segments() as u64);
        let of_slots = match bytes {
            _ if self.slots() <= SMALL => bytes,
            LARGE.. => (2 << 20) + bytes / 64,
            _ => (bytes / segments).max(bytes / 32),
        };
        bytes + of_slots + segments * IN_LISTS
    }

    fn bytes_to_insert(&self, hash: KeyHash) -> Option<u64> {
        self.bytes_to_insert(hash)
    }

    fn room(&self) -> u64 {
        self.room_by_splits().max(QUICKLY_REBUILT.saturating_sub(self.len()))
    }

    fn change<R>(&mut self, work: impl FnOnce(&mut dyn Filter) -> R) -> R {
        work(self)
    }

    fn add_all(&mut self, other: &Self) -> Result<(), MergeError> {
        self.unite(other, IfPresent::AddCopy)
    }
}

/// A filter of the library with a memory limit.
pub(super) struct LimitedFilter<'a, F> {
    pub(super) filter: &'a mut F,
    /// The limit of the key.
    pub(super) limit: Option<u64>,
    /// Bytes of the key beside those of the filter.
    pub(super) beside: u64,
    /// EXPANSION; 0 if the filter never grows.
    pub(super) expansion: u16,
}

impl<F: Inserts> LimitedFilter<'_, F> {
    /// Inserts an item, and returns the outcome.
    pub(super) fn insert_one(&mut self, hash: KeyHash, if_present: IfPresent) -> Outcome {
        if let Some(refusal) = self.refusal(hash, if_present) {
            return Outcome::Refused(refusal);
        }
        let inserted = self.filter.change(|filter| filter.insert_one(hash, if_present));
        inserted.map_or_else(|full| Outcome::Refused(self.refusal_of(full)), outcome_of)
    }

    /// Why an item is refused before it is inserted.
    fn refusal(&self, hash: KeyHash, if_present: IfPresent) -> Option<CommandError> {
        if self.filter.room() == 0 {
            let is_repeat = if_present == IfPresent::Skip && self.filter.contains(hash);
            return (!is_repeat).then_some(CommandError::HashBits);
        }
        let most = self.filter.bytes_after_growth() + self.beside;
        let limit = self.limit.filter(|&limit| most > limit)?;
        let now = self.filter.bytes() + self.beside;
        let more = self.filter.bytes_to_insert(hash);
        let bytes = more.map_or(most, |more| if more > 0 { now + more } else { 0 });
        let is_refused =
            bytes > limit && !(if_present == IfPresent::Skip && self.filter.contains(hash));
        is_refused.then_some(CommandError::KeyMemory { limit })
    }

    /// Adds all items of another filter. An error may leave them partly merged.
    pub(super) fn merge(&mut self, other: &F) -> Result<(), CommandError> {
        let sum = self.filter.bytes() + other.bytes();
        CommandError::check_bytes(sum + self.beside, self.limit)?;
        self.filter.add_all(other).map_err(|error| match error {
            MergeError::Full(full) => self.refusal_of(full),
            error => CommandError::Impossible(error.to_string()),
        })
    }

    /// Why an item is refused.
    fn refusal_of(&self, full: Full) -> CommandError {
        CommandError::of_full(full.reason, self.expansion)
    }

    /// Whether so many items cannot lead to the limit.
    fn is_far_from_limit(&self, items: usize) -> bool {
        /// Bytes of an item in a filter that has just doubled.
        const PER_ITEM: u64 = 64;
        let most = 2 * self.filter.bytes_after_growth() + PER_ITEM * items as u64;
        let of_parts = self.filter.bytes_of_parts_for(items);
        CommandError::check_bytes(most + of_parts + self.beside, self.limit).is_ok()
    }

    /// Inserts items in order, and returns an outcome for each.
    pub(super) fn insert_all(
        &mut self,
        hashes: &[KeyHash],
        if_present: IfPresent,
        outcomes: &mut Vec<Outcome>,
    ) {
        let before = outcomes.len();
        // A batch has a setup cost.
        let has_room = hashes.len() as u64 <= self.filter.room();
        if hashes.len() > 1 && has_room && self.is_far_from_limit(hashes.len()) {
            let (mut done, when) = (Vec::new(), When::Now);
            // Inserting the next item gives the reason of a refusal.
            self.filter
                .change(|filter| filter.insert_each(hashes, when, if_present, &mut done))
                .ok();
            let is_done = |insertion: &Insertion| *insertion != Insertion::Refused;
            outcomes.extend(done.into_iter().take_while(is_done).map(outcome_of));
        }
        // After a refusal, most others will be refused too.
        let rest = &hashes[outcomes.len() - before..];
        outcomes.extend(rest.iter().map(|&hash| self.insert_one(hash, if_present)));
    }
}

fn outcome_of(insertion: Insertion) -> Outcome {
    if insertion.is_new() { Outcome::Inserted } else { Outcome::Present }
}

/// Bytes of a value: a list, or a pointer to a table, and some numbers.
pub(super) const VALUE_BYTES: u64 = 80;

/// Figures of a filter.
pub(crate) struct Figures {
    /// Slots for fingerprints.
    pub(crate) slots: u64,
    /// The current false-positive rate.
    pub(crate) rate: f64,
    /// Remembered bits of a hash.
    pub(crate) hash_bits: f64,
    /// Slots in use, 0..=1.
    pub(crate) load: f64,
    /// The window and its clock, if there is one.
    pub(crate) window: Option<(Window, u64)>,
    /// Filters that a lookup queries.
    pub(crate) filters: u64,
}

impl Figures {
    /// The figures of a filter without a window.
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

    /// The figures of a filter with a window.
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
    /// Bytes of the filter's memory at the last update of the charge.
    charged_at: usize,
    /// Bytes allocated for the filter then; needed before and after every write.
    allocated: u64,
    /// Rebuilds of the filter that were counted.
    rebuilds: u32,
    /// Increases with every change of the filter; not saved.
    pub(super) changes: u16,
}

impl Table {
    pub(super) fn new(filter: CuckooFilter, hints: Hints) -> Box<Self> {
        let (charge, changes) = (MemoryCharge::default(), first_change());
        let rebuilds = filter.rebuilds();
        let mut table =
            Self { filter, hints, charge, charged_at: 0, allocated: 0, rebuilds, changes };
        table.update_charge();
        Box::new(table)
    }

    /// Must be called after every change.
    pub(super) fn update_charge(&mut self) {
        // This changes whenever memory is mapped or freed.
        let bytes = self.filter.memory_bytes();
        if self.charged_at != bytes {
            self.charged_at = bytes;
            self.allocated = allocated_for(&self.filter);
            self.charge.update(self.filter.mapped_bytes() as u64);
            let before = mem::replace(&mut self.rebuilds, self.filter.rebuilds());
            REBUILDS.fetch_add(self.rebuilds.wrapping_sub(before).into(), Relaxed);
        }
    }

    /// Bytes of memory that the filter does not count.
    const BESIDE: u64 = VALUE_BYTES + (size_of::<Self>() - size_of::<CuckooFilter>()) as u64;

    pub(super) fn memory_bytes(&self) -> u64 {
        self.filter.memory_bytes() as u64 + Self::BESIDE
    }

    /// Bytes allocated for it.
    pub(super) fn allocated_bytes(&self) -> u64 {
        block_bytes(size_of::<Self>() as u64) + self.allocated
    }

    /// The filter with its memory limit, which may change between commands.
    pub(super) fn limited(&mut self, limit: Option<u64>) -> LimitedFilter<'_, CuckooFilter> {
        let (beside, expansion) = (Self::BESIDE, self.hints.expansion);
        LimitedFilter { filter: &mut self.filter, limit, beside, expansion }
    }

    /// Frees memory: rebuilds the filter.
    pub(super) fn compact(&mut self) -> Result<Compaction, CommandError> {
        Ok(Compaction { has_changed: compact(&mut self.filter)?, next: None })
    }

    /// Frees memory after `count` items were removed, if few are left and the filter is quickly rebuilt. Returns whether
    /// it was. A filter that was never full keeps its initial room. The result depends only on saved state and on the
    /// command, so it is the same on all servers.
    pub(super) fn compact_after(&mut self, count: u64, deleted: u64) -> bool {
        let (slots, items) = (self.filter.slots(), self.filter.len());
        // Copies of few items fill a filter at a quarter of its slots.
        let is_mostly_empty = deleted >= slots / 8 && items <= slots / 4;
        self.hints.expansion > 0
            && is_mostly_empty
            && rebuild_time(&self.filter) <= STEP_TIME
            && self.has_halved(count)
            // The new table has less than 2 MiB: without memory for it, the allocator ends the server.
            && self.compact().is_ok_and(|compaction| compaction.has_changed)
    }

    /// Whether these removals have lowered the load to 1/4, 1/8, and so on: a compaction that failed because
    /// of equal items is repeated only then.
    fn has_halved(&self, removed: u64) -> bool {
        let (slots, now) = (self.filter.slots(), self.filter.len());
        let before = now.saturating_add(removed);
        (2..u64::BITS).map(|halvings| slots >> halvings).any(|it| now <= it && it < before)
    }

    /// A separate copy.
    pub(super) fn try_clone(&self) -> Result<Box<Self>, CommandError> {
        let filter = self.filter.try_clone().map_err(|_| CommandError::NoMemory)?;
        Ok(Self::new(filter, self.hints))
    }
}

/// Bytes allocated for the memory that a filter points to, which counts as a single block.
pub(super) fn allocated_for(filter: &CuckooFilter) -> u64 {
    const CACHE_LINE: u64 = 64;
    /// Short lists that the filter does not count.
    const LISTS: u64 = 192;
    let inside = filter.memory_bytes() - size_of::<CuckooFilter>();
    let mapped = filter.mapped_bytes();
    LISTS + aligned_block_bytes((inside - mapped) as u64, CACHE_LINE) + mapped as u64
}

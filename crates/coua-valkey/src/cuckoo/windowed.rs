//! A cuckoo filter with a window.
//!
//! Its clock is part of the value, and only commands advance it: the primary replicates CF.ADVANCE with
//! its time before each command. So the same commands lead to the same bytes on every server, whatever
//! their clocks show. Lookups change nothing: they skip generations that have expired by the
//! clock of the queried server.

use std::mem::size_of;
use std::time::{SystemTime, UNIX_EPOCH};

use coua::window::{Change, ChangeLog, Clock, Generation, Generations, Window};
use coua::{CuckooFilter, Filter, KeyHash, MergeError};
use coua_image::Hints;

use super::compaction::{Compaction, STEP_TIME, compact, rebuild_time};
use super::first_change;
use super::memory::{MemoryCharge, release};
use super::table::{Inserts, LimitedFilter, VALUE_BYTES, allocated_for};
use crate::error::CommandError;
use crate::redisbloom::CompactionPosition;
use crate::server::block_bytes;

/// A filter of the library with a window.
pub(super) struct WindowedFilter {
    pub(super) filter: Generations,
    pub(super) hints: Hints,
    charge: MemoryCharge,
    /// Increases with every change of the filter; not saved.
    pub(super) changes: u16,
}

impl WindowedFilter {
    pub(super) fn new(filter: Generations, hints: Hints) -> Box<Self> {
        let (charge, changes) = (MemoryCharge::default(), first_change());
        let mut windowed = Self { filter, hints, charge, changes };
        windowed.update_charge();
        Box::new(windowed)
    }

    /// Must be called after every change.
    pub(super) fn update_charge(&mut self) {
        let mapped: usize = self.parts().map(CuckooFilter::mapped_bytes).sum();
        self.charge.update(mapped as u64);
    }

    fn parts(&self) -> impl Iterator<Item = &CuckooFilter> {
        let live = self.filter.generations().map(|generation| generation.filter);
        std::iter::once(self.filter.template()).chain(live)
    }

    /// Bytes of memory that the filters do not count.
    const BESIDE: u64 = VALUE_BYTES + size_of::<Self>() as u64;

    pub(super) fn memory_bytes(&self) -> u64 {
        self.filter.memory_bytes() as u64 + Self::BESIDE
    }

    /// Bytes allocated for it.
    pub(super) fn allocated_bytes(&self) -> u64 {
        let list =
            self.filter.generations().count() * (size_of::<CuckooFilter>() + size_of::<u64>());
        let filters: u64 = self.parts().map(allocated_for).sum();
        block_bytes(size_of::<Self>() as u64) + block_bytes(list as u64) + filters
    }

    /// Advances the clock to a time, in milliseconds since 1970, which removes expired items. Returns the new
    /// time if it changed.
    pub(super) fn advance(&mut self, time: u64) -> Option<u64> {
        let before = self.filter.clock();
        self.filter.logged(&mut Background).advance(time);
        Some(self.filter.clock()).filter(|&now| now != before)
    }

    /// The generations that have not expired by the clock of this server.
    fn remembered(&self) -> impl DoubleEndedIterator<Item = Generation<'_>> {
        let oldest = self.filter.window().map_or(0, |window| {
            let is_timed = window.clock() != Clock::Count;
            let present = self.filter.clock().max(if is_timed { milliseconds() } else { 0 });
            (present / window.step()).saturating_sub(u64::from(window.generations()))
        });
        self.filter.generations().filter(move |generation| generation.number >= oldest)
    }

    /// The number of remembered items.
    pub(super) fn len(&self) -> u64 {
        self.remembered().map(|generation| generation.filter.len()).fold(0, u64::saturating_add)
    }

    /// Which items are remembered.
    pub(super) fn contains_all(&self, items: &[&[u8]]) -> Vec<bool> {
        let hashes = self.hashes(items);
        let mut present = vec![false; hashes.len()];
        // Most repeats are recent.
        for generation in self.remembered().rev() {
            let left: Vec<_> = (0..hashes.len()).filter(|&place| !present[place]).collect();
            let asked: Vec<_> = left.iter().map(|&place| hashes[place]).collect();
            for (&place, answer) in left.iter().zip(generation.filter.contains_batch(&asked)) {
                present[place] = answer;
            }
        }
        present
    }

    /// Counts the remembered copies of each item.
    pub(super) fn count_all(&self, items: &[&[u8]]) -> Vec<u64> {
        let hashes = self.hashes(items);
        let mut counts = vec![0_u64; hashes.len()];
        for generation in self.remembered() {
            for (count, more) in counts.iter_mut().zip(generation.filter.count_batch(&hashes)) {
                *count = count.saturating_add(more);
            }
        }
        counts
    }

    fn hashes(&self, items: &[&[u8]]) -> Vec<KeyHash> {
        items.iter().map(|item| self.filter.hasher().hash(*item)).collect()
    }

    /// The filter with its memory limit, which may change between commands.
    pub(super) fn limited(&mut self, limit: Option<u64>) -> LimitedFilter<'_, Generations> {
        LimitedFilter { filter: &mut self.filter, limit, beside: Self::BESIDE, expansion: 1 }
    }

    /// Frees memory after removals, from a generation on, within the time that a command may take. At most one generation
    /// changes, so that an error leaves all as they were.
    pub(super) fn compact(&mut self, at: CompactionPosition) -> Result<Compaction, CommandError> {
        let (mut has_changed, mut left) = (false, STEP_TIME);
        for (part, filter) in self.filter.filters_mut().filter(|(number, _)| *number >= at.part) {
            if has_changed || left == 0 {
                let next = Some(CompactionPosition { part, from: 0 });
                return Ok(Compaction { has_changed, next });
            }
            left = left.saturating_sub(rebuild_time(filter));
            has_changed = compact(filter)?;
        }
        Ok(Compaction { has_changed, next: None })
    }

    /// A separate copy.
    pub(super) fn try_clone(&self) -> Result<Box<Self>, CommandError> {
        let filter = self.filter.try_clone().map_err(|_| CommandError::NoMemory)?;
        Ok(Self::new(filter, self.hints))
    }
}

/// The system's time, in milliseconds since 1970.
pub(crate) fn milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

/// Drops large filters in the background.
pub(super) struct Background;

impl ChangeLog for Background {
    fn clock_set(&mut self, _clock: u64) {}

    fn changed(&mut self, _change: Change, _generation: u64, _hash: KeyHash) {}

    fn forgotten(&mut self, filters: Vec<CuckooFilter>) {
        let bytes = filters.iter().map(CuckooFilter::memory_bytes).sum();
        release(filters, bytes);
    }
}

/// The generation into which items are inserted now, if there is one already.
fn newest_of(filter: &Generations) -> Option<&CuckooFilter> {
    let present = filter.window().map_or(0, |window| filter.clock() / window.step());
    let newest = filter.generations().last().filter(|newest| newest.number == present);
    newest.map(|generation| generation.filter)
}

/// Where items are the clock, a generation may end with any item.
impl Inserts for Generations {
    fn bytes(&self) -> u64 {
        self.memory_bytes() as u64
    }

    fn bytes_after_growth(&self) -> u64 {
        let newest = self.generations().last().map(|generation| generation.filter);
        let growth = newest.map_or(0, |filter| filter.bytes_after_growth() - filter.bytes());
        self.bytes() + self.template().bytes() + growth
    }

    fn bytes_to_insert(&self, hash: KeyHash) -> Option<u64> {
        let of_new = Some(self.template().bytes());
        newest_of(self).map_or(of_new, |newest| newest.bytes_to_insert(hash))
    }

    fn bytes_of_parts_for(&self, items: usize) -> u64 {
        let is_counted = |window: &Window| window.clock() == Clock::Count;
        let step = self.window().filter(is_counted).map_or(u64::MAX, |window| window.step());
        items as u64 / step * self.template().bytes()
    }

    fn room(&self) -> u64 {
        newest_of(self).unwrap_or(self.template()).room()
    }

    fn change<R>(&mut self, work: impl FnOnce(&mut dyn Filter) -> R) -> R {
        work(&mut self.logged(&mut Background))
    }

    /// Each item is added to the generation of its time.
    fn add_all(&mut self, other: &Self) -> Result<(), MergeError> {
        self.unite(other)
    }
}

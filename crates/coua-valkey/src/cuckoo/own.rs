//! A cuckoo filter of the library as the value of a key.

use std::mem::size_of;

use coua::{BatchFull, CuckooFilter, Full, Insertion, MergeError, OutOfMemory};

use crate::refusal::Refusal;
use crate::value::Charge;

/// Items that are inserted between two looks at the limit of memory.
const STEP_UNDER_LIMIT: usize = 64;
/// Growth of a filter of more than one segment takes as much at a time, or a hundredth of its size.
const GROWTH_STEP: u64 = 2 << 20;

/// What was asked for at creation and only reported since: the geometry follows from capacity and
/// rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hints {
    /// BUCKETSIZE.
    pub(crate) bucket_size: u32,
    /// MAXITERATIONS.
    pub(crate) max_iterations: u32,
    /// EXPANSION. 0, and only 0, has a meaning: the filter does not grow.
    pub(crate) expansion: u32,
}

/// Which items an insert takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copies {
    /// Every item: one that is there gets another copy.
    Add,
    /// Only absent ones.
    Keep,
}

/// What became of an item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It is in.
    Inserted,
    /// It was there.
    Present,
    /// It is not in.
    Refused(Refusal),
}

/// A filter of the library.
pub(crate) struct OwnCuckoo {
    filter: CuckooFilter,
    hints: Hints,
    /// Removals since the filter was created or compacted.
    pub(super) deleted: u64,
    /// Changes since the filter was created or loaded, modulo 2^64; not saved.
    changes: u64,
    charge: Charge,
}

impl OwnCuckoo {
    /// A new value.
    pub(crate) fn new(filter: CuckooFilter, hints: Hints) -> Self {
        let mut own = Self { filter, hints, deleted: 0, changes: 0, charge: Charge::default() };
        own.settle();
        own
    }

    fn settle(&mut self) {
        self.charge.settle(self.filter.memory_bytes() as u64);
    }

    /// To be called after every change.
    fn has_changed(&mut self) {
        self.changes = self.changes.wrapping_add(1);
        self.settle();
    }

    /// The filter.
    pub(crate) fn filter(&self) -> &CuckooFilter {
        &self.filter
    }

    /// What was asked for at creation.
    pub(crate) fn hints(&self) -> Hints {
        self.hints
    }

    /// Removals since the filter was created or compacted.
    pub(crate) fn deleted(&self) -> u64 {
        self.deleted
    }

    /// A number that is another one after every change.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.filter.memory_bytes() + size_of::<Self>() - size_of::<CuckooFilter>()) as u64
    }

    /// Inserts items in order, and tells what became of each.
    pub(crate) fn insert(
        &mut self,
        items: &[&[u8]],
        copies: Copies,
        limit: Option<u64>,
    ) -> Vec<Outcome> {
        let step = if limit.is_some() { STEP_UNDER_LIMIT } else { items.len() };
        let mut outcomes = Vec::with_capacity(items.len());
        while outcomes.len() < items.len() {
            let rest = &items[outcomes.len()..];
            let some = &rest[..rest.len().min(step)];
            match limit.filter(|&limit| self.would_exceed(some.len(), limit)) {
                Some(limit) => {
                    let refused = Outcome::Refused(Refusal::KeyMemory { limit });
                    outcomes.resize(outcomes.len() + some.len(), refused);
                }
                None => self.insert_some(some, copies, &mut outcomes),
            }
        }
        if outcomes.contains(&Outcome::Inserted) {
            self.has_changed();
        }
        outcomes
    }

    /// Inserts items up to the first that is refused, or all.
    fn insert_some(&mut self, items: &[&[u8]], copies: Copies, outcomes: &mut Vec<Outcome>) {
        let stopped = match copies {
            // A batch has its preparations.
            _ if items.len() == 1 => return outcomes.push(self.insert_one(items[0], copies)),
            Copies::Add => {
                let result = self.filter.insert_batch(items);
                let done = result.map_or_else(|stopped| stopped.done, |()| items.len());
                outcomes.resize(outcomes.len() + done, Outcome::Inserted);
                result
            }
            Copies::Keep => {
                let mut insertions = Vec::new();
                let result = self.filter.insert_unique_batch(items, &mut insertions);
                outcomes.extend(insertions.into_iter().map(|insertion| match insertion {
                    Insertion::Inserted => Outcome::Inserted,
                    Insertion::AlreadyPresent => Outcome::Present,
                }));
                result
            }
        };
        if let Err(BatchFull { full, .. }) = stopped {
            outcomes.push(Outcome::Refused(self.refusal_of(full)));
        }
    }

    fn insert_one(&mut self, item: &[u8], copies: Copies) -> Outcome {
        let inserted = match copies {
            Copies::Add => self.filter.insert(item).map(|()| Insertion::Inserted),
            Copies::Keep => self.filter.insert_unique(item),
        };
        match inserted {
            Ok(Insertion::Inserted) => Outcome::Inserted,
            Ok(Insertion::AlreadyPresent) => Outcome::Present,
            Err(full) => Outcome::Refused(self.refusal_of(full)),
        }
    }

    fn refusal_of(&self, full: Full) -> Refusal {
        Refusal::of_full(full.reason, u64::from(self.hints.expansion))
    }

    /// Whether room for as many more items would take more than `limit` bytes.
    fn would_exceed(&self, items: usize, limit: u64) -> bool {
        if self.filter.len().saturating_add(items as u64) <= self.filter.capacity() {
            return false;
        }
        let bytes = self.memory_bytes();
        let more = if self.filter.segments() == 1 { bytes } else { GROWTH_STEP.max(bytes / 100) };
        bytes + more > limit
    }

    /// Takes a copy of each item away, and tells of which there was one.
    pub(crate) fn remove(&mut self, items: &[&[u8]]) -> Vec<bool> {
        let mut removed = Vec::new();
        match items {
            &[item] => removed.push(self.filter.remove(item)),
            items => self.filter.remove_batch(items, &mut removed),
        }
        let count = removed.iter().filter(|&&removed| removed).count() as u64;
        if count > 0 {
            self.deleted += count;
            self.has_changed();
        }
        removed
    }

    /// Gives memory back, and forgets how many items were removed; tells whether anything changed.
    pub(crate) fn compact(&mut self) -> bool {
        let before = (self.filter.memory_bytes(), self.deleted);
        self.filter.compact();
        self.deleted = 0;
        let has_changed = before != (self.filter.memory_bytes(), 0);
        if has_changed {
            self.has_changed();
        }
        has_changed
    }

    /// Adds all items of another filter, copies included. Refused, it may be changed: merge into a
    /// copy.
    pub(crate) fn merge(&mut self, other: &Self) -> Result<(), Refusal> {
        self.filter.merge(&other.filter).map_err(|error| match error {
            MergeError::Full(full) => self.refusal_of(full),
            error => Refusal::Merge(error),
        })?;
        self.has_changed();
        Ok(())
    }

    /// Takes on what another filter is, as a change of this one.
    pub(crate) fn replace(&mut self, other: Self) {
        let changes = self.changes.wrapping_add(1);
        *self = Self { changes, ..other };
    }

    /// A copy in memory of its own.
    pub(crate) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut copy = Self::new(self.filter.try_clone()?, self.hints);
        copy.deleted = self.deleted;
        Ok(copy)
    }
}

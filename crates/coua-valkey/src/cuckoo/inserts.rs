//! Inserting into filters of the library: those that grow, and those that forget.

use std::iter;

use coua::window::{Generations, When};
use coua::{CuckooFilter, Full, FullReason, Insertion, KeyHash};

use super::forgotten::Background;
use crate::refusal::Refusal;
use crate::value::outcome::{Outcome, Outcomes};

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

/// A generation may end with an item, where items are the clock.
impl Inserts for Generations {
    fn insert_one(&mut self, hash: KeyHash, copies: Copies) -> Result<Insertion, Full> {
        let (log, hash) = (&mut Background, [hash]);
        let mut insertions = Vec::new();
        let inserted = match copies {
            Copies::Add => self.logged(log).insert_batch(&hash, When::Now),
            Copies::Keep => {
                self.logged(log).insert_unique_batch_into(&hash, When::Now, &mut insertions)
            }
        };
        let inserted = inserted.map(|()| insertions.pop().unwrap_or(Insertion::Inserted));
        inserted.map_err(|stopped| stopped.full)
    }

    fn add_batch(&mut self, hashes: &[KeyHash]) -> usize {
        let added = self.logged(&mut Background).insert_batch(hashes, When::Now);
        added.map_or_else(|stopped| stopped.done, |()| hashes.len())
    }

    fn add_absent_batch(&mut self, hashes: &[KeyHash]) -> Vec<Insertion> {
        let mut insertions = Vec::new();
        let mut log = Background;
        let mut logged = self.logged(&mut log);
        logged.insert_unique_batch_into(hashes, When::Now, &mut insertions).ok();
        insertions
    }
}

/// A filter of the library that keeps a limit of memory.
pub(super) struct Limited<'a, F> {
    pub(super) filter: &'a mut F,
    pub(super) limit: Option<u64>,
    /// What was asked for at creation; 0 if the filter never grows.
    pub(super) expansion: u32,
}

impl<F: Inserts> Limited<'_, F> {
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

impl<F> Limited<'_, F> {
    /// Why an item is refused.
    pub(super) fn refusal_of(&self, full: Full) -> Refusal {
        match self.limit.filter(|_| full.reason == FullReason::MemoryLimit) {
            Some(limit) => Refusal::KeyMemory { limit },
            None => Refusal::of_full(full.reason, u64::from(self.expansion)),
        }
    }
}

fn outcome_of(insertion: Insertion) -> Outcome {
    if insertion.is_new() { Outcome::Inserted } else { Outcome::Present }
}

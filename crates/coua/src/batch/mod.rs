//! Batches: the same answers and the same bytes as one call after the other, at the speed of memory.
//!
//! Two means. Keys are located, and their buckets asked for, long before they are looked at
//! ([`Lookahead`]). And relocations run interleaved: while one waits for its next bucket, others
//! move on ([`Inserter`]).

mod ahead;
mod insert;
mod look;
mod outlook;
mod pending;
mod remove;
mod restore;
mod turns;

use crate::error::{BatchFull, Insertion};
use crate::filter::CuckooFilter;
use crate::hash::{Key, KeyHash};
use crate::prepared::Copies;
use crate::shapes::{ByLevel, in_best_form};
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
use crate::ways::Ways;
use ahead::Lookahead;
use insert::Inserter;
use look::Looker;
use remove::Remover;
use restore::Restorer;

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::arch::{find, find_ways, foresee, look_along_ways};

/// Other processors foresee nothing.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn foresee(
    _filter: &CuckooFilter,
    _keys: &LocatedKeys,
    _copies: Copies,
    _outlook: &mut Outlook,
) -> bool {
    false
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn find(_filter: &CuckooFilter, _keys: &LocatedKeys, _finds: &mut Finds) -> bool {
    false
}

/// And take steps one after the other.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn find_ways(_filter: &CuckooFilter, _ways: &mut Ways) -> bool {
    false
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn look_along_ways(_filter: &CuckooFilter, _ways: &mut Ways) -> bool {
    false
}

pub(crate) use ahead::{LocatedKeys, WIDTH};
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use outlook::Slots;
pub(crate) use outlook::{Finds, Outlook};

impl CuckooFilter {
    /// Puts items that are counted already into slots.
    pub(crate) fn put_back_batch(&mut self, hashes: &[KeyHash]) {
        let only = self.only_shape;
        in_best_form(Restorer { filter: self, hashes }, only);
    }

    /// [`contains`](Self::contains) for many keys: one answer for each, in order. O(keys); 8 bytes a key
    /// are taken for their hashes, unless they are hashes already. So it is with all batches.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut present = Vec::new();
        self.contains_hashes(K::hash_all(keys, self.hasher, &mut Vec::new()), &mut present);
        present
    }

    /// `present` is cleared, then holds an answer for each key.
    pub(crate) fn contains_hashes(&self, hashes: &[KeyHash], present: &mut Vec<bool>) {
        present.clear();
        present.reserve(hashes.len());
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if let Some(vectorized) = crate::arch::Vectorized::of(self)
            && vectorized.can_look()
        {
            vectorized.contains(hashes, present);
            return;
        }
        in_best_form(Looker { filter: self, hashes, present }, self.only_shape);
    }

    /// [`count`](Self::count) for many keys: one number for each, in order. O(keys).
    pub fn count_batch<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        let mut counts = Vec::new();
        self.count_hashes(K::hash_all(keys, self.hasher, &mut Vec::new()), &mut counts);
        counts
    }

    /// `counts` is cleared, then holds a number for each key.
    pub(crate) fn count_hashes(&self, hashes: &[KeyHash], counts: &mut Vec<u64>) {
        counts.clear();
        counts.reserve(hashes.len());
        let mut ahead = Lookahead::new(self, ByLevel, hashes, 0);
        while let Some((_, probe)) = ahead.next(self, ByLevel) {
            counts.push(self.tally(&probe));
        }
    }

    /// [`insert`](Self::insert) for many keys, repeats included. O(keys) expected, growth included.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room: it tells how many are in.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<(), BatchFull> {
        let mut space = Vec::new();
        self.insert_all(K::hash_all(keys, self.hasher, &mut space), Copies::Add, &mut [])
    }

    /// [`insert_unique`](Self::insert_unique) for many keys: one answer for each, in order. Of repeats
    /// inside the batch the first is inserted. O(keys) expected, growth included.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room: the keys before it were processed. To learn
    /// their answers then, call [`insert_unique_batch_into`](Self::insert_unique_batch_into).
    ///
    /// ```
    /// use coua::Insertion::{AlreadyPresent, Inserted};
    /// let mut filter = coua::CuckooFilter::new();
    /// assert_eq!(filter.insert_unique_batch(&["a", "b", "a"])?, [Inserted, Inserted, AlreadyPresent]);
    /// assert_eq!(filter.contains_batch(&["a", "b", "c"]), [true, true, false]);
    /// assert_eq!(filter.remove_batch(&["a", "a"]), [true, false]);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn insert_unique_batch<K: Key>(&mut self, keys: &[K]) -> Result<Vec<Insertion>, BatchFull> {
        let mut outcomes = Vec::new();
        self.insert_unique_batch_into(keys, &mut outcomes).map(|()| outcomes)
    }

    /// [`insert_unique_batch`](Self::insert_unique_batch) into a vector that is kept: `outcomes` is
    /// cleared and then holds one answer for each key, also if the batch is refused.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room: from there on all answers are
    /// [`Insertion::Refused`].
    pub fn insert_unique_batch_into<K: Key>(
        &mut self,
        keys: &[K],
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        outcomes.clear();
        outcomes.resize(keys.len(), Insertion::AlreadyPresent);
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.hasher, &mut space);
        let result = self.insert_all(hashes, Copies::Keep, outcomes);
        if let Err(stopped) = &result {
            outcomes[stopped.done..].fill(Insertion::Refused);
        }
        result
    }

    /// Inserts keys and notes which of them were inserted, unless `outcomes` is empty.
    pub(crate) fn insert_all(
        &mut self,
        hashes: &[KeyHash],
        copies: Copies,
        outcomes: &mut [Insertion],
    ) -> Result<(), BatchFull> {
        Inserter::new(self, hashes, copies, outcomes).insert_all()
    }

    /// [`remove`](Self::remove) for many keys: one answer for each, in order. O(keys).
    pub fn remove_batch<K: Key>(&mut self, keys: &[K]) -> Vec<bool> {
        let mut removed = Vec::new();
        let mut space = Vec::new();
        let hashes = K::hash_all(keys, self.hasher, &mut space);
        self.remove_hashes(hashes, &mut removed);
        removed
    }

    /// `removed` is cleared, then holds an answer for each key.
    pub(crate) fn remove_hashes(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        removed.clear();
        removed.reserve(hashes.len());
        let only = self.only_shape;
        in_best_form(Remover { filter: self, hashes, removed }, only);
    }
}

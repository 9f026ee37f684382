//! Batches: the same answers and the same bytes as one call after the other, at the speed of memory.
//!
//! Two means. Keys are located, and their buckets prefetched, long before they are served
//! ([`Prefetcher`]). And inserts take two passes, so that eviction chains run interleaved: while one waits for
//! its next bucket, others step ([`insert`]).

mod chains;
mod deferred;
mod insert;
mod remove;

use crate::error::{BatchFull, Insertion};
use crate::filter::{CuckooFilter, IfPresent};
use crate::hash::{Key, KeyHash};
use crate::kernel::{AnyLevel, Levels, with_levels};
use crate::segments::Prefetcher;
use crate::simd::{Isa, Kernel, with_bit_instructions};
use remove::Remove;

impl CuckooFilter {
    /// [`contains`](Self::contains) for many keys: one answer for each, in order. O(keys); 8 bytes a key
    /// are taken for their hashes, unless they are hashes already. So it is with all batches.
    pub fn contains_batch<K: Key>(&self, keys: &[K]) -> Vec<bool> {
        let mut present = Vec::new();
        self.contains_hashes(K::hash_all(keys, self.hasher(), &mut Vec::new()), &mut present);
        present
    }

    /// `present` is cleared, then holds an answer for each key.
    pub(crate) fn contains_hashes(&self, hashes: &[KeyHash], present: &mut Vec<bool>) {
        present.clear();
        present.resize(hashes.len(), false);
        if !self.contains_in_vectors(hashes, present) {
            with_bit_instructions(Lookup { filter: self, hashes, present });
        }
    }

    /// [`count`](Self::count) for many keys: one number for each, in order. O(keys).
    pub fn count_batch<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        let mut counts = Vec::new();
        self.count_hashes(K::hash_all(keys, self.hasher(), &mut Vec::new()), &mut counts);
        counts
    }

    /// `counts` is cleared, then holds a number for each key.
    pub(crate) fn count_hashes(&self, hashes: &[KeyHash], counts: &mut Vec<u64>) {
        counts.clear();
        counts.reserve(hashes.len());
        let mut prefetcher = Prefetcher::new(self.as_segments(), AnyLevel, hashes, 0);
        while let Some(place) = prefetcher.next(self.as_segments(), AnyLevel) {
            counts.push(self.count_at(&place));
        }
    }

    /// [`insert`](Self::insert) for many keys, repeats included. O(keys) expected, growth included.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room: it tells how many are in.
    pub fn insert_batch<K: Key>(&mut self, keys: &[K]) -> Result<(), BatchFull> {
        let mut space = Vec::new();
        self.insert_all(K::hash_all(keys, self.hasher(), &mut space), IfPresent::AddCopy, &mut [])
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
        let hashes = K::hash_all(keys, self.hasher(), &mut space);
        let result = self.insert_all(hashes, IfPresent::Skip, outcomes);
        if let Err(stopped) = &result {
            outcomes[stopped.done..].fill(Insertion::Refused);
        }
        result
    }

    /// [`remove`](Self::remove) for many keys: one answer for each, in order. O(keys).
    pub fn remove_batch<K: Key>(&mut self, keys: &[K]) -> Vec<bool> {
        let mut removed = Vec::new();
        self.remove_hashes(K::hash_all(keys, self.hasher(), &mut Vec::new()), &mut removed);
        removed
    }

    /// `removed` is cleared, then holds an answer for each key.
    pub(crate) fn remove_hashes(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        removed.clear();
        removed.reserve(hashes.len());
        with_bit_instructions(Remove { filter: self, hashes, removed });
    }
}

/// A batch of keys to be looked up, in segments of several levels or slot by slot.
struct Lookup<'a> {
    filter: &'a CuckooFilter,
    hashes: &'a [KeyHash],
    present: &'a mut [bool],
}

impl Kernel for Lookup<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        with_levels!(self.filter.as_segments().uniform().copied(), |levels| self.look_up(levels));
    }
}

impl Lookup<'_> {
    #[inline(always)]
    fn look_up(self, levels: impl Levels) {
        let segments = self.filter.as_segments();
        let mut prefetcher = Prefetcher::new(segments, levels, self.hashes, 0);
        for present in self.present {
            let Some(place) = prefetcher.next(segments, levels) else { break };
            *present = self.filter.contains_at(levels, &place);
        }
    }
}

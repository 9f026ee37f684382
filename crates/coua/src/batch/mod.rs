//! Batches: the same answers and the same bytes as one call after the other, at the speed of memory.
//!
//! Two means. Keys are located, and their buckets prefetched, long before they are served
//! ([`Prefetcher`]). And eviction chains run interleaved: while one waits for its next bucket, others
//! step ([`InsertBatch`]).

mod active;
mod chains;
mod insert;
mod lookup;
mod remove;

use crate::KeyHash;
use crate::cuckoo::{CuckooFilter, Prefetcher};
use crate::error::{BatchFull, Insertion};
use crate::kernel::{AnyLevel, IfPresent, dispatch};
use insert::InsertBatch;
use lookup::Lookup;
use remove::Remove;

impl CuckooFilter {
    fn hash_all<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<KeyHash> {
        let hasher = self.hasher();
        keys.iter().map(|key| hasher.hash(key.as_ref())).collect()
    }

    /// [`contains`](Self::contains) for many keys: `present` is cleared and then holds one answer
    /// for each, in order. O(keys); 8 bytes a key are taken for their hashes.
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// filter.insert("a")?;
    /// let mut present = Vec::new();
    /// filter.contains_batch(&["a", "b"], &mut present);
    /// assert_eq!(present, [true, false]);
    /// # Ok::<(), coua::Full>(())
    /// ```
    pub fn contains_batch<K: AsRef<[u8]>>(&self, keys: &[K], present: &mut Vec<bool>) {
        self.contains_hash_batch(&self.hash_all(keys), present);
    }

    /// [`contains_batch`](Self::contains_batch) for keys that are hashed already. O(keys).
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// let mut present = Vec::new();
    /// CuckooFilter::new().contains_hash_batch(&[KeyHash::from_u64(1)], &mut present);
    /// assert_eq!(present, [false]);
    /// ```
    pub fn contains_hash_batch(&self, hashes: &[KeyHash], present: &mut Vec<bool>) {
        present.clear();
        present.reserve(hashes.len());
        if !self.contains_by_vectors(hashes, present) {
            dispatch(Lookup { filter: self, hashes, present }, self.uniform());
        }
    }

    /// [`count`](Self::count) for many keys: `counts` is cleared and then holds one number for each.
    /// O(keys); 8 bytes a key are taken for their hashes.
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// filter.insert_batch(&["a", "a", "b"])?;
    /// let mut counts = Vec::new();
    /// filter.count_batch(&["a", "b", "c"], &mut counts);
    /// assert_eq!(counts, [2, 1, 0]);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn count_batch<K: AsRef<[u8]>>(&self, keys: &[K], counts: &mut Vec<u64>) {
        self.count_hash_batch(&self.hash_all(keys), counts);
    }

    /// [`count_batch`](Self::count_batch) for keys that are hashed already. O(keys).
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// let mut counts = Vec::new();
    /// CuckooFilter::new().count_hash_batch(&[KeyHash::from_u64(1)], &mut counts);
    /// assert_eq!(counts, [0]);
    /// ```
    pub fn count_hash_batch(&self, hashes: &[KeyHash], counts: &mut Vec<u64>) {
        counts.clear();
        counts.reserve(hashes.len());
        let mut prefetcher = Prefetcher::new(self, AnyLevel, hashes, 0);
        while let Some((_, probe)) = prefetcher.next(self, AnyLevel) {
            counts.push(self.count_at(&probe));
        }
    }

    /// [`insert`](Self::insert) for many keys, repeats included. O(keys) expected, growth included; 8
    /// bytes a key are taken for their hashes.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room: it tells how many are in.
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// filter.insert_batch(&["a", "b"])?;
    /// assert_eq!(filter.len(), 2);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn insert_batch<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<(), BatchFull> {
        self.insert_hash_batch(&self.hash_all(keys))
    }

    /// [`insert_batch`](Self::insert_batch) for keys that are hashed already. O(keys) expected.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first key without room.
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// CuckooFilter::new().insert_hash_batch(&[KeyHash::from_u64(1)])?;
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn insert_hash_batch(&mut self, hashes: &[KeyHash]) -> Result<(), BatchFull> {
        self.insert_all(hashes, IfPresent::AddCopy, &mut [])
    }

    /// [`insert_unique`](Self::insert_unique) for many keys: of repeats inside the batch the first
    /// is inserted. `outcomes` is cleared and then holds one answer for each key processed. O(keys)
    /// expected, growth included; 8 bytes a key are taken for their hashes.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room.
    ///
    /// ```
    /// # use coua::Insertion::{AlreadyPresent, Inserted};
    /// # let mut filter = coua::CuckooFilter::new();
    /// let mut outcomes = Vec::new();
    /// filter.insert_unique_batch(&["a", "b", "a"], &mut outcomes)?;
    /// assert_eq!(outcomes, [Inserted, Inserted, AlreadyPresent]);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn insert_unique_batch<K: AsRef<[u8]>>(
        &mut self,
        keys: &[K],
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        self.insert_unique_hash_batch(&self.hash_all(keys), outcomes)
    }

    /// [`insert_unique_batch`](Self::insert_unique_batch) for keys that are hashed already. O(keys)
    /// expected.
    ///
    /// # Errors
    ///
    /// [`BatchFull`] at the first absent key without room.
    ///
    /// ```
    /// # use coua::{CuckooFilter, Insertion, KeyHash};
    /// let mut outcomes = Vec::new();
    /// CuckooFilter::new().insert_unique_hash_batch(&[KeyHash::from_u64(1)], &mut outcomes)?;
    /// assert_eq!(outcomes, [Insertion::Inserted]);
    /// # Ok::<(), coua::BatchFull>(())
    /// ```
    pub fn insert_unique_hash_batch(
        &mut self,
        hashes: &[KeyHash],
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        outcomes.clear();
        outcomes.resize(hashes.len(), Insertion::AlreadyPresent);
        let result = self.insert_all(hashes, IfPresent::Skip, outcomes);
        if let Err(stopped) = &result {
            outcomes.truncate(stopped.done);
        }
        result
    }

    /// Inserts keys and notes which of them were inserted, unless `outcomes` is empty.
    pub(crate) fn insert_all(
        &mut self,
        hashes: &[KeyHash],
        if_present: IfPresent,
        outcomes: &mut [Insertion],
    ) -> Result<(), BatchFull> {
        InsertBatch::new(self, hashes, if_present, outcomes).insert_all()
    }

    /// [`remove`](Self::remove) for many keys: `removed` is cleared and then holds one answer each.
    /// O(keys); 8 bytes a key are taken for their hashes.
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// filter.insert("a")?;
    /// let mut removed = Vec::new();
    /// filter.remove_batch(&["a", "a"], &mut removed);
    /// assert_eq!(removed, [true, false]);
    /// # Ok::<(), coua::Full>(())
    /// ```
    pub fn remove_batch<K: AsRef<[u8]>>(&mut self, keys: &[K], removed: &mut Vec<bool>) {
        self.remove_hash_batch(&self.hash_all(keys), removed);
    }

    /// [`remove_batch`](Self::remove_batch) for keys that are hashed already. O(keys).
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// let mut removed = Vec::new();
    /// CuckooFilter::new().remove_hash_batch(&[KeyHash::from_u64(1)], &mut removed);
    /// assert_eq!(removed, [false]);
    /// ```
    pub fn remove_hash_batch(&mut self, hashes: &[KeyHash], removed: &mut Vec<bool>) {
        removed.clear();
        removed.reserve(hashes.len());
        let uniform = self.uniform();
        dispatch(Remove { filter: self, hashes, removed }, uniform);
    }
}

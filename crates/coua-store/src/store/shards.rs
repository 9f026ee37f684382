//! A store's filter in shards, so that several threads insert at the same time.

use std::mem;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use coua::{CuckooFilter, SharedCuckooFilter};

use super::Store;

/// The filter of a store as long as it is [divided](crate::Store::divide).
#[derive(Debug, Default)]
pub struct Divided(RwLock<Option<SharedCuckooFilter>>);

impl Divided {
    /// The filter; none if it is not divided.
    pub fn filter(&self) -> RwLockReadGuard<'_, Option<SharedCuckooFilter>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Option<SharedCuckooFilter>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Where the filter is while it is divided.
    pub fn divided(&self) -> Arc<Divided> {
        self.divided.clone()
    }

    /// Divides the filter by the first `bits` bits of the hash, if it can then take so many keys in one batch. Whoever
    /// inserts them [notes](Self::note_inserted) them before anything else is done with the store. Until the next
    /// change or commit, which joins it again, [`filter`](Self::filter) has no items. O(segments), no copying.
    ///
    /// ```
    /// use coua::{CuckooFilter, KeyHash};
    /// use coua_store::Store;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("seen.coua");
    /// let mut store = Store::create(&path, || CuckooFilter::with_capacity(1_000_000, 1e-6).unwrap())?;
    /// assert!(store.divide(1, 2));
    /// let hashes = [1, u64::MAX].map(KeyHash::from_u64);
    /// let divided = store.divided();
    /// if let Some(filter) = &*divided.filter() {
    ///     // Each thread takes the keys of a shard.
    ///     filter.insert_unique_batch(&hashes)?;
    /// }
    /// store.note_inserted(hashes);
    /// store.commit()?;
    /// assert_eq!(store.filter().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn divide(&mut self, bits: u32, keys: usize) -> bool {
        self.join();
        let Some(filter) = self.filter.unbounded_mut().filter(|_| !self.residence.is_mapped) else {
            return false;
        };
        // Without memory for what stands in the filter's place meanwhile, one thread goes on.
        let Ok(placeholder) = CuckooFilter::builder().build() else { return false };
        match SharedCuckooFilter::divide(mem::replace(filter, placeholder), bits) {
            Ok(shards) => {
                let accepts = shards.accepted_keys() >= keys;
                *self.divided.write() = Some(shards);
                if !accepts {
                    self.join();
                }
                accepts
            }
            Err(whole) => {
                *filter = *whole;
                false
            }
        }
    }

    /// Joins a divided filter. O(segments).
    pub fn join(&mut self) {
        let divided = self.divided.write().take();
        if let Some(shards) = divided {
            self.filter = shards.into_filter().into();
        }
    }
}

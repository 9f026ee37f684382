//! A store's filter in shards, which several threads change at the same time.

use std::mem;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use coua::CuckooFilter;
use coua::shards::{DividedFilter, Division};

use super::Store;

/// The filter of a store as long as it is [divided](crate::Store::divide).
#[derive(Debug, Default)]
pub struct Divided(RwLock<Option<DividedFilter>>);

impl Divided {
    /// The filter in shards; none if it is not divided.
    pub fn filter(&self) -> RwLockReadGuard<'_, Option<DividedFilter>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Option<DividedFilter>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Where the filter is while it is divided.
    pub fn divided(&self) -> Arc<Divided> {
        self.divided.clone()
    }

    /// Whether the filter is divided.
    pub fn is_divided(&self) -> bool {
        self.divided.filter().is_some()
    }

    /// Divides the filter, and returns how many keys may then be inserted ([`DividedFilter::accepted_keys`]); none if it cannot be divided. Until the next change of another kind, which joins
    /// it again, [`filter`](Self::filter) has no items. O(segments), no copying.
    ///
    /// Threads may change the shards ahead of what the store is told by [`note_changes`](Self::note_changes). A commit writes to the log
    /// what was noted. Before one that [takes the filter](Self::commit_takes_filter), and before
    /// [`join`](Self::join), all that was changed must be noted.
    ///
    /// ```
    /// use coua::shards::Division;
    /// use coua::window::Change;
    /// use coua::{CuckooFilter, IfPresent, KeyHash};
    /// use coua_store::Store;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("seen.coua");
    /// let mut store = Store::create(&path, || CuckooFilter::with_capacity(1_000_000, 1e-6).unwrap())?;
    /// assert!(store.divide(Division::new(1)).is_some_and(|keys| keys >= 2));
    /// let hashes = [1, 1 << 63].map(KeyHash::from_u64);
    /// if let Some(divided) = &*store.divided().filter() {
    ///     // Each thread takes the keys of a shard.
    ///     divided.shards().shard(0).verbs().insert_one(KeyHash::from_u64(1 << 1), IfPresent::AddCopy)?;
    ///     divided.shards().shard(1).verbs().insert_one(KeyHash::from_u64(0), IfPresent::AddCopy)?;
    /// }
    /// store.note_changes(Change::Insert, &hashes, |_| true);
    /// store.commit()?;
    /// store.join();
    /// assert_eq!(store.filter().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn divide(&mut self, division: Division) -> Option<u64> {
        self.join();
        let filter = self.filter.unbounded_mut().filter(|_| self.residence.mapped().is_none())?;
        // Without memory for a placeholder filter, one thread continues.
        let placeholder = CuckooFilter::builder().build().ok()?;
        match DividedFilter::divide(mem::replace(filter, placeholder), division) {
            Ok(divided) => {
                let accepted_keys = divided.accepted_keys();
                *self.divided.write() = Some(divided);
                Some(accepted_keys)
            }
            Err(whole) => {
                *filter = *whole;
                None
            }
        }
    }

    /// Joins a divided filter. O(segments).
    pub fn join(&mut self) {
        let divided = self.divided.write().take();
        if let Some(divided) = divided {
            self.filter = divided.join().into();
        }
    }
}

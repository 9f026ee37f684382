//! A filter in shards, which several threads ask.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use coua::SharedCuckooFilter;

/// The filter of a store as long as it is [divided](crate::Store::divide).
#[derive(Debug, Default)]
pub struct Divided(pub(crate) RwLock<Option<SharedCuckooFilter>>);

impl Divided {
    /// The filter; none if it is not divided.
    pub fn filter(&self) -> RwLockReadGuard<'_, Option<SharedCuckooFilter>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

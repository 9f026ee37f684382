//! A shard and its lock.

use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::filter::CuckooFilter;

/// A part of the filter, which one thread at a time may change.
///
/// A lock's words change all the time: no two of them on a cache line, nor on the neighbor that
/// processors fetch with it.
#[repr(align(128))]
pub(crate) struct LockedShard(RwLock<CuckooFilter>);

/// Whether to wait for a lock that another thread holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    Skip,
    Wait,
}

/// Only this crate's code runs under a lock (keys are hashed before), and it does not panic.
const UNPOISONED: &str = "no operation panics while it holds a shard";

impl LockedShard {
    pub(crate) fn new(filter: CuckooFilter) -> Self {
        Self(RwLock::new(filter))
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, CuckooFilter> {
        self.0.read().expect(UNPOISONED)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, CuckooFilter> {
        self.0.write().expect(UNPOISONED)
    }

    pub(crate) fn read_unless(&self, busy: Busy) -> Option<RwLockReadGuard<'_, CuckooFilter>> {
        match busy {
            Busy::Skip => self.0.try_read().ok(),
            Busy::Wait => Some(self.read()),
        }
    }

    pub(crate) fn write_unless(&self, busy: Busy) -> Option<RwLockWriteGuard<'_, CuckooFilter>> {
        match busy {
            Busy::Skip => self.0.try_write().ok(),
            Busy::Wait => Some(self.write()),
        }
    }

    pub(crate) fn into_filter(self) -> CuckooFilter {
        self.0.into_inner().expect(UNPOISONED)
    }
}

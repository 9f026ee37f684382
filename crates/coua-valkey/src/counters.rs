//! What the module counts for monitors: `INFO coua` tells it.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that changes as the module works.
pub(crate) struct Counter(AtomicU64);

impl Counter {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// The number now.
    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds to it.
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

/// Items that were inserted since the module was loaded.
pub(crate) static INSERTED: Counter = Counter::new();
/// Items that were removed.
pub(crate) static REMOVED: Counter = Counter::new();
/// Items that a filter has refused: it was full, or there was no memory for it.
pub(crate) static REFUSED: Counter = Counter::new();
/// How often a filter has taken more memory to hold more items.
pub(crate) static GROWTHS: Counter = Counter::new();

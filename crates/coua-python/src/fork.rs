//! Noticing that this process is a copy of the one that made a filter.
//!
//! A copy has the locks of all threads but none of the other threads, and it shares the lock of an open
//! file with its parent.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;

static FORKS: AtomicU64 = AtomicU64::new(0);

/// Called in every new process that is a copy of this one.
#[pyfunction]
#[pyo3(name = "_after_fork")]
pub(crate) fn after_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// A process, as the number of forks that lead to it.
#[derive(Debug)]
pub(crate) struct Process(AtomicU64);

impl Process {
    pub(crate) fn this() -> Self {
        Self(AtomicU64::new(FORKS.load(Ordering::Relaxed)))
    }

    #[inline]
    pub(crate) fn is_this(&self) -> bool {
        self.0.load(Ordering::Relaxed) == FORKS.load(Ordering::Relaxed)
    }

    /// From now on it is this one.
    pub(crate) fn adopt(&self) {
        self.0.store(FORKS.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

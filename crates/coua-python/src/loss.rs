//! Keys that a removal of another key takes away.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

/// With this many bits of a key's hash or more, no two keys are confused.
const EXACT: f64 = 64.0;

/// Whether a filter has a rate and was filled by `add`. That stores nothing for a key that it takes for another one, so
/// removing the other one loses both.
#[derive(Debug)]
pub(crate) struct Loss {
    has_rate: bool,
    is_possible: AtomicBool,
    has_warned: AtomicBool,
}

impl Loss {
    /// The check for a filter that remembers `hash_bits` bits of a key's hash.
    pub(crate) fn new(hash_bits: f64) -> Self {
        let has_rate = hash_bits < EXACT;
        let [is_possible, has_warned] = [false; 2].map(AtomicBool::new);
        Self { has_rate, is_possible, has_warned }
    }

    /// Keys are added only if they are absent.
    #[inline]
    pub(crate) fn note_add(&self) {
        if self.has_rate {
            self.is_possible.store(true, Ordering::Relaxed);
        }
    }

    /// Warns before the first removal that may lose keys.
    #[inline]
    pub(crate) fn warn(&self, py: Python<'_>) -> PyResult<()> {
        if self.is_possible.load(Ordering::Relaxed)
            && !self.has_warned.swap(true, Ordering::Relaxed)
        {
            return warn_of_loss(py);
        }
        Ok(())
    }
}

#[cold]
fn warn_of_loss(py: Python<'_>) -> PyResult<()> {
    let text = c"this filter has a rate and was filled by add, which stores nothing for a key that looks like another; \
                 discarding one of them loses both. Fill it with insert, or create a filter without a rate";
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 1)
}

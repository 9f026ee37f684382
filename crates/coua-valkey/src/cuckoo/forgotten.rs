//! What becomes of generations that a window has left.

use coua::window::{Change, ChangeLog};
use coua::{CuckooFilter, KeyHash};

use crate::value::give_back;

/// Drops them where that holds up nobody.
pub(super) struct Background;

impl ChangeLog for Background {
    fn clock_set(&mut self, _clock: u64) {}

    fn changed(&mut self, _change: Change, _generation: u64, _hash: KeyHash) {}

    fn forgotten(&mut self, filters: Vec<CuckooFilter>) {
        let bytes = filters.iter().map(CuckooFilter::memory_bytes).sum();
        give_back(filters, bytes);
    }
}

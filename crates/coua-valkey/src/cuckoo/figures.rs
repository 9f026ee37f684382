//! What a filter tells about itself.

use coua::CuckooFilter;
use coua::window::{Generations, Window};

/// Figures of a filter.
pub(crate) struct Figures {
    /// Places for fingerprints.
    pub(crate) slots: u64,
    /// Probability of a wrong "there", now.
    pub(crate) rate: f64,
    /// Bits of a hash that are remembered.
    pub(crate) hash_bits: f64,
    /// Slots in use, 0..=1.
    pub(crate) load: f64,
    /// If it forgets: its window, and its clock.
    pub(crate) window: Option<(Window, u64)>,
    /// Filters that a question meets.
    pub(crate) filters: u64,
}

impl Figures {
    /// Of a filter that never forgets.
    pub(super) fn of(filter: &CuckooFilter) -> Self {
        Self {
            slots: filter.slots(),
            rate: filter.false_positive_rate(),
            hash_bits: filter.hash_bits(),
            load: filter.load_factor(),
            window: None,
            filters: 1,
        }
    }

    /// Of generations.
    pub(super) fn of_generations(filter: &Generations) -> Self {
        Self {
            slots: filter.slots(),
            rate: filter.false_positive_rate(),
            hash_bits: filter.hash_bits(),
            load: filter.load_factor(),
            window: filter.window().map(|window| (window, filter.clock())),
            filters: filter.generations().count() as u64,
        }
    }
}

//! Counts of a filter's changes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::server::random_bytes;

/// The initial count of a filter's changes: a different number for each filter that is created or
/// read, so that a dump cannot continue in another filter than it began in.
pub(crate) fn first_change() -> u16 {
    /// Odd and without pattern: the numbers of two filters differ in the bits that positions show.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    static RANDOM: OnceLock<u64> = OnceLock::new();
    static FILTERS: AtomicU64 = AtomicU64::new(0);
    let number = FILTERS.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP);
    let random = RANDOM.get_or_init(|| u64::from_le_bytes(random_bytes()));
    // The highest bits of a product are the most varied.
    (number.wrapping_add(*random) >> 48) as u16
}

//! The module's own cuckoo filters.

mod compaction;
mod cuckoo_image;
mod cuckoo_request;
mod hash_list;
mod memory;
mod native_cuckoo;
mod notes;
mod outcome;
mod sorted_hashes;
mod table;
#[cfg(test)]
mod tests;
mod windowed;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::server::random_bytes;
pub(crate) use compaction::Compaction;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) use cuckoo_image::checksum;
pub(crate) use cuckoo_image::{begins_image, is_begun};
pub(crate) use cuckoo_request::{CuckooRequest, Defaults};
pub(crate) use memory::{MemoryCharge, release};
pub(crate) use native_cuckoo::NativeCuckoo;
pub(crate) use outcome::Outcome;
pub(crate) use table::Figures;
pub(crate) use windowed::milliseconds;

/// The initial count of a filter's changes: a different number for each filter that is created or
/// read, so that a dump cannot continue in another filter than it began in.
fn first_change() -> u16 {
    /// Odd and without pattern: the numbers of two filters differ in the bits that positions show.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    static RANDOM: OnceLock<u64> = OnceLock::new();
    static FILTERS: AtomicU64 = AtomicU64::new(0);
    let number = FILTERS.fetch_add(1, Relaxed).wrapping_mul(STEP);
    let random = RANDOM.get_or_init(|| u64::from_le_bytes(random_bytes()));
    // The highest bits of a product are the most varied.
    (number.wrapping_add(*random) >> 48) as u16
}

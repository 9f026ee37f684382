//! All formulas from items and rate to geometry and bytes.
//!
//! The law of the cuckoo filter: a filter that distinguishes C hashes and holds n items answers "yes"
//! for an absent key with probability n / C, whatever its load and bucket size. C is the number of
//! buckets times the number of fingerprints, or 2^bits if a number of hash bits was set.

mod cuckoo;
pub mod peers;

pub use cuckoo::CuckooPlan;
pub(crate) use cuckoo::{
    GROWING_LOAD, GROWING_SEGMENT_SLOTS, SPLIT_LOAD, check_rate, design_load, exact, fitted,
    prefix, too_small,
};

/// Memory of one entry of the overflow table: 24 bytes, in nodes of a tree that are two thirds full, and pointers.
pub(crate) const OVERFLOW_ENTRY_BYTES: usize = 40;
/// Memory of one entry that only counts copies: 12 bytes, in pages that are nine tenths full, and their directory.
pub(crate) const COPIES_ENTRY_BYTES: usize = 16;
/// The number of hashes: 2^64.
const HASH_VALUES: f64 = 18_446_744_073_709_551_616.0;

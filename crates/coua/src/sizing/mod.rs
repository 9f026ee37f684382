//! From items and rate to geometry and bytes: all formulas.
//!
//! The law of the cuckoo filter: a filter that tells C hashes apart and holds n items answers "yes"
//! for an absent key with probability n / C, whatever its load and bucket size. C is the number of
//! buckets times the number of fingerprints, or 2^bits where a number of hash bits was asked for.

pub mod bloom;
mod cuckoo;
pub mod peers;

pub use cuckoo::CuckooPlan;
pub(crate) use cuckoo::{
    GROWING_SEGMENT_SLOTS, check_hash_bits, check_rate, check_slots, design_load, exact, fitted,
    loads, prefix, table_bytes, too_small,
};

/// Memory of one entry of the overflow table: 24 bytes, in nodes of a tree that are two thirds full, and pointers.
pub(crate) const OVERFLOW_ENTRY_BYTES: usize = 40;
/// Memory of one entry there that counts copies alone: 12 bytes, in pages that are nine tenths full, and what leads to
/// these.
pub(crate) const COPIES_ENTRY_BYTES: usize = 16;
/// Different hashes there are: 2^64.
const HASH_VALUES: f64 = 18_446_744_073_709_551_616.0;

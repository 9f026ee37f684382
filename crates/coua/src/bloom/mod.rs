//! Bloom filters: sets of bits that answer "certainly absent" or "probably present".
//!
//! A key sets k of m bits, chosen by its hash, and counts as present if all its k bits are
//! set. So inserted keys are always found, and other keys sometimes, if several keys together have set
//! their bits (Bloom 1970). Keys cannot be removed, because a bit may belong to many keys.
//!
//! | type | use |
//! |---|---|
//! | [`BloomFilter`] | any size and rate, shared by threads |
//! | [`BlockedBloomFilter`] | speed: one cache line per key; exchange with Parquet files |
//! | [`classic`] | textbook filters: custom hash functions, and removal at four times the memory |
//!
//! A key passes through `probe` (hash to positions) and `bits` (the bit array), or through
//! `burst` and `block` in the blocked filter. Sizes and rates come from [`crate::sizing::bloom`].

mod batch;
mod bits;
mod block;
mod blocked;
mod burst;
pub mod classic;
mod error;
mod filter;
mod probe;
mod saved;

pub use crate::sizing::bloom::BloomBuildError;
pub use blocked::BlockedBloomFilter;
pub use error::{BloomLoadError, BloomMergeError};
pub use filter::BloomFilter;

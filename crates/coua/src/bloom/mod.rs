//! Bloom filters: sets of bits that answer "certainly absent" or "probably present".
//!
//! A key sets k bits of m, chosen by its hash; a key is taken for present if all its k bits are
//! set, so inserted keys are always found and others sometimes are, when their bits were set by
//! several others together (Bloom 1970). Nothing can be removed, for a bit may belong to many keys.
//!
//! | type | is for |
//! |---|---|
//! | [`BloomFilter`] | any size and rate, shared by threads |
//! | [`BlockedBloomFilter`] | speed: one cache line per key; exchange with Parquet files |
//! | [`classic`] | hash functions of one's own, and removal at four times the memory: the textbooks' filters |
//!
//! A key passes through `probe` (hash to positions) and `bits` (what is set there), or through
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

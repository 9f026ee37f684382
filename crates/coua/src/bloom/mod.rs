//! Bloom filters: sets of bits that say "certainly not" or "probably yes".
mod batch;
mod bits;
mod block;
mod blocked;
mod error;
mod filter;
mod probe;
pub use blocked::BlockedBloomFilter;
pub use error::{BloomBuildError, BloomLoadError, BloomMergeError};
pub use filter::BloomFilter;

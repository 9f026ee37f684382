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

/// What an insert says that found something `new` to do, or nothing.
#[inline]
fn outcome_of(new: bool) -> crate::Insertion {
    if new {
        crate::Insertion::Inserted
    } else {
        crate::Insertion::AlreadyPresent
    }
}

//! Filters that answer "have I seen this before?" for billions of items in a few bytes each.
//!
//! [`CuckooFilter`] is the one to take: it removes, counts, grows, merges and saves. [`Generations`] of
//! it forget by age. The Bloom filters are for insert-only sets and for exchange with other systems.
//!
//! ```
//! use coua::{CuckooFilter, Insertion};
//!
//! let mut seen = CuckooFilter::new();
//! let fresh: Vec<&str> = ["a", "b", "a", "c", "b"]
//!     .into_iter()
//!     .filter(|line| seen.insert_unique(line) == Ok(Insertion::Inserted))
//!     .collect();
//! assert_eq!(fresh, ["a", "b", "c"]);
//! ```
//!
//! A key passes each layer once, downwards: bytes -> [`KeyHash`] -> segment, buckets and fingerprint -> words
//! in memory -> answer. `ARCHITECTURE.md` has the map.

mod batch;
mod bloom;
mod build;
mod builder;
mod convert;
mod cuckoo;
mod error;
mod hash;
mod kernel;
mod merge;
mod shared;
pub mod sizing;
#[cfg(test)]
mod smoke;
mod snapshot;
mod table;
mod window;

pub use bloom::{
    BlockedBloomFilter, BloomBuildError, BloomFilter, BloomLoadError, BloomMergeError,
    ClassicBloomFilter, CountingBloomFilter, HashFunction, ScalableBloomFilter,
};
pub use builder::CuckooFilterBuilder;
pub use convert::Conversion;
pub use cuckoo::{CuckooFilter, WhenFull};
pub use error::{
    BatchFull, BuildError, ConvertError, Full, FullReason, Insertion, MergeError, OutOfMemory,
};
pub use hash::{HashAlgorithm, KeyHash, KeyHasher};
pub use kernel::Layout;
pub use shared::{BatchRefused, SharedCuckooFilter};
pub use snapshot::{LoadError, Part};
pub use table::avoid_huge_pages;
pub use window::{
    Change, Clock, Generation, Generations, Ledger, When, Window, WindowError, WindowMergeError,
};

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
//! A key passes each module once, downwards: bytes -> [`KeyHash`] -> geometry (segment, buckets,
//! fingerprint) -> table (words) -> bucket (slots in a word) -> answer. `ARCHITECTURE.md` has the map.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod arch;
mod batch;
mod bloom;
mod bucket;
mod build;
mod builder;
mod convert;
mod describe;
mod directory;
mod error;
mod filter;
mod geometry;
mod growth;
mod hash;
pub mod inspect_file;
mod merge;
mod pair;
mod parts;
mod prepared;
mod rebuild;
mod relocate;
mod shapes;
mod shared;
mod side;
pub mod sizing;
#[cfg(test)]
mod smoke;
mod snapshot;
mod split;
mod table;
mod ways;
mod window;

pub use bloom::{
    BlockedBloomFilter, BloomBuildError, BloomFilter, BloomLoadError, BloomMergeError,
    ClassicBloomFilter, CountingBloomFilter, HashFunction, ScalableBloomFilter,
};
pub use builder::CuckooFilterBuilder;
pub use convert::Conversion;
pub use error::{
    BatchFull, BuildError, ConvertError, Full, FullReason, Insertion, MergeError, OutOfMemory,
};
pub use filter::{CuckooFilter, WhenFull};
pub use geometry::Layout;
pub use hash::{HashAlgorithm, KeyHash, KeyHasher};
pub use shared::{BatchRefused, SharedCuckooFilter};
pub use snapshot::{LoadError, Part};
pub use table::avoid_huge_pages;
pub use window::{
    Change, Clock, Generation, Generations, Ledger, When, Window, WindowError, WindowMergeError,
};

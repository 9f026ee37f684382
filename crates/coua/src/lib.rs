//! Filters that answer "have I seen this before?" for billions of items in a few bytes each.
//!
//! [`CuckooFilter`] is the one to take: it removes, counts, grows, merges and saves.
//! [`SharedCuckooFilter`] is for many threads, and [`window::Generations`] forget by age. The Bloom
//! filters in [`bloom`] are for insert-only sets and for exchange with other systems.
//!
//! ```
//! use coua::CuckooFilter;
//!
//! let mut seen = CuckooFilter::new();
//! let mut fresh = Vec::new();
//! for line in ["a", "b", "a", "c", "b"] {
//!     if seen.insert_unique(line)?.is_new() {
//!         fresh.push(line);
//!     }
//! }
//! assert_eq!(fresh, ["a", "b", "c"]);
//! # Ok::<(), coua::Full>(())
//! ```
//!
//! One verb means one thing on every type: `insert` adds a copy, `insert_unique` adds the key if it is
//! absent and says which, `remove` takes one copy away and says whether there was one. Keys are bytes,
//! integers or hashes ([`Key`]). What ends in `_batch` takes many keys, answers each in order, and is
//! several times faster.
//!
//! A key passes each module once, downwards: bytes -> [`KeyHash`] -> geometry (segment, buckets,
//! fingerprint) -> table (words) -> bucket (slots in a word) -> answer. `ARCHITECTURE.md` has the map.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod arch;
mod batch;
pub mod bloom;
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
pub mod snapshot;
mod split;
mod table;
mod ways;
pub mod window;

pub use builder::CuckooFilterBuilder;
pub use convert::Conversion;
pub use error::{
    BatchFull, BuildError, ConvertError, Full, FullReason, Insertion, MergeError, OutOfMemory,
};
pub use filter::{CuckooFilter, WhenFull};
pub use geometry::Layout;
pub use hash::{HashAlgorithm, Key, KeyHash, KeyHasher};
pub use shared::{BatchRefused, SharedCuckooFilter};
pub use snapshot::{Load, LoadError};
#[cfg(feature = "mmap")]
pub use table::avoid_huge_pages;

//! Filters that answer "have I seen this before?" for billions of items in a few bytes each.
//!
//! Start with [`CuckooFilter`]: it removes, counts, grows, merges and saves.
//! [`SharedCuckooFilter`] is for many threads, and [`Generations`](window::Generations) forget old items.
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
//! absent and returns whether it was, `remove` removes one copy and returns whether there was one. Which insert?
//!
//! | task | call |
//! |---|---|
//! | was this key seen before? | `insert_unique` |
//! | a set from which keys are removed, with all 64 hash bits ([`CuckooFilter::new`]) | `insert_unique` |
//! | a set from which keys are removed, at a rate | `insert`, once for each key |
//! | how often was this key seen? | `insert`, then `count` |
//!
//! At a rate, `insert_unique` stores nothing for a false positive, a key that looks like another one. When the
//! other one is removed, both are absent.
//!
//! Keys are bytes, integers, tuples or hashes ([`Key`]). Methods that end in `_batch` take a slice of keys,
//! return an answer for each in order, and are several times faster. [`Filter`] has the same verbs for programs that
//! treat all types alike.
//!
//! A key passes each layer once, downwards: bytes -> [`KeyHash`] -> segment, buckets and fingerprint -> words
//! in memory -> answer. `ARCHITECTURE.md` has the map.

mod batch;
mod builder;
mod collect;
mod convert;
mod error;
#[cfg(doctest)]
mod examples;
mod filter;
mod hash;
pub mod inspect;
mod kernel;
mod merge;
mod segments;
#[cfg(feature = "serde")]
mod serde;
pub mod shards;
mod shared;
mod simd;
pub mod sizing;
#[cfg(test)]
mod smoke;
pub mod snapshot;
mod summary;
mod table;
mod verbs;
pub mod window;

pub use builder::CuckooFilterBuilder;
pub use error::{
    BatchFull, BuildError, ConvertError, Full, FullReason, Insertion, MergeError, OutOfMemory,
};
pub use filter::{CuckooFilter, IfPresent, WhenFull};
pub use hash::{Key, KeyHash, KeyHasher, KeyPart};
pub use shared::SharedCuckooFilter;
pub use snapshot::{error::LoadError, load::Load};
pub use verbs::Filter;

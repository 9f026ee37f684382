//! What slots mean: a key is located, compared and written here, all slots of a bucket at once.
//!
//! A key's hash becomes a [`Place`] by the [`LevelGeometry`] of its segment. A [`Pair`] of buckets answers
//! for the place. A [`SlotCodec`] reads and writes the slots of a bucket.
//!
//! [`uniform`] does the same for many keys at once, in the widest [`vector`]s of the processor.

mod codec;
mod compare;
mod dispatch;
mod geometry;
pub(crate) mod instructions;
mod layout;
mod level;
mod moves;
mod pack;
mod pair;
mod place;
mod preview;
mod slots;
mod split;
pub(crate) mod uniform;
mod vector;

pub(crate) use codec::Encoding;
pub(crate) use dispatch::{AnyLevel, Levels, Task, dispatch};
pub(crate) use geometry::{Geometry, MAX_BUCKETS, Resolution};
pub use layout::Layout;
pub(crate) use layout::{LOW_BITS, MAX_SLOT_BITS, MIN_FINGERPRINT_BITS};
pub(crate) use level::LevelGeometry;
pub(crate) use moves::{CandidateMove, GROUP, GroupMoves};
pub(crate) use pair::Pair;
pub(crate) use place::{ALTERNATE, Place};
pub(crate) use preview::{IfPresent, KeyGroup, Lookups, Preview, UniformTable, WIDTH, Wanted, has};
pub(crate) use split::{MovedItem, MovedItems, PADDING, Parent};

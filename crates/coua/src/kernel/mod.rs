//! The meaning of slots: a key is located, compared and written here, all slots of a bucket at once.
//!
//! A key's hash becomes a [`Place`] by the [`LevelGeometry`] of its segment. A [`SlotCodec`](codec::SlotCodec) says how the
//! slots of a bucket lie in words. The arithmetic on them is written once, on vectors of buckets ([`LevelVectors`]): single
//! keys, with a [`Pair`] of buckets each, are vectors of one word.

mod geometry;
mod level;
mod moves;
mod pair;
mod split;
mod vectors;

pub(crate) use geometry::{Geometry, MAX_BUCKETS, Resolution};
pub(crate) use level::{
    ALTERNATE, CHOICE_BITS, Encoding, KnownLevel, LOW_BITS, LevelGeometry, MAX_FINGERPRINT_BITS,
    MIN_FINGERPRINT_BITS, Place, SLOTS, SlotCodec, WithAvx2, WithEncoding, out_of_line,
    with_encoding, with_level,
};
pub(crate) use moves::{CandidateMove, GROUP, GroupMoves};
pub(crate) use pair::Pair;
pub(crate) use split::{MovedItem, Parent};
pub(crate) use vectors::{Buckets, LevelVectors, LookupResult, Source};

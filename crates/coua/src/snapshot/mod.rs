//! Filters as bytes: one documented little-endian format for the library, the program and the bindings.
//!
//! ```text
//! header | part table | segment table | padding | segments | overflow table | trailer
//! ```
//!
//! A part is one filter: a snapshot holds one, or the generations of a filter with a window.
//! Every byte is covered by a checksum or checked to be zero. Segments are in hash order, each
//! aligned to 64 bytes and padded for loads of whole words, so that they can be used in place.
//! `docs/format.md` is the normative description.

pub(crate) mod error;
mod fields;
mod header;
pub(crate) mod load;
mod preamble;
mod read;
mod slots;
mod write;

pub(crate) use error::LoadError;
pub use fields::MAGIC;
pub(crate) use fields::{bad_field, named, number_of};
pub(crate) use header::{Header, StoredWindow};
pub(crate) use preamble::{InputLength, PartTable, Preamble, read_header};
pub use read::Snapshot;
pub(crate) use read::{Loaded, OfSnapshot, entries};
pub use write::SnapshotWriter;

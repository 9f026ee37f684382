//! Filters that were made elsewhere: RedisBloom's cuckoo filter and Bloom filter.
//!
//! They hold 8-bit fingerprints, or bits, and have forgotten the hashes that these came from. So they
//! cannot be turned into filters of Coua's, and go on working in the layout in which they came:
//! everything they answered before, they answer here. `docs/peer-formats.md` is the normative
//! description of the layouts and of how far they are imitated.
//!
//! The facts were learned by reading RedisBloom's sources and tests (github.com/RedisBloom/RedisBloom),
//! and checked against chunks and dumps of a running RedisBloom 2.8.2. No text of it is here.
//!
//! Nothing here knows the server: `rdb::Source` and `rdb::Sink` are its dumps, `chunks` the pieces of
//! `SCANDUMP`. Whatever is read is hostile until checked, and every size is checked before memory is
//! taken.

mod bloom;
mod chunks;
mod cuckoo;
mod error;
mod fields;
mod hash;
mod limits;
mod memory;
mod rdb;
mod stored;
#[cfg(test)]
mod tests;

pub use bloom::{BloomPart, PeerBloom};
pub use chunks::{CHUNK_BYTES, Chunk, ChunkError};
pub use cuckoo::{Compaction, PeerCuckoo, Position};
pub use error::{InsertError, LoadError, TooLarge, Unreadable};
pub use limits::Limits;
pub use memory::OutOfMemory;
pub use rdb::{Sink, Source};
pub use stored::PeerFilter;

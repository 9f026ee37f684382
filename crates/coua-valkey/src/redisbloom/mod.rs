//! Filters that were made elsewhere: RedisBloom's cuckoo filter and Bloom filter.
//!
//! They hold 8-bit fingerprints, or bits, and have forgotten the hashes that these came from. So
//! they cannot be turned into filters of Coua's, and go on working in the layout in which they
//! came: everything they answered before, they answer here. `docs/peer-formats.md` is the normative
//! description of the layouts and of how far they are imitated.
//!
//! The facts were learned by reading RedisBloom's sources and tests
//! (github.com/RedisBloom/RedisBloom), and checked against chunks and dumps of a running RedisBloom
//! 2.8.2. No text of it is here.
//!
//! Nothing here knows the server: `Source` and `Sink` are its dumps, `Chunk` a piece of `SCANDUMP`.
//! Whatever is read is hostile until checked, and every size is checked before memory is taken.

mod bloom_link;
mod bytes;
mod errors;
mod murmur;
mod peer_bloom;
mod peer_cuckoo;
mod stored;
mod sub_filter;
#[cfg(test)]
mod tests;

pub use errors::{InsertError, Limits, LoadError, OutOfMemory, TooLarge, Unreadable};
pub use peer_bloom::{BloomPart, PeerBloom};
pub use peer_cuckoo::{CompactionStep, PeerCuckoo, SlotPosition};
#[cfg(any(test, feature = "fuzz"))]
pub use stored::Sink;
pub use stored::{CHUNK_BYTES, Chunk, ChunkError, PeerFilter, Source};

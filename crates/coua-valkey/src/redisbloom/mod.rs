//! RedisBloom's cuckoo filter and Bloom filter.
//!
//! They hold 8-bit fingerprints, or bits, but not the hashes. So they cannot be converted to Coua's
//! filters, and keep their own layout: they give the same answers as before. `docs/peer-formats.md` is
//! the normative description of the layouts, and of how far RedisBloom's behavior is reproduced.
//!
//! The facts were learned by reading RedisBloom's sources and tests
//! (github.com/RedisBloom/RedisBloom), and checked against chunks and dumps of a running RedisBloom
//! 2.8.2. None of its code is used.
//!
//! Nothing here knows the server: `Source` and `Sink` are its dumps, `Chunk` a piece of `SCANDUMP`.
//! All input is untrusted, and every size is checked before memory is allocated.

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

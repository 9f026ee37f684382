//! RedisBloom's cuckoo filter.
//!
//! It holds 8-bit fingerprints, but not the hashes. So it cannot be converted to one of Coua's
//! filters, and keeps its own layout: it gives the same answers as before. `docs/peer-formats.md` is
//! the normative description of the layout, and of how far RedisBloom's behavior is reproduced.
//!
//! The facts were learned by reading RedisBloom's sources and tests
//! (github.com/RedisBloom/RedisBloom), and checked against chunks and dumps of a running RedisBloom
//! 2.8.2. None of its code is used.
//!
//! Nothing here knows the server: `Source` is its dump.
//! All input is untrusted, and every size is checked before memory is allocated.

mod bytes;
mod errors;
mod murmur;
mod peer_cuckoo;
mod stored;
mod sub_filter;
#[cfg(test)]
mod tests;

pub use errors::{InsertError, Limits, LoadError, OutOfMemory, TooLarge};
pub use peer_cuckoo::{CompactionPosition, CompactionStep, PeerCuckoo};
pub use stored::Source;

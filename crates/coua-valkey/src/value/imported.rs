//! Filters of the other module as values.

use super::chunks::CHUNK;
use crate::redisbloom::{Chunk, ChunkError, PeerFilter};

/// The piece at a position, cut to the size of a chunk: the other module cuts later, and takes any.
pub(super) fn piece_of(
    filter: &impl PeerFilter,
    position: i64,
) -> Result<Option<Chunk<'_>>, ChunkError> {
    Ok(filter.chunk(position)?.map(|Chunk { bytes, .. }| {
        let taken = bytes.len().min(CHUNK);
        Chunk { next: position.saturating_add_unsigned(taken as u64), bytes: &bytes[..taken] }
    }))
}

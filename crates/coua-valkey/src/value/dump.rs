//! The chunks of a value, for SCANDUMP, LOADCHUNK and append-only files.

use std::io;

use super::Value;
use super::chunks::{CHUNK, Incomplete, chunk_behind, peer_chunk, position_of};
use crate::cuckoo::{begins_image, is_begun};
use crate::error::CommandError;
use crate::redisbloom::{LoadError, PeerCuckoo};
use crate::server::Pieces;
use crate::settings::limits;

/// The position of the header in a RedisBloom dump.
const HEADER: i64 = 1;

impl Value {
    /// Calls `each` with the chunks of a value, as an append-only file has them.
    pub(super) fn for_each_chunk(&self, mut each: impl FnMut(i64, &[u8])) -> io::Result<()> {
        if let Self::Imported(imported) = self {
            each(HEADER, &imported.header());
        }
        let mut end = 0;
        let mut put = |chunk: &[u8]| {
            end += chunk.len() as u64;
            each(position_of(end, 0), chunk);
        };
        match self {
            Self::Native(native) => {
                let mut chunks = Pieces::new(CHUNK, put);
                native.write(&mut chunks)?;
                chunks.finish();
            }
            Self::Imported(imported) => {
                imported.arrays().flat_map(|array| array.chunks(CHUNK)).for_each(put);
            }
            Self::Incomplete(incomplete) => incomplete.chunks().for_each(&mut put),
        }
        Ok(())
    }

    /// The chunk behind a position, from 0 on, and its own position; nothing at the end.
    pub(crate) fn chunk(&self, position: i64) -> Result<Option<(i64, Vec<u8>)>, CommandError> {
        match self {
            Self::Native(native) => chunk_behind(native, position),
            Self::Imported(imported) if position == 0 => Ok(Some((HEADER, imported.header()))),
            Self::Imported(imported) => {
                Ok(peer_chunk(imported, position).map(|(next, chunk)| (next, chunk.to_vec())))
            }
            Self::Incomplete(_) => Err(CommandError::Incomplete),
        }
    }

    /// The value that begins with this chunk.
    ///
    /// `memory_left` returns how much the server may still take: a RedisBloom header allocates
    /// memory that no chunk has justified yet.
    pub(crate) fn from_first_chunk(
        position: i64,
        chunk: &[u8],
        limit: Option<u64>,
        memory_left: impl FnOnce() -> Option<u64>,
    ) -> Result<Self, CommandError> {
        if is_begun(chunk) {
            let mut incomplete = Incomplete::default();
            return Ok(match incomplete.take(position, chunk, limit)? {
                Some(native) => Self::Native(native),
                None => Self::Incomplete(incomplete),
            });
        }
        if position != HEADER {
            // Damaged, or a later chunk of a filter that does not exist.
            return Err(if begins_image(chunk) {
                CommandError::Header
            } else {
                CommandError::NotFound
            });
        }
        let mut limits = limits(limit);
        limits.bytes = limits.bytes.min(memory_left().unwrap_or(u64::MAX));
        let imported = PeerCuckoo::from_header(chunk, &limits).map_err(|error| match error {
            LoadError::TooLarge(large) if Some(large.limit) == limit => {
                CommandError::KeyMemory { limit: large.limit }
            }
            LoadError::TooLarge(_) | LoadError::OutOfMemory(_) => CommandError::NoMemoryToCreate,
            LoadError::Length { .. } => CommandError::Header,
            _ => CommandError::NotCreated,
        })?;
        Ok(Self::Imported(imported))
    }

    /// Takes a further chunk. Refused chunks change nothing.
    pub(crate) fn load_chunk(
        &mut self,
        position: i64,
        chunk: &[u8],
        limit: Option<u64>,
    ) -> Result<(), CommandError> {
        match self {
            Self::Incomplete(incomplete) => {
                if let Some(native) = incomplete.take(position, chunk, limit)? {
                    *self = Self::Native(native);
                }
                Ok(())
            }
            Self::Imported(imported) if position != HEADER => {
                imported.load_chunk(position, chunk).ok_or(CommandError::NotLoaded)
            }
            _ => Err(CommandError::ItemExists),
        }
    }
}

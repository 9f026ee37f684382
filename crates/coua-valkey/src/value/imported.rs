//! Filters of the other module as values: both kinds have the same functions.

use std::io::{self, Read, Write};

use super::chunks::CHUNK;
use super::filter::ImportedFilter;
use crate::server::RdbReader;
use coua_redisbloom::{Chunk, ChunkError, Limits, LoadError, PeerBloom, PeerCuckoo};

macro_rules! imported_filter {
    ($filter:ty, $pieces:ident) => {
        impl ImportedFilter for $filter {
            fn of_dump(
                input: &mut RdbReader,
                encoding: u32,
                limits: &Limits,
            ) -> Result<Self, LoadError> {
                Self::read(input, encoding, limits)
            }

            fn read_from(input: &mut dyn Read, limits: &Limits) -> Result<Self, LoadError> {
                Self::read_from(input, limits)
            }

            fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
                self.write_to(out)
            }

            fn of_header(header: &[u8], limits: &Limits) -> Result<Self, LoadError> {
                Self::from_header(header, limits)
            }

            fn header(&self) -> Vec<u8> {
                self.header()
            }

            fn chunk(&self, position: i64) -> Result<Option<Chunk<'_>>, ChunkError> {
                self.chunk(position)
            }

            fn load_chunk(&mut self, position: i64, bytes: &[u8]) -> Result<(), ChunkError> {
                self.load_chunk(position, bytes)
            }

            fn memory_bytes(&self) -> u64 {
                self.memory_bytes()
            }

            fn pieces(&self) -> usize {
                self.$pieces() as usize
            }

            fn try_clone(&self) -> Option<Self> {
                self.try_clone().ok()
            }
        }
    };
}

imported_filter!(PeerCuckoo, sub_filters);
imported_filter!(PeerBloom, filters);

/// The piece at a position, cut to the size of a chunk: the other module cuts later, and takes any.
pub(super) fn piece_of(
    filter: &impl ImportedFilter,
    position: i64,
) -> Result<Option<Chunk<'_>>, ChunkError> {
    Ok(filter.chunk(position)?.map(|Chunk { bytes, .. }| {
        let taken = bytes.len().min(CHUNK);
        Chunk { next: position.saturating_add_unsigned(taken as u64), bytes: &bytes[..taken] }
    }))
}

//! A Bloom filter of the other module, in its own layout, as the value of a key.

use std::io::{self, Read, Write};

use crate::peer::{Chunk, ChunkError, InsertError, Limits, LoadError, PeerBloom};
use crate::refusal::Refusal;
use crate::server::RdbReader;
use crate::value::ImportedFilter;
use crate::value::insertion::Outcome;

impl ImportedFilter for PeerBloom {
    fn of_dump(input: &mut RdbReader, encoding: u32, limits: &Limits) -> Result<Self, LoadError> {
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
        self.filters() as usize
    }

    fn try_clone(&self) -> Option<Self> {
        self.try_clone().ok()
    }
}

/// Inserts items that are absent, in order, and tells what became of each.
pub(super) fn insert(filter: &mut PeerBloom, items: &[&[u8]], limits: &Limits) -> Vec<Outcome> {
    let one = |item: &&[u8]| match filter.insert(item, limits) {
        Ok(true) => Outcome::Inserted,
        Ok(false) => Outcome::Present,
        Err(InsertError::Full { .. }) => Outcome::Refused(Refusal::NonScalingFull),
        Err(error) => Outcome::Refused(Refusal::of_insert(&error)),
    };
    items.iter().map(one).collect()
}

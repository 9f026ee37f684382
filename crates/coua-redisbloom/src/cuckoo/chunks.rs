//! `CF.SCANDUMP` and `CF.LOADCHUNK`: a header, then the slots in pieces.

use std::io::{self, Read, Write};

use super::super::chunks::{Chunk, ChunkError, piece, put};
use super::super::error::{LoadError, number};
use super::super::fields::Fields;
use super::super::limits::Limits;
use super::super::memory::zeroed;
use super::super::stored::{read_array, read_header, write};
use super::PeerCuckoo;
use super::shape::{DEFAULT_SEED, Shape};
use super::sub_filter::SubFilter;

const HEADER_BYTES: usize = 38;
/// The header of a filter with a seed ends with the seed.
const SEEDED_HEADER_BYTES: usize = HEADER_BYTES + 8;
/// Set in the number of sub-filters where a seed follows.
const HAS_SEED: u64 = 1 << 63;

impl PeerCuckoo {
    /// A filter as its header describes it, still without fingerprints.
    ///
    /// # Errors
    /// The header is not one of the peer's, or the filter is too large.
    pub fn from_header(header: &[u8], limits: &Limits) -> Result<Self, LoadError> {
        Self::with_header(header, limits, |bytes| Ok(zeroed(bytes)?))
    }

    /// Reads what [`write_to`](Self::write_to) wrote.
    ///
    /// # Errors
    /// The stream ends early, it is not of such a filter, or the filter is too large.
    pub fn read_from(mut input: impl Read, limits: &Limits) -> Result<Self, LoadError> {
        let header = read_header(&mut input)?;
        Self::with_header(&header, limits, |bytes| read_array(&mut input, bytes))
    }

    /// Writes the filter as one stream of bytes.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_to(&self, out: impl Write) -> io::Result<()> {
        write(&self.header(), self.sub_filters.iter().map(SubFilter::slots), out)
    }

    /// A filter as its header describes it, over slots that come from `array`.
    fn with_header(
        header: &[u8],
        limits: &Limits,
        mut array: impl FnMut(u64) -> Result<Vec<u8>, LoadError>,
    ) -> Result<Self, LoadError> {
        let mut fields = Fields(header);
        let (items, buckets, deletes) = (fields.u64(), fields.u64(), fields.u64());
        let sub_filters = fields.u64();
        let has_seed = sub_filters & HAS_SEED != 0;
        let expected = if has_seed { SEEDED_HEADER_BYTES } else { HEADER_BYTES };
        if header.len() != expected {
            let (found, expected) = (header.len() as u64, expected as u64);
            return Err(LoadError::Length { what: "the header", found, expected });
        }
        let shape = Shape {
            buckets,
            bucket_size: fields.u16(),
            max_iterations: fields.u16(),
            expansion: fields.u16(),
            seed: if has_seed { fields.u64() } else { DEFAULT_SEED },
        };
        let sub_filters = sub_filters & !HAS_SEED;
        let filter = Self::build(shape, sub_filters, limits, |size| array(size.bytes))?;
        filter.with_counts(items, deletes)
    }

    /// The header, from which the same filter without fingerprints can be made.
    pub fn header(&self) -> Vec<u8> {
        let shape = &self.shape;
        let has_seed = shape.seed != DEFAULT_SEED;
        let sub_filters = u64::from(self.sub_filters()) | if has_seed { HAS_SEED } else { 0 };
        let mut header = Vec::with_capacity(SEEDED_HEADER_BYTES);
        for field in [self.items(), shape.buckets, self.deletes, sub_filters] {
            header.extend_from_slice(&field.to_le_bytes());
        }
        for field in [shape.bucket_size, shape.max_iterations, shape.expansion] {
            header.extend_from_slice(&field.to_le_bytes());
        }
        if has_seed {
            header.extend_from_slice(&shape.seed.to_le_bytes());
        }
        header
    }

    /// The piece of the slots at `position`, which is 1 for the first one; none after the last.
    ///
    /// # Errors
    /// Not a position.
    pub fn chunk(&self, position: i64) -> Result<Option<Chunk<'_>>, ChunkError> {
        piece(self.sub_filters.iter().map(SubFilter::slots), position)
    }

    /// Puts a piece into its place.
    ///
    /// # Errors
    /// It has none; nothing has changed.
    pub fn load_chunk(&mut self, position: i64, bytes: &[u8]) -> Result<(), ChunkError> {
        put(self.sub_filters.iter_mut().map(SubFilter::slots_mut), position, bytes)
    }

    /// The filter with the counts that its dump states. They may be of slots that are yet to come, or
    /// that never came; so all that can be asked is that there is room for the items.
    pub(super) fn with_counts(self, items: u64, deletes: u64) -> Result<Self, LoadError> {
        number("number of items", items, |n| n <= self.slots(), "at most the number of slots")?;
        Ok(Self { items, deletes, ..self })
    }
}

//! `CF.SCANDUMP` and `CF.LOADCHUNK`: a header, then the slots in pieces.

use std::ops::Range;

use super::super::error::LoadError;
use super::super::fields::Fields;
use super::super::limits::Limits;
use super::super::memory::{OutOfMemory, collected};
use super::super::rdb::Source;
use super::super::stored::PeerFilter;
use super::PeerCuckoo;
use super::shape::{DEFAULT_SEED, Shape};
use super::sub_filter::SubFilter;

const HEADER_BYTES: usize = 38;
/// The header of a filter with a seed ends with the seed.
const SEEDED_HEADER_BYTES: usize = HEADER_BYTES + 8;
/// Set in the number of sub-filters where a seed follows.
const HAS_SEED: u64 = 1 << 63;

impl PeerFilter for PeerCuckoo {
    fn read(source: &mut impl Source, encoding: u32, limits: &Limits) -> Result<Self, LoadError> {
        Self::of_dump(source, encoding, limits)
    }

    fn over(
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

    fn header(&self) -> Vec<u8> {
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

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        self.sub_filters.iter().map(SubFilter::slots)
    }

    fn put(&mut self, array: usize, range: Range<usize>, bytes: &[u8]) {
        self.sub_filters[array].load(range, bytes);
    }

    fn memory_bytes(&self) -> u64 {
        let list = self.sub_filters.capacity() * size_of::<SubFilter>();
        self.slots() + (size_of::<Self>() + list) as u64
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let sub_filters = collected(self.sub_filters.iter().map(SubFilter::try_clone))?;
        Ok(Self { sub_filters, ..*self })
    }
}

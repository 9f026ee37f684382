//! Stored filters: a header, and the slots of each sub-filter.
//!
//! `SCANDUMP` returns them in chunks; dump files have one stream: the length of the header, the header, and
//! all slots. A position is 1 + an offset into the slots of all sub-filters. Each chunk comes with the
//! position of its *end*, and no chunk extends over the end of a sub-filter.

use std::io::{self, Read, Write};

use super::bytes::copied;
use super::errors::{Limits, LoadError, OutOfMemory, number};
use super::peer_cuckoo::PeerCuckoo;
use super::sub_filter::{DEFAULT_SEED, Shape, Size, SubFilter};

const HEADER_BYTES: usize = 38;
/// The header of a filter with a seed ends with the seed.
const SEEDED_HEADER_BYTES: usize = HEADER_BYTES + 8;
/// Set in the number of sub-filters if a seed follows.
const HAS_SEED: u64 = 1 << 63;

impl PeerCuckoo {
    /// Creates a filter from its header, of sub-filters from `sub_filter`.
    fn over(
        header: &[u8],
        limits: &Limits,
        sub_filter: impl FnMut(&Shape, Size) -> Result<SubFilter, LoadError>,
    ) -> Result<Self, LoadError> {
        let [items, buckets, deletes, sub_filters] = [0, 8, 16, 24].map(|at| field(header, at, 8));
        let has_seed = sub_filters & HAS_SEED != 0;
        let expected = if has_seed { SEEDED_HEADER_BYTES } else { HEADER_BYTES };
        if header.len() != expected {
            let (found, expected) = (header.len() as u64, expected as u64);
            return Err(LoadError::Length { what: "the header", found, expected });
        }
        let sizes = [32, 34, 36].map(|at| field(header, at, 2) as u16);
        let [bucket_size, max_iterations, expansion] = sizes;
        let seed = if has_seed { field(header, HEADER_BYTES, 8) } else { DEFAULT_SEED };
        let shape = Shape { buckets, bucket_size, max_iterations, expansion, seed };
        let sub_filters = sub_filters & !HAS_SEED;
        let filter = Self::build(shape, sub_filters, limits, sub_filter)?;
        filter.with_counts(items, deletes)
    }

    /// Creates an empty filter from its header.
    ///
    /// # Errors
    /// An invalid header, or too large a filter.
    pub fn from_header(header: &[u8], limits: &Limits) -> Result<Self, LoadError> {
        Self::over(header, limits, |shape, size| Ok(SubFilter::empty(shape, size)?))
    }

    /// The header, from which the same filter without contents can be created.
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

    /// Reads a filter written by [`write_to`](Self::write_to).
    ///
    /// # Errors
    /// The stream ends early, is invalid, or the filter is too large.
    pub fn read_from(mut input: impl Read, limits: &Limits) -> Result<Self, LoadError> {
        let header = read_header(&mut input)?;
        Self::over(&header, limits, |shape, size| {
            Ok(SubFilter::over(shape, size, read_array(&mut input, size.bytes)?))
        })
    }

    /// Writes the filter as one stream of bytes.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        let header = self.header();
        out.write_all(&(header.len() as u32).to_le_bytes())?;
        out.write_all(&header)?;
        self.arrays().try_for_each(|array| out.write_all(array))
    }

    /// The slots from a position on, to the end of their sub-filter; `None` at the end of all.
    pub fn slots_from(&self, position: i64) -> Option<&[u8]> {
        let (number, slot) = self.find(position, 0)?;
        self.sub_filters[number].slots().get(slot..)
    }

    /// Writes a chunk that ends at a position to its place. Returns `None`, and changes nothing, if it has none.
    pub fn load_chunk(&mut self, position: i64, bytes: &[u8]) -> Option<()> {
        let (number, slot) = self.find(position, bytes.len())?;
        self.sub_filters[number].load(slot, bytes)
    }

    /// The sub-filter and the slot where a chunk of `bytes` bytes begins that ends at a position.
    fn find(&self, position: i64, bytes: usize) -> Option<(usize, usize)> {
        let end = u64::try_from(position).ok()?.checked_sub(1)?;
        let begin = end.checked_sub(bytes as u64)?;
        let number = self.sub_filters.partition_point(|older| older.size.end() <= begin);
        let size = self.sub_filters.get(number)?.size;
        Some((number, (begin - size.start) as usize))
    }
}

/// A number of a header; 0 if it is not there.
fn field(header: &[u8], at: usize, bytes: usize) -> u64 {
    let bytes = header.iter().skip(at).take(bytes).rev();
    bytes.fold(0, |number, &byte| number << 8 | u64::from(byte))
}

fn read_header(mut input: impl Read) -> Result<Vec<u8>, LoadError> {
    let mut length = [0; 4];
    input.read_exact(&mut length).map_err(|_| LoadError::Unreadable)?;
    let length = u32::from_le_bytes(length);
    if length as usize > SEEDED_HEADER_BYTES {
        let (found, expected) = (u64::from(length), SEEDED_HEADER_BYTES as u64);
        return Err(LoadError::Length { what: "the longest header", found, expected });
    }
    read_array(input, u64::from(length))
}

/// The next bytes. Memory grows with the bytes that arrive, not with the announced length.
fn read_array(input: impl Read, bytes: u64) -> Result<Vec<u8>, LoadError> {
    let mut array = Vec::new();
    match input.take(bytes).read_to_end(&mut array) {
        Ok(read) if read as u64 == bytes => Ok(array),
        Err(error) if error.kind() == io::ErrorKind::OutOfMemory => {
            Err(OutOfMemory { bytes }.into())
        }
        _ => Err(LoadError::Unreadable),
    }
}

/// Reads the dump of a filter.
pub trait Source {
    /// A string of bytes of the server.
    type Bytes: AsRef<[u8]>;

    /// The next number.
    ///
    /// # Errors
    /// The dump ends, or something else comes next.
    fn read_u64(&mut self) -> Result<u64, LoadError>;

    /// The next string.
    ///
    /// # Errors
    /// The dump ends, or something else comes next.
    fn read_bytes(&mut self) -> Result<Self::Bytes, LoadError>;
}

/// The first encoding with parameters, which were fixed before.
const WITH_PARAMETERS: u32 = 4;
/// The first encoding with a seed, and the newest.
const WITH_SEED: u32 = 5;
/// The fixed parameters of older filters.
const OLD_BUCKET_SIZE: u16 = 2;
const OLD_MAX_ITERATIONS: u16 = 20;
const OLD_EXPANSION: u16 = 1;
/// The range of a parameter.
const U16: &str = "at most 65535";

impl PeerCuckoo {
    /// Reads a filter that the peer dumped in `encoding`.
    ///
    /// # Errors
    /// An unknown encoding, an invalid dump, or too large a filter.
    pub fn read(
        source: &mut impl Source,
        encoding: u32,
        limits: &Limits,
    ) -> Result<Self, LoadError> {
        if encoding > WITH_SEED {
            return Err(LoadError::Encoding { found: encoding, newest: WITH_SEED });
        }
        let has_parameters = encoding >= WITH_PARAMETERS;
        let (sub_filters, buckets) = (source.read_u64()?, source.read_u64()?);
        let items = source.read_u64()?;
        let deletes = if has_parameters { source.read_u64()? } else { 0 };
        let mut shape = Shape {
            buckets,
            bucket_size: OLD_BUCKET_SIZE,
            max_iterations: OLD_MAX_ITERATIONS,
            expansion: OLD_EXPANSION,
            seed: DEFAULT_SEED,
        };
        if has_parameters {
            shape.bucket_size = read_narrow(source, "bucket size", U16)?;
            shape.max_iterations = read_narrow(source, "max iterations", U16)?;
            shape.expansion = read_narrow(source, "expansion", U16)?;
        }
        let mut filter = Self::build(shape, sub_filters, limits, |shape, size| {
            if has_parameters {
                check_buckets(source.read_u64()?, size)?;
            }
            Ok(SubFilter::over(shape, size, read_slots(source, size)?))
        })?;
        if encoding >= WITH_SEED {
            filter.shape.seed = source.read_u64()?;
        }
        filter.with_counts(items, deletes)
    }
}

/// Sub-filters store their number of buckets, which must follow the rule, because a dump in chunks cannot store others.
fn check_buckets(found: u64, size: Size) -> Result<(), LoadError> {
    let name = "number of buckets of a sub-filter";
    number(name, found, |n| n == size.buckets, "that of the one before, times the expansion")
}

fn read_slots(source: &mut impl Source, size: Size) -> Result<Vec<u8>, LoadError> {
    let slots = source.read_bytes()?;
    let found = slots.as_ref().len() as u64;
    if found != size.bytes {
        return Err(LoadError::Length { what: "a sub-filter", found, expected: size.bytes });
    }
    Ok(copied(slots.as_ref())?)
}

/// The next number, which must fit.
fn read_narrow<T: TryFrom<u64>>(
    source: &mut impl Source,
    name: &'static str,
    expected: &'static str,
) -> Result<T, LoadError> {
    let found = source.read_u64()?;
    T::try_from(found).map_err(|_| LoadError::Number { name, found, expected })
}

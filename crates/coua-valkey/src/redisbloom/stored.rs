//! Stored filters: a header, and the slots of each sub-filter.
//!
//! `SCANDUMP` returns them in chunks; dump files have one stream: the length of the header, the header, and
//! all slots. Chunks have up to 16 MiB. A position is 1 + an offset into the slots of all sub-filters. Each
//! chunk comes with the position of its *end*, and no chunk extends over the end of a sub-filter.

use std::io::{self, Read, Write};
use std::ops::Range;

use super::bytes::{Fields, copied};
use super::errors::{Limits, LoadError, Unreadable, number};
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

    /// The chunk at `position`, which is 1 for the first one; `None` after the last.
    ///
    /// # Errors
    /// Not a position.
    pub fn chunk(&self, position: i64) -> Result<Option<Chunk<'_>>, ChunkError> {
        piece(self.arrays(), position)
    }

    /// Writes a chunk to its place.
    ///
    /// # Errors
    /// It has no place here; nothing has changed.
    pub fn load_chunk(&mut self, position: i64, bytes: &[u8]) -> Result<(), ChunkError> {
        let (array, range) = place(self.arrays().map(<[u8]>::len), position, bytes.len())?;
        self.sub_filters[array].load(range, bytes);
        Ok(())
    }
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
    let read = input.take(bytes).read_to_end(&mut array);
    let has_all = read.is_ok_and(|read| read as u64 == bytes);
    if has_all { Ok(array) } else { Err(LoadError::Unreadable) }
}

/// The most bytes of a chunk.
const CHUNK_BYTES: usize = 16 << 20;

/// A chunk of the arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The position of its end, which is stored with the chunk, and requests the next one.
    pub next: i64,
    /// The bytes; never empty.
    pub bytes: &'a [u8],
}

/// A position has no chunk, or a chunk no place inside one sub-filter. The filter is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkError;

/// The chunk of `arrays` at `position`; `None` after the last one.
fn piece<'a>(
    arrays: impl Iterator<Item = &'a [u8]>,
    position: i64,
) -> Result<Option<Chunk<'a>>, ChunkError> {
    let mut offset = offset(position, 0)?;
    for array in arrays {
        if offset < array.len() as u64 {
            let rest = &array[offset as usize..];
            let bytes = &rest[..rest.len().min(CHUNK_BYTES)];
            return Ok(position
                .checked_add_unsigned(bytes.len() as u64)
                .map(|next| Chunk { next, bytes }));
        }
        offset -= array.len() as u64;
    }
    Ok(None)
}

/// The place of a chunk of `bytes` bytes that ends at `position`, in arrays of these lengths: the number
/// of the array, and the range in it.
fn place(
    lengths: impl Iterator<Item = usize>,
    position: i64,
    bytes: usize,
) -> Result<(usize, Range<usize>), ChunkError> {
    if bytes == 0 {
        return Err(ChunkError);
    }
    let begin = offset(position, bytes)?;
    let mut end = 0_u64;
    for (number, length) in lengths.enumerate() {
        let first = end;
        end += length as u64;
        if begin >= first && begin + bytes as u64 <= end {
            let start = (begin - first) as usize;
            return Ok((number, start..start + bytes));
        }
    }
    Err(ChunkError)
}

/// The start of a chunk of `bytes` bytes that ends at `position`.
fn offset(position: i64, bytes: usize) -> Result<u64, ChunkError> {
    let end = u64::try_from(position).ok().and_then(|end| end.checked_sub(1));
    end.and_then(|end| end.checked_sub(bytes as u64)).ok_or(ChunkError)
}

/// Reads the dump of a filter.
pub trait Source {
    /// A string of bytes of the server.
    type Bytes: AsRef<[u8]>;

    /// The next number.
    ///
    /// # Errors
    /// The dump ends, or something else comes next.
    fn read_u64(&mut self) -> Result<u64, Unreadable>;

    /// The next string.
    ///
    /// # Errors
    /// The dump ends, or something else comes next.
    fn read_bytes(&mut self) -> Result<Self::Bytes, Unreadable>;
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

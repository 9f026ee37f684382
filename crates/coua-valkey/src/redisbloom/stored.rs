//! The common part of both kinds of filters: a header, and arrays of bytes.
//!
//! `SCANDUMP` returns them in chunks; dump files have one stream: the length of the header, the header, and
//! all arrays. Chunks have up to 16 MiB. A position is 1 + an offset into all arrays, concatenated. Each
//! chunk comes with the position of its *end*, and no chunk extends over the end of an array.

use std::io::{self, Read, Write};
use std::ops::Range;

use thiserror::Error;

use super::bytes::zeroed;
use super::errors::{Limits, LoadError, OutOfMemory, Unreadable};

/// The header of the longest chain of Bloom filters is below 64 KiB.
const MAX_HEADER_BYTES: u32 = 1 << 16;

/// A filter of the peer.
pub trait PeerFilter: Sized {
    /// Reads a filter that was dumped in `encoding`.
    ///
    /// # Errors
    /// An unknown encoding, an invalid dump, or too large a filter.
    fn read(source: &mut impl Source, encoding: u32, limits: &Limits) -> Result<Self, LoadError>;

    /// Creates a filter from its header, with arrays from `array`.
    ///
    /// # Errors
    /// An invalid header, or too large a filter; and the errors of `array`.
    fn over(
        header: &[u8],
        limits: &Limits,
        array: impl FnMut(u64) -> Result<Vec<u8>, LoadError>,
    ) -> Result<Self, LoadError>;

    /// Whether the item may be present.
    fn contains(&self, item: &[u8]) -> bool;

    /// The number of items: that of its dump, plus later changes.
    fn items(&self) -> u64;

    /// The header, from which the same filter without contents can be created.
    fn header(&self) -> Vec<u8>;

    /// The arrays, from the oldest to the newest.
    fn arrays(&self) -> impl Iterator<Item = &[u8]>;

    /// Overwrites a part of an array.
    fn put(&mut self, array: usize, range: Range<usize>, bytes: &[u8]);

    /// Bytes of memory it takes.
    fn memory_bytes(&self) -> u64;

    /// A copy.
    ///
    /// # Errors
    /// If there is not enough memory.
    fn try_clone(&self) -> Result<Self, OutOfMemory>;

    /// Creates an empty filter from its header.
    ///
    /// # Errors
    /// As those of [`over`](Self::over).
    fn from_header(header: &[u8], limits: &Limits) -> Result<Self, LoadError> {
        Self::over(header, limits, |bytes| Ok(zeroed(bytes)?))
    }

    /// Reads a filter written by [`write_to`](Self::write_to).
    ///
    /// # Errors
    /// The stream ends early, is invalid, or the filter is too large.
    fn read_from(mut input: impl Read, limits: &Limits) -> Result<Self, LoadError> {
        let header = read_header(&mut input)?;
        Self::over(&header, limits, |bytes| read_array(&mut input, bytes))
    }

    /// Writes the filter as one stream of bytes.
    ///
    /// # Errors
    /// Those of `out`.
    fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        let header = self.header();
        out.write_all(&(header.len() as u32).to_le_bytes())?;
        out.write_all(&header)?;
        self.arrays().try_for_each(|array| out.write_all(array))
    }

    /// The chunk at `position`, which is 1 for the first one; `None` after the last.
    ///
    /// # Errors
    /// Not a position.
    fn chunk(&self, position: i64) -> Result<Option<Chunk<'_>>, ChunkError> {
        piece(self.arrays(), position)
    }

    /// Writes a chunk to its place.
    ///
    /// # Errors
    /// It has no place here; nothing has changed.
    fn load_chunk(&mut self, position: i64, bytes: &[u8]) -> Result<(), ChunkError> {
        let (array, range) = place(self.arrays().map(<[u8]>::len), position, bytes.len())?;
        self.put(array, range, bytes);
        Ok(())
    }
}

fn read_header(mut input: impl Read) -> Result<Vec<u8>, LoadError> {
    let mut length = [0; 4];
    input.read_exact(&mut length).map_err(|_| LoadError::Unreadable)?;
    let length = u32::from_le_bytes(length);
    if length > MAX_HEADER_BYTES {
        let (found, expected) = (u64::from(length), u64::from(MAX_HEADER_BYTES));
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
pub const CHUNK_BYTES: usize = 16 << 20;

/// A chunk of the arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The position of its end, which is stored with the chunk, and requests the next one.
    pub next: i64,
    /// The bytes; never empty.
    pub bytes: &'a [u8],
}

/// A chunk was refused, and the filter is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChunkError {
    /// Not a position, or smaller than the chunk.
    #[error(
        "position {found} cannot be the end of a chunk of {bytes} bytes; pass each chunk with the iterator it came with"
    )]
    Position {
        /// The position.
        found: i64,
        /// Bytes of the piece.
        bytes: usize,
    },
    /// A chunk without bytes.
    #[error("the chunk is empty; skip it")]
    Empty,
    /// The chunk is not inside one array.
    #[error(
        "a chunk of {bytes} bytes that ends at position {found} is not inside one sub-filter (the last one ends at \
         {last}); pass each chunk with the iterator it came with"
    )]
    Outside {
        /// The position.
        found: i64,
        /// Bytes of the piece.
        bytes: usize,
        /// The last position of the filter.
        last: u64,
    },
}

/// The chunk of `arrays` at `position`; `None` after the last one.
pub(super) fn piece<'a>(
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
pub(super) fn place(
    lengths: impl Iterator<Item = usize>,
    position: i64,
    bytes: usize,
) -> Result<(usize, Range<usize>), ChunkError> {
    if bytes == 0 {
        return Err(ChunkError::Empty);
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
    Err(ChunkError::Outside { found: position, bytes, last: end + 1 })
}

/// The start of a chunk of `bytes` bytes that ends at `position`.
fn offset(position: i64, bytes: usize) -> Result<u64, ChunkError> {
    let refused = ChunkError::Position { found: position, bytes };
    let end = u64::try_from(position).ok().and_then(|end| end.checked_sub(1)).ok_or(refused)?;
    end.checked_sub(bytes as u64).ok_or(refused)
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

    /// The next number with a fraction.
    ///
    /// # Errors
    /// The dump ends, or something else comes next.
    fn read_f64(&mut self) -> Result<f64, Unreadable>;

    /// The next string.
    ///
    /// # Errors
    /// The dump ends, or something else comes next.
    fn read_bytes(&mut self) -> Result<Self::Bytes, Unreadable>;
}

#[cfg(any(test, feature = "fuzz"))]
/// Receives the dump of a filter. The server records write errors.
pub trait Sink {
    /// Dumps a number.
    fn write_u64(&mut self, number: u64);

    /// Dumps a number with a fraction.
    fn write_f64(&mut self, number: f64);

    /// Dumps a string.
    fn write_bytes(&mut self, bytes: &[u8]);
}

/// The next number, which must fit.
pub(super) fn read_narrow<T: TryFrom<u64>>(
    source: &mut impl Source,
    name: &'static str,
    expected: &'static str,
) -> Result<T, LoadError> {
    let found = source.read_u64()?;
    T::try_from(found).map_err(|_| LoadError::Number { name, found, expected })
}

//! The pieces of `SCANDUMP` and `LOADCHUNK`: arrays one after the other, cut every 16 MiB.
//!
//! A position is 1 + an offset into all arrays laid end to end. Each piece travels with the position of
//! its *end*, and no piece reaches over the end of an array.

use std::ops::Range;

use thiserror::Error;

/// No piece is longer.
pub const CHUNK_BYTES: usize = 16 << 20;

/// A piece of the arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The position of its end: it goes with the piece, and asks for the next one.
    pub next: i64,
    /// The piece; never empty.
    pub bytes: &'a [u8],
}

/// A piece is refused; the filter is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ChunkError {
    /// Not a position, or one that lies before the end of the piece.
    #[error(
        "position {found} cannot be the end of a chunk of {bytes} bytes: pass on each chunk with the iterator it came \
         with"
    )]
    Position {
        /// The position.
        found: i64,
        /// Bytes of the piece.
        bytes: usize,
    },
    /// A piece without bytes.
    #[error("the chunk is empty: leave it out")]
    Empty,
    /// The piece is not inside one array.
    #[error(
        "a chunk of {bytes} bytes that ends at position {found} is not inside one sub-filter (the last one ends at \
         {last}): pass on each chunk with the iterator it came with"
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

/// The piece of `arrays` at `position`; none after the last one.
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

/// Where a piece of `bytes` bytes lies that ends at `position`, in arrays of these lengths: the number of the array, and
/// the range in it.
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

/// Where a piece of `bytes` begins that ends at `position`.
fn offset(position: i64, bytes: usize) -> Result<u64, ChunkError> {
    let refused = ChunkError::Position { found: position, bytes };
    let end = u64::try_from(position).ok().and_then(|end| end.checked_sub(1)).ok_or(refused)?;
    end.checked_sub(bytes as u64).ok_or(refused)
}

//! What the filters of both kinds have in common: a header, and arrays of bytes.
//!
//! `SCANDUMP` hands them out in pieces; stores that keep values as a whole take them as one stream: the length of the
//! header, the header, and all arrays.

use std::io::{self, Read, Write};
use std::ops::Range;

use super::chunks::{Chunk, ChunkError, piece, place};
use super::error::LoadError;
use super::limits::Limits;
use super::memory::{OutOfMemory, zeroed};
use super::rdb::Source;

/// That of the longest chain of Bloom filters is less than 64 KiB.
const MAX_HEADER_BYTES: u32 = 1 << 16;

/// A filter of the peer.
pub trait PeerFilter: Sized {
    /// Reads a filter that was dumped in `encoding`.
    ///
    /// # Errors
    /// The encoding is not known, the dump is not one of the peer's, or the filter is too large.
    fn read(source: &mut impl Source, encoding: u32, limits: &Limits) -> Result<Self, LoadError>;

    /// A filter as its header describes it, over arrays that come from `array`.
    ///
    /// # Errors
    /// The header is not one of the peer's, or the filter is too large; and those of `array`.
    fn over(
        header: &[u8],
        limits: &Limits,
        array: impl FnMut(u64) -> Result<Vec<u8>, LoadError>,
    ) -> Result<Self, LoadError>;

    /// The header, from which the same filter without contents can be made.
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
    /// There is no memory for one.
    fn try_clone(&self) -> Result<Self, OutOfMemory>;

    /// A filter as its header describes it, still without contents.
    ///
    /// # Errors
    /// As those of [`over`](Self::over).
    fn from_header(header: &[u8], limits: &Limits) -> Result<Self, LoadError> {
        Self::over(header, limits, |bytes| Ok(zeroed(bytes)?))
    }

    /// Reads what [`write_to`](Self::write_to) wrote.
    ///
    /// # Errors
    /// The stream ends early, it is not of such a filter, or the filter is too large.
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

    /// The piece of the arrays at `position`, which is 1 for the first one; none after the last.
    ///
    /// # Errors
    /// Not a position.
    fn chunk(&self, position: i64) -> Result<Option<Chunk<'_>>, ChunkError> {
        piece(self.arrays(), position)
    }

    /// Puts a piece into its place.
    ///
    /// # Errors
    /// It has none; nothing has changed.
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

/// The next bytes. Memory grows with what arrives, not with what is announced.
fn read_array(input: impl Read, bytes: u64) -> Result<Vec<u8>, LoadError> {
    let mut array = Vec::new();
    let read = input.take(bytes).read_to_end(&mut array);
    let has_all = read.is_ok_and(|read| read as u64 == bytes);
    if has_all { Ok(array) } else { Err(LoadError::Unreadable) }
}

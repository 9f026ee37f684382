//! A filter as one stream of bytes: the length of its header, the header, and all arrays.
//!
//! It is what `SCANDUMP` hands out, without the positions; for stores that keep values as a whole.

use std::io::{self, Read, Write};

use super::error::LoadError;

/// That of the longest chain of Bloom filters is less than 64 KiB.
const MAX_HEADER_BYTES: u32 = 1 << 16;

pub(super) fn write<'a>(
    header: &[u8],
    arrays: impl Iterator<Item = &'a [u8]>,
    mut out: impl Write,
) -> io::Result<()> {
    out.write_all(&(header.len() as u32).to_le_bytes())?;
    out.write_all(header)?;
    for array in arrays {
        out.write_all(array)?;
    }
    Ok(())
}

pub(super) fn read_header(mut input: impl Read) -> Result<Vec<u8>, LoadError> {
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
pub(super) fn read_array(input: impl Read, bytes: u64) -> Result<Vec<u8>, LoadError> {
    let mut array = Vec::new();
    let read = input.take(bytes).read_to_end(&mut array);
    let has_all = read.is_ok_and(|read| read as u64 == bytes);
    if has_all { Ok(array) } else { Err(LoadError::Unreadable) }
}

//! Little-endian fields and checksums of a snapshot's header, tables and trailer.

use std::fmt::Display;
use std::io::Read;

use crate::hash::KeyHasher;
use crate::snapshot::error::LoadError;

/// The first bytes of a snapshot.
pub const MAGIC: [u8; 8] = *b"\x89COUA\r\n\x1a";
/// The last bytes of a snapshot.
pub(super) const END_MAGIC: [u8; 8] = *b"COUA-END";

/// The error of a field with this value.
pub(crate) fn bad_field<T>(name: &'static str, found: impl Into<u64>) -> Result<T, LoadError> {
    Err(LoadError::Field { name, found: found.into() })
}

/// Refuses a field that does not have its only possible value.
pub(crate) fn require_eq(
    name: &'static str,
    wanted: u64,
    found: impl Into<u64>,
) -> Result<(), LoadError> {
    let found = found.into();
    if found == wanted { Ok(()) } else { bad_field(name, found) }
}

/// Refuses a part that differs from what was written.
pub(crate) fn require_checksum<T: PartialEq>(
    found: &T,
    written: &T,
    part: impl Display,
) -> Result<(), LoadError> {
    if found == written { Ok(()) } else { Err(LoadError::Checksum { part: part.to_string() }) }
}

pub(crate) fn checksum_of(bytes: &[u8]) -> u64 {
    KeyHasher::default().hash(bytes).to_u64()
}

pub(crate) fn put_u32(out: &mut Vec<u8>, numbers: &[u32]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

pub(crate) fn put_u64(out: &mut Vec<u8>, numbers: &[u64]) {
    out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
}

/// Reads `bytes` bytes. Allocates memory only for bytes that exist.
pub(super) fn read_exactly(input: &mut impl Read, bytes: u64) -> Result<Vec<u8>, LoadError> {
    let mut data = Vec::new();
    let read = input.take(bytes).read_to_end(&mut data)? as u64;
    if read == bytes { Ok(data) } else { Err(LoadError::Length { expected: bytes, found: read }) }
}

/// Fields in reading order.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    fn read_array<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("a field within the bytes");
        self.0 = rest;
        *field
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.read_array())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.read_array())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.read_array())
    }

    /// Refuses a byte that is not zero in the next `bytes` bytes.
    pub(super) fn reserved(&mut self, bytes: usize) -> Result<(), LoadError> {
        let (reserved, rest) = self.0.split_at(bytes);
        self.0 = rest;
        let other = reserved.iter().find(|&&byte| byte != 0);
        other.map_or(Ok(()), |&byte| bad_field("reserved", byte))
    }
}

/// The value that has this number.
pub(crate) fn named<T: Copy>(
    name: &'static str,
    found: u32,
    numbers: &[(u32, T)],
) -> Result<T, LoadError> {
    let named = numbers.iter().find(|(number, _)| *number == found);
    named.map_or_else(|| bad_field(name, found), |&(_, value)| Ok(value))
}

/// The number that [`named`] reads as this value.
pub(crate) fn number_of<T: Copy + PartialEq>(value: T, numbers: &[(u32, T)]) -> u32 {
    let named = numbers.iter().find(|(_, named)| *named == value);
    named.expect("every value has a number").0
}

//! Little-endian fields and checksums: what the headers, tables and ends of all files are made of.

use std::io::{self, Read, Take};

use xxhash_rust::xxh3::Xxh3;

use crate::hash::KeyHasher;
use crate::snapshot::error::{LoadError, Part};

pub(crate) const MAGIC: [u8; 8] = *b"\x89COUA\r\n\x1a";
/// The last bytes of a snapshot.
pub(crate) const END_MAGIC: [u8; 8] = *b"COUA-END";
/// Parts that can be used in place begin at a multiple of this.
pub(crate) const PAGE: u64 = 4096;

/// The error of a field with this value.
pub(crate) fn wrong<T>(name: &'static str, found: impl Into<u64>) -> Result<T, LoadError> {
    Err(LoadError::Field { name, found: found.into() })
}

/// Whether what was found of a part is what was written.
pub(crate) fn intact<T: PartialEq>(found: &T, written: &T, part: Part) -> Result<(), LoadError> {
    if found == written { Ok(()) } else { Err(LoadError::Checksum { part }) }
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

/// How a header of so many bytes begins.
pub(crate) fn begin(version: u16, kind: u16, bytes: usize) -> Vec<u8> {
    let (version, kind) = (version.to_le_bytes(), kind.to_le_bytes());
    [&MAGIC[..], &version, &kind, &(bytes as u32).to_le_bytes()].concat()
}

/// A header of so many bytes: zeros up to the checksum, and the checksum.
pub(crate) fn finish(mut header: Vec<u8>, bytes: usize) -> Vec<u8> {
    header.resize(bytes - 8, 0);
    let sum = checksum_of(&header);
    put_u64(&mut header, &[sum]);
    header
}

/// The end of a file: two numbers, the checksum of its header and these, and a mark.
pub(crate) fn end_of(head: &[u8], numbers: [u64; 2]) -> Vec<u8> {
    let numbers = numbers.map(u64::to_le_bytes).concat();
    let whole = checksum_of(&[head, &numbers].concat());
    [&numbers[..], &whole.to_le_bytes(), &END_MAGIC].concat()
}

/// Reads `bytes` bytes, and no memory is taken for those that are not there.
pub(crate) fn read_exactly(input: &mut impl Read, bytes: u64) -> Result<Vec<u8>, LoadError> {
    let mut data = Vec::new();
    let read = input.take(bytes).read_to_end(&mut data)? as u64;
    if read == bytes { Ok(data) } else { Err(LoadError::Length { expected: bytes, found: read }) }
}

/// Passes over bytes between the parts, which are zero.
pub(crate) fn read_padding(input: &mut impl Read, bytes: u64) -> Result<(), LoadError> {
    let is_zero = read_exactly(input, bytes)?.iter().all(|&byte| byte == 0);
    intact(&is_zero, &true, Part::Padding)
}

/// Fields in reading order.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// The fields of a whole header, if it is sound and of this kind: those after its length.
    pub(crate) fn of_header(bytes: &'a [u8], kind: u16) -> Result<Self, LoadError> {
        let (fields, sum) = bytes.split_at(bytes.len() - 8);
        intact(&Self(sum).u64(), &checksum_of(fields), Part::Header)?;
        // After the mark and the version.
        let mut fields = Self(&fields[10..]);
        expect("kind", u64::from(kind), fields.u16())?;
        expect("header length", bytes.len() as u64, fields.u32())?;
        Ok(fields)
    }

    /// Whether the rest of a header is zero.
    pub(crate) fn expect_zeros(mut self) -> Result<(), LoadError> {
        while !self.0.is_empty() {
            expect("reserved", 0, self.u64())?;
        }
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_first_chunk().expect("a field within the header");
        self.0 = rest;
        *field
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    /// The value whose number a field holds.
    pub(crate) fn one_of<T: Copy>(
        &mut self,
        name: &'static str,
        numbers: &[(u32, T)],
    ) -> Result<T, LoadError> {
        let found = self.u32();
        let named = numbers.iter().find(|(number, _)| *number == found);
        named.map_or_else(|| wrong(name, found), |&(_, value)| Ok(value))
    }
}

/// The number that [`Reader::one_of`] reads as this value.
pub(crate) fn number_of<T: Copy + PartialEq>(value: T, numbers: &[(u32, T)]) -> u32 {
    let named = numbers.iter().find(|(_, named)| *named == value);
    named.expect("every value has a number").0
}

/// Whether a field has the only value that it may have.
pub(crate) fn expect(
    name: &'static str,
    wanted: u64,
    found: impl Into<u64>,
) -> Result<(), LoadError> {
    let found = found.into();
    if found == wanted { Ok(()) } else { wrong(name, found) }
}

/// A part of an input, whose checksum is taken while it is read.
pub(crate) struct Summed<R> {
    input: Take<R>,
    sum: Xxh3,
}

impl<R: Read> Summed<R> {
    /// The next so many bytes.
    pub(crate) fn new(input: R, bytes: u64) -> Self {
        Self { input: input.take(bytes), sum: Xxh3::new() }
    }

    /// Whether all of it was read, and this is its checksum.
    pub(crate) fn check(self, checksum: u64, part: Part) -> Result<(), LoadError> {
        intact(&(self.input.limit(), self.sum.digest()), &(0, checksum), part)
    }
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(bytes)?;
        self.sum.update(&bytes[..read]);
        Ok(read)
    }
}

//! What the servers' `DUMP` says, written down and read by this crate alone: the value of a module
//! is a list of marked numbers and strings.

use super::super::sub_filter::DEFAULT_SEED;
use super::super::{LoadError, PeerCuckoo, Source};

const TYPE_MODULE: u8 = 7;
const END: u64 = 0;
const UNSIGNED: u64 = 2;
const STRING: u64 = 5;
/// Version of the dump and its checksum, which only the server looks at.
const FOOTER_BYTES: usize = 10;

/// Reads the value in a dump, from front to back.
pub(in super::super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The value of a `DUMP`, and the encoding of its type.
    pub(in super::super) fn of_dump(dump: &'a [u8]) -> (Self, u32) {
        let (value, _) = dump.split_at(dump.len() - FOOTER_BYTES);
        assert_eq!(value[0], TYPE_MODULE);
        let mut reader = Self { rest: &value[1..] };
        let id = reader.length().unwrap();
        (reader, (id & 0x3ff) as u32)
    }

    /// Any bytes as a value.
    pub(in super::super) fn of_value(value: &'a [u8]) -> Self {
        Self { rest: value }
    }

    pub(in super::super) fn is_at_end(&mut self) -> bool {
        self.length() == Ok(END) && self.rest.is_empty()
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], LoadError> {
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or(LoadError::Unreadable)?;
        self.rest = rest;
        Ok(taken)
    }

    fn length(&mut self) -> Result<u64, LoadError> {
        let first = self.take(1)?[0];
        let big_endian =
            |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        match first {
            0..0x40 => Ok(u64::from(first)),
            0x40..0x80 => Ok(u64::from(first & 0x3f) << 8 | u64::from(self.take(1)?[0])),
            0x80 => self.take(4).map(big_endian),
            0x81 => self.take(8).map(big_endian),
            _ => Err(LoadError::Unreadable),
        }
    }

    fn marked(&mut self, mark: u64) -> Result<(), LoadError> {
        if self.length()? == mark { Ok(()) } else { Err(LoadError::Unreadable) }
    }
}

impl Source for Reader<'_> {
    type Bytes = Vec<u8>;

    fn read_u64(&mut self) -> Result<u64, LoadError> {
        self.marked(UNSIGNED)?;
        self.length()
    }

    fn read_bytes(&mut self) -> Result<Vec<u8>, LoadError> {
        self.marked(STRING)?;
        let bytes = usize::try_from(self.length()?).map_err(|_| LoadError::Unreadable)?;
        self.take(bytes).map(<[u8]>::to_vec)
    }
}

/// Writes a value as a server does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Writer {
    pub(in super::super) value: Vec<u8>,
}

impl Writer {
    /// The value of what `write` writes.
    pub(in super::super) fn value_of(write: impl FnOnce(&mut Self)) -> Vec<u8> {
        let mut writer = Self::default();
        write(&mut writer);
        writer.length(END);
        writer.value
    }

    fn length(&mut self, length: u64) {
        match length {
            0..0x40 => self.big_endian(length, 1),
            0x40..0x4000 => self.big_endian(length | 0x4000, 2),
            0x4000..=0xffff_ffff => {
                self.value.push(0x80);
                self.big_endian(length, 4);
            }
            _ => {
                self.value.push(0x81);
                self.big_endian(length, 8);
            }
        }
    }

    fn big_endian(&mut self, number: u64, bytes: u32) {
        self.value.extend((0..bytes).rev().map(|byte| (number >> (8 * byte)) as u8));
    }
}

/// The encoding of [`value_of`]: 4, or 5 for a filter with a seed.
pub(in super::super) fn encoding_of(filter: &PeerCuckoo) -> u32 {
    if filter.shape.seed == DEFAULT_SEED { 4 } else { 5 }
}

/// The value that the peer would dump for this filter.
pub(in super::super) fn value_of(filter: &PeerCuckoo) -> Vec<u8> {
    let shape = &filter.shape;
    Writer::value_of(|writer| {
        let sub_filters = u64::from(filter.sub_filters());
        for field in [sub_filters, shape.buckets, filter.items(), filter.deletes] {
            writer.write_u64(field);
        }
        for field in [shape.bucket_size, shape.max_iterations, shape.expansion] {
            writer.write_u64(u64::from(field));
        }
        for slots in filter.arrays() {
            writer.write_u64(slots.len() as u64 / u64::from(shape.bucket_size));
            writer.write_bytes(slots);
        }
        if encoding_of(filter) == 5 {
            writer.write_u64(shape.seed);
        }
    })
}

impl Writer {
    pub(in super::super) fn write_u64(&mut self, number: u64) {
        self.length(UNSIGNED);
        self.length(number);
    }

    pub(in super::super) fn write_bytes(&mut self, bytes: &[u8]) {
        self.length(STRING);
        self.length(bytes.len() as u64);
        self.value.extend(bytes);
    }
}

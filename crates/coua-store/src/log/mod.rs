//! The log: commits after the snapshot, in frames that exist completely or not at all.
//!
//! `docs/format.md`, section 9, is the normative text. A transaction is any number of frames and one
//! that commits them.

mod changes;
mod frame;
mod scan;
mod torn;
mod write;

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read};

use crate::fs::positioned;

pub(crate) use changes::{ChangeEncoder, Changes, LoggedChange, decode_changes, replay};
pub(crate) use frame::{Kind, MOST_PAYLOAD, TransactionDigest};
pub(crate) use scan::{Frame, Scan};
pub(crate) use write::{Log, Target, Transaction};

/// The offset of the first frame in a file, and the snapshot to which the frames belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    /// Bytes before the first frame: those of the snapshot.
    pub(crate) bytes: u64,
    /// The whole checksum in the snapshot's trailer.
    pub(crate) checksum: u64,
}

impl Base {
    /// Bytes at the end of a snapshot that begin with its whole checksum (docs/format.md, section 6).
    const END: u64 = 16;

    /// The base of the snapshot in the first `bytes` bytes of a file.
    pub(crate) fn of(file: &dyn Source, bytes: u64) -> io::Result<Self> {
        let mut checksum = [0; 8];
        file.read_at(bytes.saturating_sub(Self::END), &mut checksum)?;
        Ok(Self { bytes, checksum: u64::from_le_bytes(checksum) })
    }

    /// Whether a file still begins with the snapshot.
    pub(crate) fn is_in(self, file: &File) -> bool {
        let is_there = file.length().is_ok_and(|length| length >= self.bytes);
        is_there && Self::of(file, self.bytes).is_ok_and(|found| found == self)
    }

    /// The offset of the first frame.
    pub(crate) fn first(self) -> Mark {
        Mark { at: self.bytes, sequence: 0 }
    }
}

/// A place between two frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Bytes from the beginning of the file.
    pub(crate) at: u64,
    /// The number of the frame that follows.
    pub(crate) sequence: u64,
}

/// A file or a substitute, read at offsets.
pub(crate) trait Source: Debug {
    /// The length in bytes.
    fn length(&self) -> io::Result<u64>;

    /// Fills the buffer with the bytes at an offset, up to the end of the file, and returns their number.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

impl Source for &[u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let offset = usize::try_from(offset).map_or(self.len(), |offset| offset.min(self.len()));
        (&self[offset..]).read(buffer)
    }
}

impl Source for File {
    fn length(&self) -> io::Result<u64> {
        self.metadata().map(|found| found.len())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match positioned::read_at(self, &mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

/// Takes a little-endian field from the beginning of the bytes; `None` if they end before.
pub(crate) fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    take(bytes).map(u32::from_le_bytes)
}

/// [`take_u32`] for eight bytes.
fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    take(bytes).map(u64::from_le_bytes)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (field, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*field)
}

pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

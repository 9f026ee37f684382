//! A file elsewhere, whose pieces are loaded on demand.
//!
//! A browser reads files only while no WebAssembly runs. So a read of bytes that are not here fails and notes
//! which they are; JavaScript brings them, and the whole question is asked again.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};

use coua_store::inspect::Source;

/// The first piece at a place; each one that follows it is twice as long.
const FIRST_PIECE: u64 = 16 << 10;
const LARGEST_PIECE: u64 = 8 << 20;

/// The pieces of a file that are here, by their offsets.
#[derive(Debug)]
pub(crate) struct Sparse {
    length: u64,
    pieces: BTreeMap<u64, Vec<u8>>,
    wanted: RefCell<Option<Wanted>>,
}

/// Bytes that are to be brought.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Wanted {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

impl Sparse {
    pub(crate) fn new(length: u64) -> Self {
        Self { length, pieces: BTreeMap::new(), wanted: RefCell::default() }
    }

    /// A piece that was wanted.
    pub(crate) fn give(&mut self, offset: u64, bytes: Vec<u8>) {
        self.pieces.insert(offset, bytes);
    }

    /// Forgets pieces that end before `offset`.
    pub(crate) fn forget_before(&mut self, offset: u64) {
        self.pieces.retain(|begin, bytes| begin + bytes.len() as u64 >= offset);
    }

    /// Forgets all pieces.
    pub(crate) fn clear(&mut self) {
        self.pieces.clear();
    }

    /// The bytes whose absence made a read fail since the last call.
    pub(crate) fn take_wanted(&self) -> Option<Wanted> {
        self.wanted.take()
    }

    /// Whole pieces before `offset`, without a gap, end here with the last one's length.
    fn last_piece(&self, offset: u64) -> Option<(u64, &Vec<u8>)> {
        self.pieces.range(..=offset).next_back().map(|(begin, bytes)| (*begin, bytes))
    }

    fn want(&self, offset: u64, length: u64) -> io::Error {
        let follows = self
            .last_piece(offset)
            .filter(|(begin, bytes)| begin + bytes.len() as u64 == offset && !bytes.is_empty());
        let ahead = follows.map_or(FIRST_PIECE, |(_, bytes)| 2 * bytes.len() as u64);
        let length = length.max(ahead.min(LARGEST_PIECE)).min(self.length - offset);
        *self.wanted.borrow_mut() = Some(Wanted { offset, length });
        io::Error::from(io::ErrorKind::WouldBlock)
    }
}

impl Source for Sparse {
    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let there = self.length.saturating_sub(offset).min(buffer.len() as u64) as usize;
        let mut filled = 0;
        while filled < there {
            let at = offset + filled as u64;
            let piece = self.last_piece(at).and_then(|(begin, bytes)| {
                bytes.get((at - begin) as usize..).filter(|rest| !rest.is_empty())
            });
            let Some(rest) = piece else {
                return Err(self.want(at, (there - filled) as u64));
            };
            let some = rest.len().min(there - filled);
            buffer[filled..filled + some].copy_from_slice(&rest[..some]);
            filled += some;
        }
        Ok(there)
    }
}

/// A place in such a file, from which it is read on.
pub(crate) struct Reading<'a> {
    pub(crate) file: &'a Sparse,
    pub(crate) at: u64,
}

impl Read for Reading<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.at, buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Reading<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file.length.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

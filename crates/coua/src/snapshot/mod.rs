//! A filter as bytes: one documented little-endian format for the library, the program and the bindings.
//!
//! ```text
//! header | segment table | padding | segments | overflow table | trailer
//! ```
//!
//! Every byte is covered by a checksum or checked to be zero. Segments lie in hash order, each
//! aligned to 64 bytes and padded for loads of whole words, so that a mapped file can be used in place.
//! `docs/format.md` is the normative description.

mod error;
mod fields;
#[cfg(feature = "file")]
mod folder;
mod front;
mod header;
mod load;
#[cfg(feature = "mmap")]
mod map;
mod open;
#[cfg(feature = "file")]
mod save;
mod slots;
#[cfg(feature = "file")]
mod verify;

use std::cell::LazyCell;
use std::io::{self, Write};

pub(crate) use error::GENERATIONS_VERSION;
pub use error::{LoadError, Part};
pub(crate) use fields::{
    END_MAGIC, MAGIC, PAGE, Reader, Summed, begin, checksum_of, end_of, expect, finish, number_of,
    put_u32, put_u64, read_exactly, read_padding, wrong,
};
#[cfg(feature = "file")]
#[doc(hidden)]
pub use folder::{Folder, follow_links};
pub(crate) use front::{Front, entries, snapshot_end};
pub(crate) use header::SecretKey;
pub(crate) use load::{load, load_stream};
pub(crate) use open::sealed;
pub use open::{Load, Snapshot};
#[cfg(feature = "file")]
pub(crate) use verify::verify;

use xxhash_rust::xxh3::Xxh3;

use crate::filter::CuckooFilter;
use header::{Header, trailer};

/// Bytes of the overflow table that are written at a time: whole entries.
const OVERFLOW_PIECE: usize = 4096 * header::ENTRY_BYTES as usize;

impl CuckooFilter {
    /// Writes the snapshot. The bytes depend only on the filter's history of operations, not on the
    /// machine. O(bytes); `out` need not be buffered.
    ///
    /// A SipHash key is not written, only a value to recognize it by.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_to<W: Write>(&self, out: W) -> io::Result<()> {
        self.write_from(0, out)
    }

    /// What [`write_to`](Self::write_to) writes, without its first `start` bytes: for callers that
    /// send a snapshot in pieces, with an `out` that ends after each. A piece within the segments takes time
    /// in proportion to itself; for the first and the last bytes, all segments are read.
    ///
    /// # Errors
    ///
    /// Those of `out`; `InvalidInput` if the snapshot is shorter than `start`.
    pub fn write_from<W: Write>(&self, start: u64, out: W) -> io::Result<()> {
        let header = Header::of(self);
        let head = header.encode();
        let rows = LazyCell::new(|| self.segment_rows(&header));
        let mut rest = Rest::new(out, start);
        if !rest.skips(header.first_segment()) {
            rest.write_all(&head)?;
            rest.write_all(&rows)?;
            rest.pad()?;
        }
        let segments = self.as_segments();
        for index in segments.in_hash_order() {
            rest.write_all(segments.packed(segments.get(index)))?;
        }
        let overflow_sum = self.write_overflow(&mut rest)?;
        rest.write_all(&trailer(&head, &rows, overflow_sum))?;
        rest.finish()
    }

    /// Bytes that [`write_to`](Self::write_to) writes.
    pub(crate) fn snapshot_len(&self) -> u64 {
        Header::of(self).end()
    }

    fn segment_rows(&self, header: &Header) -> Vec<u8> {
        let mut rows = Vec::with_capacity(self.segments() * header::ROW_BYTES as usize);
        let mut offset = header.first_segment();
        let segments = self.as_segments();
        for index in segments.in_hash_order() {
            let segment = segments.get(index);
            let (packed, depth) = (segments.packed(segment), segments.depth_of(index));
            let flags = u32::from(segment.is_overfull());
            put_u32(&mut rows, &[depth, segment.occupied(), flags, 0]);
            put_u64(&mut rows, &[offset, checksum_of(packed)]);
            offset += packed.len() as u64;
        }
        rows
    }

    /// Writes the overflow table, a piece at a time; its checksum.
    fn write_overflow(&self, out: &mut impl Write) -> io::Result<u64> {
        let (mut piece, mut sum) = (Vec::new(), Xxh3::new());
        let mut entries = self.overflow().iter().peekable();
        while let Some((hash, entry)) = entries.next() {
            put_u64(&mut piece, &[hash.to_u64(), entry.extra, entry.overflowed]);
            if piece.len() == OVERFLOW_PIECE || entries.peek().is_none() {
                sum.update(&piece);
                out.write_all(&piece)?;
                piece.clear();
            }
        }
        Ok(sum.digest())
    }
}

impl PartialEq for CuckooFilter {
    /// Whether the snapshots of both would be equal: the same parameters, and the same items in the same
    /// slots. The same keys in another order usually make an unequal filter with the same answers. O(bytes).
    fn eq(&self, other: &Self) -> bool {
        let [my, their] = [self, other].map(Self::as_segments);
        let is_same = |(mine, theirs)| {
            let (mine, theirs) = (my.get(mine), their.get(theirs));
            mine.level() == theirs.level()
                && mine.is_overfull() == theirs.is_overfull()
                && my.packed(mine) == their.packed(theirs)
        };
        let mut segments = my.in_hash_order().zip(their.in_hash_order());
        self.hasher() == other.hasher()
            && Header::of(self).encode() == Header::of(other).encode()
            && segments.all(is_same)
            && self.overflow().iter().eq(other.overflow().iter())
    }
}

/// An output that leaves out the first bytes, and knows its position.
pub(crate) struct Rest<W> {
    out: W,
    /// Bytes still to be left out.
    skip: u64,
    /// Bytes so far, those that were left out included.
    at: u64,
    /// Of what is written from when it was set.
    sum: Option<Xxh3>,
}

impl<W: Write> Rest<W> {
    pub(crate) fn new(out: W, skip: u64) -> Self {
        Self { out, skip, at: 0, sum: None }
    }

    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    /// Skips the next `length` bytes if all of them are to be left out; whether it did.
    fn skips(&mut self, length: u64) -> bool {
        let is_left_out = self.skip >= length;
        if is_left_out {
            self.skip -= length;
            self.at += length;
        }
        is_left_out
    }

    /// Writes zeros up to the next page.
    pub(crate) fn pad(&mut self) -> io::Result<()> {
        let zeros = self.at.next_multiple_of(PAGE) - self.at;
        self.write_all(&vec![0; zeros as usize])
    }

    /// Writes the snapshot of a filter; its checksum, if all of it was written.
    pub(crate) fn put(&mut self, filter: &CuckooFilter) -> io::Result<Option<u64>> {
        if self.skips(filter.snapshot_len()) {
            return Ok(None);
        }
        let skipped = std::mem::take(&mut self.skip);
        self.at += skipped;
        self.sum = (skipped == 0).then(Xxh3::new);
        filter.write_from(skipped, &mut *self)?;
        Ok(self.sum.take().map(|sum| sum.digest()))
    }

    /// Ends the output, which must have reached its first byte.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if self.skip > 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.out.flush()
    }
}

impl<W: Write> Write for Rest<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = self.skip.min(bytes.len() as u64);
        self.skip -= skipped;
        let done = if skipped > 0 { skipped as usize } else { self.out.write(bytes)? };
        self.at += done as u64;
        if let Some(sum) = &mut self.sum {
            sum.update(&bytes[..done]);
        }
        Ok(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

//! Writes filters as a snapshot.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::OnceLock;

use xxhash_rust::xxh3::Xxh3;

use crate::filter::CuckooFilter;
use crate::segments::Segments;
use crate::snapshot::fields::{checksum_of, put_u32, put_u64};
use crate::snapshot::header::{ENTRY_BYTES, Header, PartRow, StoredWindow};
use crate::snapshot::preamble::trailer;

/// Bytes of the overflow table that are written at a time: whole entries.
const OVERFLOW_PIECE: usize = 4096 * ENTRY_BYTES as usize;

/// Writes a snapshot in parts, in any order, by one or more threads.
///
/// ```
/// use coua::CuckooFilter;
/// let filter = CuckooFilter::new();
/// let writer = filter.writer();
/// let mut parts = [Vec::new(), Vec::new()];
/// writer.write(0..100, &mut parts[0])?;
/// writer.write(100..writer.length(), &mut parts[1])?;
/// let mut whole = Vec::new();
/// filter.write_to(&mut whole)?;
/// assert_eq!(parts.concat(), whole);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct SnapshotWriter<'a> {
    header: Header,
    rows: Vec<PartRow>,
    filters: Vec<&'a CuckooFilter>,
    /// The header and the tables, once they are needed: they take a checksum of every segment.
    tables: OnceLock<Vec<u8>>,
}

impl<'a> SnapshotWriter<'a> {
    /// A writer of these filters with their numbers, at least one. All have the same hash, kind of
    /// resolution and policy.
    pub(crate) fn new(
        window: Option<StoredWindow>,
        parts: impl Iterator<Item = (u64, &'a CuckooFilter)>,
    ) -> Self {
        let (rows, filters): (Vec<_>, Vec<_>) =
            parts.map(|(number, filter)| (PartRow::of(number, filter), filter)).unzip();
        let segments = filters.iter().flat_map(|filter| packed_segments(filter));
        let data = segments.map(|segment| segment.len() as u64).sum();
        let header = Header::of(filters[0], window, &rows, data);
        Self { header, rows, filters, tables: OnceLock::new() }
    }

    /// The length of the snapshot in bytes. O(1).
    pub fn length(&self) -> u64 {
        self.header.length()
    }

    /// Writes the bytes of the snapshot in a range, which may end after the snapshot. O(bytes); for the first and the
    /// last bytes all segments are read, once for all calls.
    ///
    /// # Errors
    ///
    /// Those of `out`; `InvalidInput` if the range begins after the end of the snapshot.
    pub fn write<W: Write>(&self, range: Range<u64>, out: W) -> io::Result<()> {
        if range.start > self.length() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let left = range.end.saturating_sub(range.start);
        let mut part = PartWriter { out, skip: range.start, left };
        if !part.skips(self.header.first_segment()) {
            part.write_all(self.tables())?;
            let padding = self.header.first_segment() - self.header.tables_end();
            part.write_all(&vec![0; padding as usize])?;
        }
        for segment in self.filters.iter().flat_map(|filter| packed_segments(filter)) {
            part.write_all(segment)?;
        }
        if part.left > 0 {
            let overflow_sum = self.write_overflow(&mut part)?;
            part.write_all(&trailer(self.tables(), overflow_sum))?;
        }
        part.flush()
    }

    fn tables(&self) -> &[u8] {
        self.tables.get_or_init(|| self.header_and_tables())
    }

    /// The header and the part table, which do not depend on slots.
    fn header_and_parts(&self) -> Vec<u8> {
        let mut bytes = self.header.encode();
        for row in &self.rows {
            row.encode(&mut bytes);
        }
        bytes
    }

    fn header_and_tables(&self) -> Vec<u8> {
        let mut bytes = self.header_and_parts();
        bytes.reserve_exact(self.header.tables_end() as usize - bytes.len());
        let mut offset = self.header.first_segment();
        for filter in &self.filters {
            let segments = filter.as_segments();
            for index in segments.in_hash_order() {
                let segment = segments.get(index);
                let (packed, depth) = (segments.packed(segment), segments.depth_of(index));
                let flags = u32::from(segment.is_overfull());
                put_u32(&mut bytes, &[depth, segment.occupied(), flags, 0]);
                put_u64(&mut bytes, &[offset, checksum_of(packed)]);
                offset += packed.len() as u64;
            }
        }
        bytes
    }

    /// Writes the overflow tables, a piece at a time, and returns their checksum.
    fn write_overflow(&self, out: &mut impl Write) -> io::Result<u64> {
        let (mut piece, mut sum) = (Vec::new(), Xxh3::new());
        let all = self.filters.iter().flat_map(|filter| filter.overflow().iter());
        let mut entries = all.peekable();
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

fn packed_segments(filter: &CuckooFilter) -> impl Iterator<Item = &[u8]> {
    let segments = filter.as_segments();
    segments.in_hash_order().map(|index| segments.packed(segments.get(index)))
}

impl CuckooFilter {
    /// Writes the snapshot. The bytes depend only on the filter's history of operations, not on the
    /// machine. O(bytes); `out` need not be buffered.
    ///
    /// A SipHash key is not written, only a value that recognizes it.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_to<W: Write>(&self, out: W) -> io::Result<()> {
        self.writer().write(0..u64::MAX, out)
    }

    /// A writer of parts of the snapshot.
    pub fn writer(&self) -> SnapshotWriter<'_> {
        SnapshotWriter::new(None, std::iter::once((0, self)))
    }
}

impl PartialEq for CuckooFilter {
    /// Whether the snapshots of both are equal: the same parameters, and the same items in the same
    /// slots. The same keys in another order usually make an unequal filter with the same answers. O(bytes).
    fn eq(&self, other: &Self) -> bool {
        let [mine, theirs] = [self, other].map(Self::as_segments);
        let state = |segments: &Segments, index: u32| {
            let segment = segments.get(index);
            (segment.level(), segment.is_overfull())
        };
        let mut pairs = mine.in_hash_order().zip(theirs.in_hash_order());
        self.hasher() == other.hasher()
            && self.writer().header_and_parts() == other.writer().header_and_parts()
            && pairs.all(|(one, other)| state(mine, one) == state(theirs, other))
            && packed_segments(self).eq(packed_segments(other))
            && self.overflow().iter().eq(other.overflow().iter())
    }
}

/// An output that takes some bytes of a stream.
struct PartWriter<W> {
    out: W,
    /// Bytes still to skip.
    skip: u64,
    /// Bytes that it still takes.
    left: u64,
}

impl<W> PartWriter<W> {
    /// Skips the next `length` bytes if all of them must be skipped. Returns whether it did.
    fn skips(&mut self, length: u64) -> bool {
        let is_left_out = self.skip >= length;
        if is_left_out {
            self.skip -= length;
        }
        is_left_out
    }
}

impl<W: Write> Write for PartWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = self.skip.min(bytes.len() as u64);
        self.skip -= skipped;
        if skipped > 0 {
            return Ok(skipped as usize);
        }
        if self.left == 0 {
            return Ok(bytes.len());
        }
        let taken = self.left.min(bytes.len() as u64);
        let written = self.out.write(&bytes[..taken as usize])?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

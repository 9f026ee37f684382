//! Writes filters as a snapshot.

use std::cell::LazyCell;
use std::io::{self, Write};

use xxhash_rust::xxh3::Xxh3;

use crate::filter::CuckooFilter;
use crate::segments::Segments;
use crate::snapshot::fields::{checksum_of, put_u32, put_u64};
use crate::snapshot::header::{ENTRY_BYTES, Header, PartRow, StoredWindow};
use crate::snapshot::preamble::trailer;

/// Bytes of the overflow table that are written at a time: whole entries.
const OVERFLOW_PIECE: usize = 4096 * ENTRY_BYTES as usize;

/// Writes a snapshot, or its end.
///
/// ```
/// use coua::CuckooFilter;
/// let filter = CuckooFilter::new();
/// let (mut whole, mut rest) = (Vec::new(), Vec::new());
/// filter.write_to(&mut whole)?;
/// assert_eq!(filter.writer().length(), whole.len() as u64);
/// filter.writer().write_from(100, &mut rest)?;
/// assert_eq!(rest, whole[100..]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct SnapshotWriter<'a> {
    header: Header,
    rows: Vec<PartRow>,
    filters: Vec<&'a CuckooFilter>,
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
        Self { header, rows, filters }
    }

    /// The length of the snapshot in bytes. O(1).
    pub fn length(&self) -> u64 {
        self.header.length()
    }

    /// Writes the bytes of the snapshot that begin at offset `start`. O(bytes); for the first and the last bytes all
    /// segments are read.
    ///
    /// # Errors
    ///
    /// Errors of `out`; `InvalidInput` if `start` is after the end of the snapshot.
    pub fn write_from<W: Write>(&self, start: u64, out: W) -> io::Result<()> {
        if start > self.length() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // They take a checksum of every segment: what writes a part in the middle must not wait for them.
        let tables = LazyCell::new(|| self.header_and_tables());
        let front = self.header.first_segment();
        let mut rest = SkipWriter { out, skip: start };
        if start < front {
            rest.write_all(&tables)?;
            rest.write_all(&vec![0; (front - self.header.tables_end()) as usize])?;
        } else {
            rest.skip -= front;
        }
        for segment in self.filters.iter().flat_map(|filter| packed_segments(filter)) {
            rest.write_all(segment)?;
        }
        let overflow_sum = self.write_overflow(&mut rest)?;
        rest.write_all(&trailer(&tables, overflow_sum))?;
        rest.flush()
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
    /// Errors of `out`.
    pub fn write_to<W: Write>(&self, out: W) -> io::Result<()> {
        self.writer().write_from(0, out)
    }

    /// A writer of the snapshot.
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

/// An output that skips the first bytes of a stream.
struct SkipWriter<W> {
    out: W,
    /// Bytes still to skip.
    skip: u64,
}

impl<W: Write> Write for SkipWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let skipped = self.skip.min(bytes.len() as u64);
        self.skip -= skipped;
        if skipped > 0 {
            return Ok(skipped as usize);
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

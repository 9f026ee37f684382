//! The part of a snapshot before its segments, read and checked by the rules of `load`.

use std::io::Read;

use crate::filter::OverflowEntry;
use crate::hash::KeyHash;
use crate::kernel::LevelGeometry;
use crate::snapshot::error::{LoadError, Part};
use crate::snapshot::fields::{
    MAGIC, Reader, checksum_of, expect, intact, read_exactly, read_padding, wrong,
};
use crate::snapshot::header::{
    ENTRY_BYTES, HEADER_BYTES, Header, ROW_BYTES, TRAILER_BYTES, trailer,
};

/// Rows of the segment table that are read before they are checked.
const ROWS_AT_A_TIME: u64 = 4096;

/// One row of the segment table, and what follows from the rows before it.
pub(crate) struct Row {
    /// The smallest hash of the segment.
    pub(crate) prefix: u64,
    pub(crate) depth: u32,
    /// The number of its level: the depth less the base depth.
    pub(crate) level: u8,
    /// Where the segment begins in the snapshot, and its length.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) occupied: u32,
    pub(crate) overfull: bool,
    pub(crate) checksum: u64,
}

/// The checked part before the segments, and its bytes, which the trailer's checksums cover.
pub(crate) struct Front {
    pub(crate) header: Header,
    pub(crate) levels: Vec<LevelGeometry>,
    pub(crate) rows: Vec<Row>,
    head_bytes: Vec<u8>,
    rows_bytes: Vec<u8>,
}

impl Front {
    /// Reads up to the first segment of an input of `length` bytes.
    pub(crate) fn read(input: &mut impl Read, length: u64) -> Result<Self, LoadError> {
        let (header, head_bytes) = read_header(input)?;
        if header.end() != length {
            return Err(LoadError::Length { expected: header.end(), found: length });
        }
        let levels = header.geometry.levels_below(u8::MAX);
        let mut front = Self { header, levels, rows: vec![], head_bytes, rows_bytes: vec![] };
        front.read_rows(input)?;
        let read = front.head_bytes.len() + front.rows_bytes.len();
        read_padding(input, header.first_segment() - read as u64)?;
        Ok(front)
    }

    /// Reads the segment table. Each row is checked as it comes, so that a file which is long but holds nothing
    /// (a sparse one) ends here.
    fn read_rows(&mut self, input: &mut impl Read) -> Result<(), LoadError> {
        let header = self.header;
        let mut next = (header.first_segment(), 0);
        while (self.rows.len() as u64) < header.segments {
            let some = (header.segments - self.rows.len() as u64).min(ROWS_AT_A_TIME);
            let bytes = read_exactly(input, some * ROW_BYTES)?;
            for row in bytes.chunks_exact(ROW_BYTES as usize) {
                let row = self.row_of(row, next)?;
                let covers_block = row.prefix.unbounded_shl(row.depth) == 0;
                if !covers_block || (row.prefix == 0) != self.rows.is_empty() {
                    return wrong("segment depths", header.segments);
                }
                let end = row.offset.checked_add(row.bytes);
                let end =
                    end.ok_or(LoadError::Field { name: "segment offset", found: row.offset })?;
                // After the last one it is zero again.
                let width = 1u64.unbounded_shl(64 - row.depth);
                next = (end, row.prefix.wrapping_add(width));
                self.rows.push(row);
            }
            self.rows_bytes.extend_from_slice(&bytes);
        }
        if next.1 != 0 {
            return wrong("segment depths", header.segments);
        }
        expect("overflow table offset", next.0, header.overflow)
    }

    fn row_of(&self, bytes: &[u8], (offset, prefix): (u64, u64)) -> Result<Row, LoadError> {
        let (header, mut fields) = (&self.header, Reader(bytes));
        let depth = fields.u32();
        let (occupied, flags, reserved) = (fields.u32(), fields.u32(), fields.u32());
        let (found, checksum) = (fields.u64(), fields.u64());
        let number = depth.checked_sub(header.geometry.base_depth);
        let level = number.and_then(|number| self.levels.get(number as usize));
        let Some(level) = level.filter(|_| depth <= header.deepest()) else {
            return wrong("segment depth", depth);
        };
        if found != offset || flags > 1 || reserved != 0 {
            return wrong("segment offset", found);
        }
        let bytes = level.bytes(header.geometry.segment_slots());
        let level = (depth - header.geometry.base_depth) as u8;
        Ok(Row { prefix, depth, level, offset, bytes, occupied, overfull: flags == 1, checksum })
    }

    /// The level of the segment that this row describes.
    pub(crate) fn level_of(&self, row: &Row) -> &LevelGeometry {
        &self.levels[usize::from(row.level)]
    }

    /// Reads the overflow table and the trailer, from an input that is positioned after the segments.
    pub(crate) fn overflow_bytes(&self, input: &mut impl Read) -> Result<Vec<u8>, LoadError> {
        let overflow_bytes = read_exactly(input, self.header.overflow_entries * ENTRY_BYTES)?;
        let found = read_exactly(input, TRAILER_BYTES)?;
        let overflow_sum = checksum_of(&overflow_bytes);
        let expected = trailer(&self.head_bytes, &self.rows_bytes, overflow_sum);
        intact(&found, &expected, Part::Trailer).map(|()| overflow_bytes)
    }
}

/// The length of the snapshot that begins here, by its header alone.
pub(crate) fn snapshot_end(input: &mut impl Read) -> Result<u64, LoadError> {
    read_header(input).map(|(header, _)| header.end())
}

/// Reads and checks a header, and returns its bytes as well.
pub(super) fn read_header(input: &mut impl Read) -> Result<(Header, Vec<u8>), LoadError> {
    let mut bytes = Vec::new();
    input.take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    let (begun, found) = (bytes.len().min(MAGIC.len()), bytes.len() as u64);
    match bytes.first_chunk() {
        Some(head) => Ok((Header::decode(head)?, bytes)),
        None if begun > 0 && bytes[..begun] == MAGIC[..begun] => {
            Err(LoadError::Length { expected: HEADER_BYTES as u64, found })
        }
        None => Err(LoadError::NotAFilter),
    }
}

/// The entries of an overflow table.
pub(crate) fn entries(table: &[u8]) -> impl ExactSizeIterator<Item = (KeyHash, OverflowEntry)> {
    table.chunks_exact(ENTRY_BYTES as usize).map(|entry| {
        let mut fields = Reader(entry);
        let hash = KeyHash::from_u64(fields.u64());
        (hash, OverflowEntry { extra: fields.u64(), overflowed: fields.u64() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CuckooFilter;
    use crate::snapshot::fields::{put_u32, put_u64};

    #[test]
    fn depths_that_do_not_cover_the_hashes_are_refused() {
        let filter = CuckooFilter::builder().hash_bits(40).capacity(100).build().unwrap();
        let whole = Header::of(&filter);
        let levels = whole.geometry.levels_below(u8::MAX);
        let rows_with = |depths: &[u32]| {
            let mut header = Header { segments: depths.len() as u64, ..whole };
            let (mut bytes, mut offset) = (Vec::new(), header.first_segment());
            for &depth in depths {
                put_u32(&mut bytes, &[depth, 0, 0, 0]);
                put_u64(&mut bytes, &[offset, 0]);
                offset += levels[depth as usize].bytes(header.geometry.segment_slots());
            }
            header.overflow = offset;
            let levels = levels.clone();
            let mut front =
                Front { header, levels, rows: vec![], head_bytes: vec![], rows_bytes: vec![] };
            front.read_rows(&mut &bytes[..]).map(|()| front.rows.len())
        };
        for right in [&[0][..], &[1, 1], &[1, 3, 3, 2], &[2, 2, 1]] {
            assert_eq!(rows_with(right).unwrap(), right.len());
        }
        for wrong in [&[1][..], &[0, 0], &[1, 2], &[1, 1, 1], &[2, 1, 2], &[3, 2, 2, 2, 3]] {
            let refused = rows_with(wrong);
            let expected = Err::<usize, _>(LoadError::Field {
                name: "segment depths",
                found: wrong.len() as u64,
            });
            assert_eq!(format!("{refused:?}"), format!("{expected:?}"), "{wrong:?}");
        }
    }
}

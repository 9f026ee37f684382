//! The part of a snapshot before its segments, read and checked by the rules of `load`.

use std::io::Read;

use crate::kernel::LevelGeometry;
use crate::snapshot::error::{LoadError, Part};
use crate::snapshot::header::{
    ENTRY_BYTES, HEADER_BYTES, Header, MAGIC, ROW_BYTES, Reader, TRAILER_BYTES, checksum_of,
    trailer, wrong,
};
use crate::table::Directory;

/// Rows of the segment table that are read before they are checked.
const ROWS_AT_A_TIME: u64 = 4096;

/// One row of the segment table.
pub(crate) struct Row {
    pub(crate) depth: u32,
    pub(crate) occupied: u32,
    pub(crate) overfull: bool,
    pub(crate) checksum: u64,
}

/// The checked part before the segments, and its bytes, which the trailer's checksums cover.
pub(crate) struct Front {
    pub(crate) header: Header,
    pub(crate) levels: Vec<LevelGeometry>,
    pub(crate) rows: Vec<Row>,
    pub(crate) directory: Directory,
    head_bytes: Vec<u8>,
    rows_bytes: Vec<u8>,
}

impl Front {
    /// Reads up to the first segment of an input of `length` bytes.
    pub(crate) fn read(input: &mut impl Read, length: u64) -> Result<Self, LoadError> {
        let mut head_bytes = Vec::new();
        input.take(HEADER_BYTES as u64).read_to_end(&mut head_bytes)?;
        let header = header_of(&head_bytes)?;
        if header.places.end != length {
            return Err(LoadError::Length { expected: header.places.end, found: length });
        }
        let levels = header.levels();
        let (rows_bytes, rows) = rows_of(input, &header, &levels)?;
        let padding = header.places.first_segment - (head_bytes.len() + rows_bytes.len()) as u64;
        if read_exactly(input, padding)?.iter().any(|&byte| byte != 0) {
            return Err(LoadError::Checksum { part: Part::Padding });
        }
        let depths: Vec<u32> = rows.iter().map(|row| row.depth).collect();
        let directory = Directory::from_depths(&depths)
            .ok_or(LoadError::Field { name: "segment depths", found: header.segments })?;
        Ok(Self { header, levels, rows, directory, head_bytes, rows_bytes })
    }

    /// The bytes of the segment that this row describes.
    pub(crate) fn segment_bytes(&self, row: &Row) -> u64 {
        let level = row.depth - self.header.geometry.base_depth;
        self.levels[level as usize].bytes(self.header.geometry.segment_slots())
    }

    /// Reads the overflow table and the trailer, from an input that is positioned after the segments.
    pub(crate) fn overflow_bytes(&self, input: &mut impl Read) -> Result<Vec<u8>, LoadError> {
        let overflow_bytes = read_exactly(input, self.header.overflow_entries * ENTRY_BYTES)?;
        let found = read_exactly(input, TRAILER_BYTES)?;
        let overflow_sum = checksum_of(&overflow_bytes);
        if found == trailer(&self.head_bytes, &self.rows_bytes, overflow_sum) {
            Ok(overflow_bytes)
        } else {
            Err(LoadError::Checksum { part: Part::Trailer })
        }
    }
}

/// The length of the snapshot that begins here, by its header alone.
pub(crate) fn snapshot_end(input: &mut impl Read) -> Result<u64, LoadError> {
    let mut head = Vec::new();
    input.take(HEADER_BYTES as u64).read_to_end(&mut head)?;
    Ok(header_of(&head)?.places.end)
}

pub(super) fn header_of(bytes: &[u8]) -> Result<Header, LoadError> {
    let Some(head) = bytes.first_chunk::<HEADER_BYTES>() else {
        let begun = bytes.len().min(8);
        return if begun > 0 && bytes[..begun] == MAGIC[..begun] {
            Err(LoadError::Length { expected: HEADER_BYTES as u64, found: bytes.len() as u64 })
        } else {
            Err(LoadError::NotAFilter)
        };
    };
    Header::decode(head)
}

/// Reads `bytes` bytes; the caller has checked that as many are there.
fn read_exactly(input: &mut impl Read, bytes: u64) -> Result<Vec<u8>, LoadError> {
    let mut data = Vec::new();
    let read = input.take(bytes).read_to_end(&mut data)? as u64;
    if read == bytes { Ok(data) } else { Err(LoadError::Length { expected: bytes, found: read }) }
}

/// The segment table, and the same as rows. Each is checked as it comes, so that a file which is long
/// but holds nothing (a sparse one) ends here.
fn rows_of(
    input: &mut impl Read,
    header: &Header,
    levels: &[LevelGeometry],
) -> Result<(Vec<u8>, Vec<Row>), LoadError> {
    let slots = header.geometry.segment_slots();
    let mut offset = header.places.first_segment;
    let (mut all, mut rows) = (Vec::new(), Vec::new());
    while (rows.len() as u64) < header.segments {
        let some = (header.segments - rows.len() as u64).min(ROWS_AT_A_TIME);
        let bytes = read_exactly(input, some * ROW_BYTES)?;
        for row in bytes.chunks_exact(ROW_BYTES as usize) {
            let (row, level) = row_of(row, offset, header, levels)?;
            rows.push(row);
            offset = offset
                .checked_add(level.bytes(slots))
                .ok_or(LoadError::Field { name: "segment offset", found: offset })?;
        }
        all.extend_from_slice(&bytes);
    }
    if offset == header.places.overflow {
        Ok((all, rows))
    } else {
        wrong("overflow table offset", header.places.overflow)
    }
}

fn row_of<'a>(
    bytes: &[u8],
    offset: u64,
    header: &Header,
    levels: &'a [LevelGeometry],
) -> Result<(Row, &'a LevelGeometry), LoadError> {
    let mut fields = Reader { bytes, at: 0 };
    let depth = fields.u32();
    let (occupied, flags, reserved) = (fields.u32(), fields.u32(), fields.u32());
    let (at, checksum) = (fields.u64(), fields.u64());
    let level = depth.checked_sub(header.geometry.base_depth);
    let level = level.and_then(|level| levels.get(level as usize));
    let Some(level) = level.filter(|_| depth <= header.deepest()) else {
        return wrong("segment depth", depth);
    };
    if at != offset || flags > 1 || reserved != 0 {
        return wrong("segment offset", at);
    }
    Ok((Row { depth, occupied, overfull: flags == 1, checksum }, level))
}

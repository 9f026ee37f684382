//! The bytes before the segments of a snapshot, read and checked by the rules of [`read`](super::read).

use std::io::Read;

use crate::kernel::LevelGeometry;
use crate::snapshot::error::LoadError;
use crate::snapshot::fields::{
    END_MAGIC, MAGIC, Reader, bad_field, checksum_of, put_u64, read_exactly, require_checksum,
    require_eq,
};
use crate::snapshot::header::{
    ENTRY_BYTES, HEADER_BYTES, Header, PART_BYTES, PartRow, ROW_BYTES, TRAILER_BYTES,
};

/// Rows of the segment table that are read before they are checked.
const ROWS_AT_A_TIME: u64 = 4096;

/// One row of the segment table, and what follows from the rows before it.
pub(crate) struct SegmentRow {
    /// The smallest hash of the segment.
    pub(crate) prefix: u64,
    pub(crate) depth: u32,
    /// The number of its level: the depth minus the base depth.
    pub(crate) level: u8,
    /// Where the segment begins in the snapshot, and its length.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) occupied: u32,
    pub(crate) overfull: bool,
    pub(crate) checksum: u64,
}

/// One filter: its row of the part table, and its rows of the segment table.
pub(crate) struct PartTable {
    pub(crate) row: PartRow,
    levels: Vec<LevelGeometry>,
    pub(crate) segments: Vec<SegmentRow>,
    /// The number of its first segment among those of all parts.
    pub(super) first: u64,
}

/// Header and tables, which the trailer's checksums cover.
pub(crate) struct Preamble {
    pub(crate) header: Header,
    pub(crate) parts: Vec<PartTable>,
    bytes: Vec<u8>,
}

/// The length of an input, starting at the beginning of the snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputLength {
    pub(crate) bytes: u64,
    /// Whether the snapshot takes all bytes; otherwise other bytes may follow.
    pub(crate) is_whole: bool,
}

impl InputLength {
    fn check(self, header: &Header) -> Result<(), LoadError> {
        let (expected, found) = (header.length(), self.bytes);
        let fits = if self.is_whole { expected == found } else { expected <= found };
        if fits { Ok(()) } else { Err(LoadError::Length { expected, found }) }
    }
}

impl Preamble {
    /// Reads up to the first segment.
    pub(crate) fn read(
        input: &mut impl Read,
        input_length: InputLength,
    ) -> Result<Self, LoadError> {
        let (header, bytes) = read_header(input)?;
        input_length.check(&header)?;
        let mut preamble = Self { header, parts: Vec::new(), bytes };
        let rows = read_exactly(input, u64::from(header.parts) * PART_BYTES)?;
        for row in rows.chunks_exact(PART_BYTES as usize) {
            let part = PartTable::of(PartRow::decode(row, &header)?);
            preamble.parts.push(PartTable { first: preamble.sum(|part| part.segments), ..part });
        }
        require_eq("segments", preamble.sum(|part| part.segments), header.segments)?;
        require_eq(
            "overflow entries",
            preamble.sum(|part| part.overflow_entries),
            header.overflow_entries,
        )?;
        preamble.bytes.extend(rows);
        let mut offset = header.first_segment();
        for part in &mut preamble.parts {
            offset = part.read_rows(input, offset, &mut preamble.bytes)?;
        }
        require_eq("overflow table offset", offset, header.overflow)?;
        let padding = read_exactly(input, header.first_segment() - preamble.bytes.len() as u64)?;
        require_checksum(&padding.iter().all(|&byte| byte == 0), &true, "padding")?;
        Ok(preamble)
    }

    fn sum(&self, of: impl Fn(&PartRow) -> u64) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(of(&part.row)))
    }

    /// Reads the overflow table and the trailer, from an input positioned after the segments.
    pub(crate) fn overflow_bytes(&self, input: &mut impl Read) -> Result<Vec<u8>, LoadError> {
        let overflow = read_exactly(input, self.header.overflow_entries * ENTRY_BYTES)?;
        let found = read_exactly(input, TRAILER_BYTES)?;
        let expected = trailer(&self.bytes, checksum_of(&overflow));
        require_checksum(&found, &expected, "tables or trailer").map(|()| overflow)
    }
}

impl PartTable {
    fn of(row: PartRow) -> Self {
        let most_levels = row.deepest().saturating_sub(row.geometry.base_depth);
        let levels = row.geometry.levels_below(most_levels as u8);
        Self { row, levels, segments: Vec::new(), first: 0 }
    }

    /// Reads the rows of the segment table, and returns the end of the segments that begin at `offset`. Checks each row at
    /// once, so that a long but empty (sparse) file is refused early.
    fn read_rows(
        &mut self,
        input: &mut impl Read,
        mut offset: u64,
        bytes: &mut Vec<u8>,
    ) -> Result<u64, LoadError> {
        let wanted = self.row.segments;
        let mut prefix = 0u64;
        while (self.segments.len() as u64) < wanted {
            let some = (wanted - self.segments.len() as u64).min(ROWS_AT_A_TIME);
            let rows = read_exactly(input, some * ROW_BYTES)?;
            for row in rows.chunks_exact(ROW_BYTES as usize) {
                let row = self.row_of(row, offset, prefix)?;
                let covers_block = prefix.unbounded_shl(row.depth) == 0;
                if !covers_block || (prefix == 0) != self.segments.is_empty() {
                    return bad_field("segment depths", wanted);
                }
                offset = offset
                    .checked_add(row.bytes)
                    .ok_or(LoadError::Field { name: "segment offset", found: offset })?;
                // After the last one it is zero again.
                prefix = prefix.wrapping_add(1u64.unbounded_shl(64 - row.depth));
                self.segments.push(row);
            }
            bytes.extend_from_slice(&rows);
        }
        if prefix == 0 { Ok(offset) } else { bad_field("segment depths", wanted) }
    }

    fn row_of(&self, bytes: &[u8], offset: u64, prefix: u64) -> Result<SegmentRow, LoadError> {
        let (row, mut fields) = (&self.row, Reader(bytes));
        let depth = fields.u32();
        let (occupied, flags) = (fields.u32(), fields.u32());
        fields.reserved(4)?;
        let (found, checksum) = (fields.u64(), fields.u64());
        let number = depth.checked_sub(row.geometry.base_depth);
        let level = number.and_then(|number| self.levels.get(number as usize));
        let Some(level) = level.filter(|_| depth <= row.deepest()) else {
            return bad_field("segment depth", depth);
        };
        if flags > 1 {
            return bad_field("segment flags", flags);
        }
        require_eq("segment offset", offset, found)?;
        let bytes = level.bytes();
        let level = (depth - row.geometry.base_depth) as u8;
        let overfull = flags == 1;
        Ok(SegmentRow { prefix, depth, level, offset, bytes, occupied, overfull, checksum })
    }

    /// The level of the segment that this row describes.
    pub(crate) fn level_of(&self, row: &SegmentRow) -> &LevelGeometry {
        &self.levels[usize::from(row.level)]
    }
}

/// Reads and checks a header, and returns its bytes as well.
pub(crate) fn read_header(input: &mut impl Read) -> Result<(Header, Vec<u8>), LoadError> {
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

/// The end of a snapshot with this header and these tables.
pub(super) fn trailer(header_and_tables: &[u8], overflow_sum: u64) -> Vec<u8> {
    let (header, tables) = header_and_tables.split_at(HEADER_BYTES);
    let mut trailer = Vec::new();
    put_u64(&mut trailer, &[checksum_of(tables), overflow_sum]);
    let whole = checksum_of(&[header, &trailer].concat());
    put_u64(&mut trailer, &[whole]);
    trailer.extend(END_MAGIC);
    trailer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CuckooFilter;
    use crate::snapshot::fields::put_u32;

    #[test]
    fn depths_that_do_not_cover_the_hashes_are_refused() {
        let filter = CuckooFilter::builder().hash_bits(40).capacity(100).build().unwrap();
        let row = PartRow::of(0, &filter);
        let rows_with = |depths: &[u32]| {
            let row = PartRow { segments: depths.len() as u64, ..row };
            let (mut part, mut bytes, mut offset) = (PartTable::of(row), Vec::new(), 4096);
            for &depth in depths {
                put_u32(&mut bytes, &[depth, 0, 0, 0]);
                put_u64(&mut bytes, &[offset, 0]);
                offset += part.levels[depth as usize].bytes();
            }
            let end = part.read_rows(&mut &bytes[..], 4096, &mut Vec::new())?;
            Ok::<_, LoadError>((part.segments.len(), end == offset))
        };
        for right in [&[0][..], &[1, 1], &[1, 3, 3, 2], &[2, 2, 1]] {
            assert_eq!(rows_with(right).unwrap(), (right.len(), true));
        }
        for wrong in [&[1][..], &[0, 0], &[1, 2], &[1, 1, 1], &[2, 1, 2], &[3, 2, 2, 2, 3]] {
            let refused = rows_with(wrong);
            let expected = Err::<(usize, bool), _>(LoadError::Field {
                name: "segment depths",
                found: wrong.len() as u64,
            });
            assert_eq!(format!("{refused:?}"), format!("{expected:?}"), "{wrong:?}");
        }
    }
}

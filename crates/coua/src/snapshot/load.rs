//! Reading a snapshot. The bytes are hostile until checked.
//!
//! Nothing is allocated that the length of the input does not justify, and everything that the
//! operations rely on is verified: counts against the slots, places against the geometry. Bytes that
//! are consistent but wrong can only make a filter that answers wrongly.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::KeyHash;
use crate::directory::Directory;
use crate::filter::CuckooFilter;
use crate::geometry::Shape;
use crate::growth::Whole;
use crate::hash::KeyHasher;
use crate::side::{Aside, Side};
use crate::snapshot::error::{LoadError, Part};
use crate::snapshot::header::{
    ENTRY_BYTES, HEADER_BYTES, Header, ROW_BYTES, Reader, TRAILER_BYTES, checksum_of,
};
use crate::table::Table;

/// Rows of the segment table that are read before they are checked.
const ROWS_AT_A_TIME: u64 = 4096;

/// One row of the segment table.
struct Row {
    depth: u32,
    occupied: u32,
    overfull: bool,
    checksum: u64,
}

impl CuckooFilter {
    /// Reads a snapshot from a file and checks every byte of it. O(bytes).
    ///
    /// # Errors
    ///
    /// [`LoadError`]: every damaged or foreign byte is found, before memory is taken for it.
    ///
    /// ```
    /// let missing = coua::CuckooFilter::read(std::path::Path::new("/no/such/file"));
    /// assert!(missing.unwrap_err().to_string().contains("No such file"));
    /// ```
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        Self::read_file(path, None)
    }

    /// Reads the snapshot of a filter with a secret SipHash key.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read); [`LoadError::WrongKey`] if it was built with another key.
    ///
    /// ```
    /// # let path = std::path::Path::new("/no/such/file");
    /// assert!(coua::CuckooFilter::read_with_key(path, [7; 16]).is_err());
    /// ```
    pub fn read_with_key(path: &Path, key: [u8; 16]) -> Result<Self, LoadError> {
        Self::read_file(path, Some(key))
    }

    fn read_file(path: &Path, key: Option<[u8; 16]>) -> Result<Self, LoadError> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() { load(file, metadata.len(), key) } else { read_unsized(file, key) }
    }

    /// Reads a snapshot from a stream, to its end.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    ///
    /// ```
    /// assert!(coua::CuckooFilter::read_from(std::io::empty()).is_err());
    /// ```
    pub fn read_from<R: Read>(input: R) -> Result<Self, LoadError> {
        read_unsized(input, None)
    }

    /// Reads a snapshot from memory.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    ///
    /// ```
    /// assert!(coua::CuckooFilter::from_bytes(b"not a filter").is_err());
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, LoadError> {
        load(bytes, bytes.len() as u64, None)
    }
}

/// A stream of unknown length is read as far as its header says, and no further.
fn read_unsized<R: Read>(mut input: R, key: Option<[u8; 16]>) -> Result<CuckooFilter, LoadError> {
    let mut bytes = Vec::new();
    input.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    let header = header_of(&bytes)?;
    let rest = header.places.end - HEADER_BYTES as u64;
    // One byte more, to find what is appended. Grows with what arrives, not with what is announced.
    input.take(rest.saturating_add(1)).read_to_end(&mut bytes)?;
    load(&bytes[..], bytes.len() as u64, key)
}

fn header_of(bytes: &[u8]) -> Result<Header, LoadError> {
    let Some(head) = bytes.first_chunk::<HEADER_BYTES>() else {
        let begun = bytes.len().min(8);
        return if begun > 0 && bytes[..begun] == super::header::MAGIC[..begun] {
            Err(LoadError::Length { expected: HEADER_BYTES as u64, found: bytes.len() as u64 })
        } else {
            Err(LoadError::NotAFilter)
        };
    };
    Header::decode(head)
}

fn load<R: Read>(
    mut input: R,
    length: u64,
    key: Option<[u8; 16]>,
) -> Result<CuckooFilter, LoadError> {
    let mut head = Vec::new();
    input.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut head)?;
    let header = header_of(&head)?;
    if header.places.end != length {
        return Err(LoadError::Length { expected: header.places.end, found: length });
    }
    let hasher = header.hash.hasher(key)?;
    let shapes = header.shapes();
    let (rows_bytes, rows) = rows_of(&mut input, &header, &shapes)?;
    let padding = header.places.first_segment - (head.len() + rows_bytes.len()) as u64;
    if read_exactly(&mut input, padding)?.iter().any(|&byte| byte != 0) {
        return Err(LoadError::Checksum { part: Part::Padding });
    }
    let depths: Vec<u32> = rows.iter().map(|row| row.depth).collect();
    let directory = Directory::from_depths(&depths)
        .ok_or(LoadError::Field { name: "segment depths", found: header.segments })?;
    let table = segments_of(&mut input, &header, &shapes, &rows)?;
    let side_bytes = read_exactly(&mut input, header.side_entries * ENTRY_BYTES)?;
    let trailer = read_exactly(&mut input, TRAILER_BYTES)?;
    if trailer != super::trailer(&head, &rows_bytes, &side_bytes) {
        return Err(LoadError::Checksum { part: Part::Trailer });
    }
    assemble(&header, Parts { hasher, shapes, directory, table, side_bytes })
}

/// What has been read, checked each by itself.
struct Parts {
    hasher: KeyHasher,
    shapes: Vec<Shape>,
    directory: Directory,
    table: Table,
    side_bytes: Vec<u8>,
}

/// Puts the parts together and checks them against each other.
fn assemble(header: &Header, parts: Parts) -> Result<CuckooFilter, LoadError> {
    let mut filter = CuckooFilter {
        geometry: header.geometry,
        shapes: parts.shapes,
        directory: parts.directory,
        table: parts.table,
        side: Side::default(),
        stored: header.stored,
        policy: header.policy,
        hasher: parts.hasher,
        splits: 0,
        whole: Whole::default(),
    };
    let most = filter.geometry.slots_per_bucket;
    let mut last = None;
    for entry in parts.side_bytes.chunks_exact(ENTRY_BYTES as usize) {
        let mut fields = Reader { bytes: entry, at: 0 };
        let hash = KeyHash::from_u64(fields.u64());
        let aside = Aside { extra: fields.u64(), homeless: fields.u64() };
        let probe = filter.locate(hash);
        let sound = last.replace(hash) < Some(hash)
            && aside != Aside::default()
            && filter.representative(&probe) == hash
            // Copies beyond a bucket's worth are extra ones, never homeless.
            && aside.homeless <= u64::from(most - filter.slots_holding(&probe).min(most));
        if !sound {
            return Err(LoadError::Field { name: "side table entry", found: hash.to_u64() });
        }
        filter.side.add(hash, aside);
        filter.table.segments[probe.segment as usize].spilled = true;
    }
    let occupied: u64 = filter.table.segments.iter().map(|s| u64::from(s.occupied)).sum();
    let counted = filter.side.homeless() == header.homeless
        && occupied.checked_add(header.homeless) == Some(header.stored)
        && filter.len() == header.len;
    if counted {
        Ok(filter)
    } else {
        Err(LoadError::Field { name: "number of items", found: header.len })
    }
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
    shapes: &[Shape],
) -> Result<(Vec<u8>, Vec<Row>), LoadError> {
    let slots = header.geometry.segment_slots();
    let mut offset = header.places.first_segment;
    let (mut all, mut rows) = (Vec::new(), Vec::new());
    while (rows.len() as u64) < header.segments {
        let some = (header.segments - rows.len() as u64).min(ROWS_AT_A_TIME);
        let bytes = read_exactly(input, some * ROW_BYTES)?;
        for row in bytes.chunks_exact(ROW_BYTES as usize) {
            let (row, shape) = row_of(row, offset, header, shapes)?;
            rows.push(row);
            offset = offset
                .checked_add(shape.bytes(slots))
                .ok_or(LoadError::Field { name: "segment offset", found: offset })?;
        }
        all.extend_from_slice(&bytes);
    }
    if offset == header.places.side {
        Ok((all, rows))
    } else {
        Err(LoadError::Field { name: "side table offset", found: header.places.side })
    }
}

fn row_of<'a>(
    bytes: &[u8],
    offset: u64,
    header: &Header,
    shapes: &'a [Shape],
) -> Result<(Row, &'a Shape), LoadError> {
    let mut fields = Reader { bytes, at: 0 };
    let depth = fields.u32();
    let (occupied, flags, reserved) = (fields.u32(), fields.u32(), fields.u32());
    let (at, checksum) = (fields.u64(), fields.u64());
    let level = depth.checked_sub(header.geometry.base_depth);
    let shape = level.and_then(|level| shapes.get(level as usize));
    let Some(shape) = shape.filter(|_| depth <= header.deepest()) else {
        return Err(LoadError::Field { name: "segment depth", found: u64::from(depth) });
    };
    if at != offset || flags > 1 || reserved != 0 {
        return Err(LoadError::Field { name: "segment offset", found: at });
    }
    Ok((Row { depth, occupied, overfull: flags == 1, checksum }, shape))
}

fn segments_of(
    input: &mut impl Read,
    header: &Header,
    shapes: &[Shape],
    rows: &[Row],
) -> Result<Table, LoadError> {
    let slots = header.geometry.segment_slots();
    let mut table = Table::with_room(header.places.side - header.places.first_segment)?;
    let mut prefix = 0u64;
    for (number, row) in rows.iter().enumerate() {
        let level = row.depth - header.geometry.base_depth;
        let shape = &shapes[level as usize];
        let bytes = shape.bytes(slots);
        let index = table.add_segment(bytes, prefix, level as u8)?;
        let segment = &mut table.segments[index as usize];
        input.read_exact(segment.bytes_mut(bytes as usize))?;
        if checksum_of(segment.bytes(bytes as usize)) != row.checksum {
            return Err(LoadError::Checksum { part: Part::Segment(number as u64) });
        }
        let used = shape.slots_in_use(segment);
        if used != Some(u64::from(row.occupied)) {
            let found = u64::from(row.occupied);
            return Err(LoadError::Field { name: "slots in use", found });
        }
        segment.occupied = row.occupied;
        segment.overfull = row.overfull;
        // The last prefix of all overflows to zero, and is not used.
        prefix = prefix.wrapping_add(1u64.checked_shl(64 - row.depth).unwrap_or(0));
    }
    Ok(table)
}

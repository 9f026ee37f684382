//! Reading a snapshot. The bytes are hostile until checked.
//!
//! Nothing is allocated that the length of the input does not justify, and everything that the
//! operations rely on is verified: counts against the slots, places against the geometry. Bytes that
//! are consistent but wrong can only make a filter that answers wrongly.

use std::io::{Read, Seek};

use crate::cuckoo::{CuckooFilter, OverflowEntry, OverflowTable};
use crate::hash::KeyHash;
use crate::hash::KeyHasher;
use crate::kernel::LevelGeometry;
use crate::snapshot::error::{LoadError, Part};
use crate::snapshot::front::{Front, Row, header_of};
use crate::snapshot::header::{ENTRY_BYTES, HEADER_BYTES, Header, Reader, checksum_of, wrong};
use crate::snapshot::open::{SecretKey, sealed};
use crate::snapshot::slots;
use crate::table::{Directory, SegmentMut, Table};

/// Overflowed items that are allowed beyond the number of slots, for small filters.
const SPARE_OVERFLOWED: u64 = 1024;

impl sealed::Snapshot for CuckooFilter {
    fn read(input: impl Read + Seek, bytes: u64, key: SecretKey) -> Result<Self, LoadError> {
        load(input, bytes, key)
    }

    fn read_stream(input: impl Read, key: SecretKey) -> Result<Self, LoadError> {
        read_unsized(input, key)
    }

    #[cfg(feature = "mmap")]
    fn map(file: &std::fs::File, bytes: u64, key: SecretKey) -> Result<Self, LoadError> {
        Self::map_part(file, 0..bytes, key)
    }
}

/// A stream of unknown length is read as far as its header says, and no further.
fn read_unsized<R: Read>(mut input: R, key: SecretKey) -> Result<CuckooFilter, LoadError> {
    let mut bytes = Vec::new();
    input.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    let header = header_of(&bytes)?;
    let rest = header.places.end - HEADER_BYTES as u64;
    // One byte more, to find what is appended. Grows with what arrives, not with what is announced.
    input.take(rest.saturating_add(1)).read_to_end(&mut bytes)?;
    load(&bytes[..], bytes.len() as u64, key)
}

pub(super) fn load<R: Read>(
    mut input: R,
    length: u64,
    key: SecretKey,
) -> Result<CuckooFilter, LoadError> {
    let front = Front::read(&mut input, length)?;
    let table = segments_of(&mut input, &front)?;
    let filter = front.finish(&mut input, key, table)?;
    match filter.extra_without_item() {
        Some(hash) => Err(wrong_entry(hash)),
        None => Ok(filter),
    }
}

impl CuckooFilter {
    /// Extra copies of a key that is in no slot.
    fn extra_without_item(&self) -> Option<KeyHash> {
        let has_item = |hash| self.slots_holding(&self.locate(hash)) > 0;
        let mut entries = self.overflow().iter();
        entries
            .find(|&(hash, entry)| entry.overflowed == 0 && !has_item(hash))
            .map(|(hash, _)| hash)
    }
}

fn wrong_entry(hash: KeyHash) -> LoadError {
    LoadError::Field { name: "overflow table entry", found: hash.to_u64() }
}

impl Front {
    /// Reads the parts after the segments, and puts the filter together.
    pub(super) fn finish(
        self,
        input: &mut impl Read,
        key: SecretKey,
        table: Table,
    ) -> Result<CuckooFilter, LoadError> {
        let hasher = self.header.hash.hasher(key)?;
        let overflow_bytes = self.overflow_bytes(input)?;
        let Self { header, directory, .. } = self;
        assemble(&header, Parts { hasher, directory, table, overflow_bytes })
    }
}

/// The parts, each checked by itself.
struct Parts {
    hasher: KeyHasher,
    directory: Directory,
    table: Table,
    overflow_bytes: Vec<u8>,
}

/// Puts the parts together and checks them against each other.
fn assemble(header: &Header, parts: Parts) -> Result<CuckooFilter, LoadError> {
    let Parts { hasher, directory, table, overflow_bytes } = parts;
    let (geometry, policy) = (header.geometry, header.policy);
    let mut filter = CuckooFilter::of_table(geometry, table, directory, policy, hasher);
    OverflowTable::check_memory(overflow_bytes.len() / ENTRY_BYTES as usize)?;
    let most_overflowed = filter.slots() + SPARE_OVERFLOWED;
    let mut last = None;
    for entry in overflow_bytes.chunks_exact(ENTRY_BYTES as usize) {
        let mut fields = Reader { bytes: entry, at: 0 };
        let hash = KeyHash::from_u64(fields.u64());
        let entry = OverflowEntry { extra: fields.u64(), overflowed: fields.u64() };
        let probe = filter.locate(hash);
        let sound = last.replace(hash) < Some(hash)
            && entry != OverflowEntry::default()
            && filter.representative(&probe) == hash
            && entry.overflowed <= most_overflowed - filter.overflow().overflowed();
        if !sound {
            return Err(wrong_entry(hash));
        }
        filter.restore_overflow(hash, entry);
    }
    let counted = filter.overflow().overflowed() == header.overflowed
        && filter.stored() == header.stored
        && filter.len() == header.len;
    if counted { Ok(filter) } else { wrong("number of items", header.len) }
}

fn segments_of(input: &mut impl Read, front: &Front) -> Result<Table, LoadError> {
    let places = front.header.places;
    let mut table = Table::with_capacity(places.overflow - places.first_segment)?;
    add_segments(&mut table, front, |number, row, segment, level| {
        let bytes = front.segment_bytes(row) as usize;
        input.read_exact(segment.bytes_mut(bytes))?;
        if checksum_of(segment.bytes(bytes)) != row.checksum {
            return Err(LoadError::Checksum { part: Part::Segment(number) });
        }
        if slots::in_use(level, segment) != Some(u64::from(row.occupied)) {
            return Err(wrong_occupied(row));
        }
        Ok(())
    })?;
    Ok(table)
}

pub(crate) fn wrong_occupied(row: &Row) -> LoadError {
    LoadError::Field { name: "slots in use", found: u64::from(row.occupied) }
}

/// Adds the segments of all rows; `check` gets each with its number and level, and may fill it.
pub(super) fn add_segments(
    table: &mut Table,
    front: &Front,
    mut check: impl FnMut(u64, &Row, &mut SegmentMut<'_>, &LevelGeometry) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    // All rows have been read, so their number is no empty announcement.
    table.reserve_segments(front.rows.len())?;
    let mut prefix = 0u64;
    for (number, row) in (0..).zip(&front.rows) {
        let number_of_level = row.depth - front.header.geometry.base_depth;
        let level = &front.levels[number_of_level as usize];
        let bytes = front.segment_bytes(row);
        let index = table.add_segment(bytes, prefix, number_of_level as u8)?;
        let segment = &mut table.segment_mut(index);
        check(number, row, segment, level)?;
        segment.set_occupied(row.occupied);
        if row.overfull {
            segment.mark_overfull();
        }
        // The last prefix of all overflows to zero, and is not used.
        prefix = prefix.wrapping_add(1u64.checked_shl(64 - row.depth).unwrap_or(0));
    }
    Ok(())
}

//! Reads filters from a snapshot. The bytes are hostile until checked.
//!
//! No allocation exceeds what the length of the input justifies, and everything that the
//! operations rely on is verified: counts against the slots, places against the geometry. Bytes that
//! are consistent but wrong can only produce a filter with wrong answers.
//!
//! A snapshot used *in place* opens at once, and only what is touched is read. Everything except the segments is read
//! and checked as always, so that places, counts and the overflow table agree with each other. The segments are not
//! read, so no operation may rely on the value of a slot. The bounds hold by geometry:
//! [`LevelGeometry::locate`](crate::kernel::LevelGeometry) and the alternate bucket of any value in a bucket are
//! in the segment.

use std::io::Read;
use std::ops::Range;
#[cfg(feature = "mmap")]
use std::{
    fs::File,
    io::{Seek, SeekFrom},
};

use crate::filter::{CuckooFilter, OverflowEntry, OverflowTable};
use crate::hash::{KeyHash, KeyHasher};
use crate::segments::Segments;
use crate::snapshot::error::LoadError;
use crate::snapshot::fields::{Reader, bad_field, checksum_of, require_checksum, require_eq};
use crate::snapshot::header::{ENTRY_BYTES, SecretKey, StoredWindow};
use crate::snapshot::preamble::{InputLength, PartTable, Preamble, SegmentRow};
use crate::snapshot::slots;
use crate::table::{SegmentMut, Table};

/// The most overflowed copies of a key that are accepted. Filters have at most twice the slots of a bucket.
const MOST_OVERFLOWED: u64 = 1024;
#[cfg(feature = "mmap")]
/// With this many slots or more, a forged count of slots in use could overflow.
const MOST_SLOTS_IN_PLACE: u64 = 1 << 31;

/// The contents of a snapshot.
pub(crate) struct Loaded {
    pub(crate) window: Option<StoredWindow>,
    /// The filters with their numbers, at least one.
    pub(crate) filters: Vec<(u64, CuckooFilter)>,
}

/// A type that a snapshot can be read as.
#[expect(private_bounds, reason = "only the filters of this crate are in snapshots")]
pub trait Snapshot: OfSnapshot {}

impl<F: OfSnapshot> Snapshot for F {}

/// A filter made from the filters in a snapshot.
pub(crate) trait OfSnapshot: Sized {
    /// Returns an error if snapshots with or without this window are not of this type.
    fn check(window: Option<StoredWindow>) -> Result<(), LoadError>;

    fn of(loaded: Loaded) -> Result<Self, LoadError>;
}

impl OfSnapshot for CuckooFilter {
    fn check(window: Option<StoredWindow>) -> Result<(), LoadError> {
        window.map_or(Ok(()), |_| Err(LoadError::Window))
    }

    fn of(mut loaded: Loaded) -> Result<Self, LoadError> {
        Ok(loaded.filters.swap_remove(0).1)
    }
}

/// Reads the snapshot with which the input begins.
pub(super) fn read<F: Snapshot>(
    mut input: impl Read,
    input_length: InputLength,
    key: SecretKey,
) -> Result<F, LoadError> {
    let preamble = Preamble::read(&mut input, input_length)?;
    F::check(preamble.header.window)?;
    let hasher = preamble.header.hash.hasher(key)?;
    let mut tables = Vec::with_capacity(preamble.parts.len());
    for part in &preamble.parts {
        let bytes = part.place();
        let mut table = Table::with_capacity(bytes.end - bytes.start)?;
        part.add_segments(&mut table, |number, it| part.read_segment(&mut input, number, it))?;
        tables.push(table);
    }
    let loaded = preamble.finish(&mut input, hasher, tables)?;
    let mut filters = loaded.filters.iter();
    filters.try_for_each(|(_, filter)| check_extra_copies(filter))?;
    F::of(loaded)
}

/// Opens the snapshot at `begin` of a file, whose segments are used in place. If that is not possible, the snapshot is
/// read.
#[cfg(feature = "mmap")]
pub(super) fn map<F: Snapshot>(
    mut file: &File,
    begin: u64,
    input_length: InputLength,
    key: SecretKey,
) -> Result<F, LoadError> {
    file.seek(SeekFrom::Start(begin))?;
    let preamble = Preamble::read(&mut file, input_length)?;
    F::check(preamble.header.window)?;
    let hasher = preamble.header.hash.hasher(key)?;
    let in_place = |part: &PartTable| {
        let Range { start, end } = part.place();
        let may_map = part.can_lie_in_place() && !cfg!(miri);
        if may_map { Table::map_file(file, &(begin + start..begin + end)).ok() } else { None }
    };
    let Some(mut tables) = preamble.parts.iter().map(in_place).collect::<Option<Vec<_>>>() else {
        file.seek(SeekFrom::Start(begin))?;
        return read(file, input_length, key);
    };
    for (part, table) in preamble.parts.iter().zip(&mut tables) {
        let slots = part.row.geometry.segment_slots();
        part.add_segments(table, |number, _| {
            let occupied = part.segments[number].occupied;
            if u64::from(occupied) <= slots { Ok(()) } else { bad_field("slots in use", occupied) }
        })?;
    }
    file.seek(SeekFrom::Start(begin + preamble.header.overflow))?;
    preamble.finish(&mut file, hasher, tables).and_then(F::of)
}

/// Refuses extra copies of a key without a slot.
fn check_extra_copies(filter: &CuckooFilter) -> Result<(), LoadError> {
    let segments = filter.as_segments();
    let without_item = filter.overflow().iter().find(|&(hash, entry)| {
        entry.overflowed == 0 && segments.copies(&segments.locate(hash)) == 0
    });
    without_item.map_or(Ok(()), |(hash, _)| bad_field("overflow table entry", hash.to_u64()))
}

impl Preamble {
    /// Reads the bytes after the segments, assembles the filters, and checks the parts against each other.
    fn finish(
        self,
        input: &mut impl Read,
        hasher: KeyHasher,
        tables: Vec<Table>,
    ) -> Result<Loaded, LoadError> {
        let overflow = self.overflow_bytes(input)?;
        let mut entries = entries(&overflow);
        let mut filters = Vec::with_capacity(tables.len());
        for (part, table) in self.parts.iter().zip(tables) {
            let row = &part.row;
            let segments = Segments::of_table(row.geometry, table)?;
            let mut filter = CuckooFilter::of_segments(segments, self.header.policy, hasher);
            let count = row.overflow_entries as usize;
            OverflowTable::check_memory(count)?;
            filter.reserve_overflow(count);
            add_and_count(&mut filter, entries.by_ref().take(count))?;
            if filter.stored() != row.stored || filter.len() != row.len {
                return bad_field("number of items", row.len);
            }
            filters.push((row.number, filter));
        }
        Ok(Loaded { window: self.header.window, filters })
    }
}

/// Checks the entries of an overflow table, and adds them.
fn add_and_count(
    filter: &mut CuckooFilter,
    entries: impl Iterator<Item = (KeyHash, OverflowEntry)>,
) -> Result<(), LoadError> {
    let mut last = None;
    for (hash, entry) in entries {
        let segments = filter.as_segments();
        let is_sound = last.replace(hash) < Some(hash)
            && entry != OverflowEntry::default()
            && segments.representative(&segments.locate(hash)) == hash
            && entry.overflowed <= MOST_OVERFLOWED;
        if !is_sound {
            return bad_field("overflow table entry", hash.to_u64());
        }
        filter.add_and_count(hash, entry);
    }
    Ok(())
}

/// The entries of an overflow table.
pub(crate) fn entries(table: &[u8]) -> impl Iterator<Item = (KeyHash, OverflowEntry)> {
    table.chunks_exact(ENTRY_BYTES as usize).map(|entry| {
        let mut fields = Reader(entry);
        let hash = KeyHash::from_u64(fields.u64());
        (hash, OverflowEntry { extra: fields.u64(), overflowed: fields.u64() })
    })
}

impl PartTable {
    /// The range of its segments in the snapshot.
    pub(crate) fn place(&self) -> Range<u64> {
        let end = |row: &SegmentRow| row.offset + row.bytes;
        let (first, last) = (self.segments.first(), self.segments.last());
        first.map_or(0, |row| row.offset)..last.map_or(0, end)
    }

    #[cfg(feature = "mmap")]
    fn can_lie_in_place(&self) -> bool {
        self.row.geometry.segment_slots() < MOST_SLOTS_IN_PLACE
    }

    /// Adds the segments of all rows to a table; `check` is called with the number of each, and may fill it.
    fn add_segments(
        &self,
        table: &mut Table,
        mut check: impl FnMut(usize, &mut SegmentMut<'_>) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        // All rows have been read, so their number is real.
        table.reserve_segments(self.segments.len())?;
        for (number, row) in self.segments.iter().enumerate() {
            let index = table.add_segment(row.bytes, row.prefix, row.level)?;
            let segment = &mut table.segment_mut(index);
            check(number, segment)?;
            segment.set_occupied(row.occupied);
            if row.overfull {
                segment.mark_overfull();
            }
        }
        Ok(())
    }

    /// Reads the segment with this number at the position of the input, and checks it.
    pub(crate) fn read_segment(
        &self,
        input: &mut impl Read,
        number: usize,
        segment: &mut SegmentMut<'_>,
    ) -> Result<(), LoadError> {
        let row = &self.segments[number];
        let bytes = row.bytes as usize;
        input.read_exact(segment.bytes_mut(bytes))?;
        let found = checksum_of(segment.bytes_at(0, bytes));
        let number = self.first + number as u64;
        require_checksum(&found, &row.checksum, format_args!("segment {number}"))?;
        // If slots are invalid, no count can match.
        let used = slots::in_use(self.level_of(row), segment).unwrap_or(u64::MAX);
        require_eq("slots in use", used, row.occupied)?;
        slots::clear_others(self.level_of(row), segment);
        Ok(())
    }
}

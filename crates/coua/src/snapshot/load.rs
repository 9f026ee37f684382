//! Reading a snapshot. The bytes are hostile until checked.
//!
//! Nothing is allocated that the length of the input does not justify, and everything that the
//! operations rely on is verified: counts against the slots, places against the geometry. Bytes that
//! are consistent but wrong can only make a filter that answers wrongly.

use std::io::Read;

use crate::filter::{CuckooFilter, OverflowEntry, OverflowTable};
use crate::snapshot::error::{LoadError, Part};
use crate::snapshot::fields::{checksum_of, expect, intact, wrong};
use crate::snapshot::front::{Front, entries, read_header};
use crate::snapshot::header::SecretKey;
use crate::snapshot::slots;
use crate::table::{SegmentMut, Table};

/// Overflowed copies that a key may have. Filters have no more than twice as many as a bucket has slots.
const MOST_OVERFLOWED: u64 = 1024;

/// Reads a snapshot of `length` bytes.
pub(crate) fn load(
    mut input: impl Read,
    length: u64,
    key: SecretKey,
) -> Result<CuckooFilter, LoadError> {
    let front = Front::read(&mut input, length)?;
    let data = front.header.overflow - front.header.first_segment();
    let mut table = Table::with_capacity(data)?;
    front.add_segments(&mut table, |number, it| front.read_segment(&mut input, number, it))?;
    let filter = front.finish(&mut input, key, table)?;
    // Extra copies of a key that is in no slot.
    let without_item = filter.overflow().iter().find(|&(hash, entry)| {
        let segments = filter.as_segments();
        entry.overflowed == 0 && segments.copies(&segments.locate(hash)) == 0
    });
    match without_item {
        Some((hash, _)) => wrong("overflow table entry", hash.to_u64()),
        None => Ok(filter),
    }
}

/// Reads a snapshot from a stream of unknown length, as far as its header says, and no further.
pub(crate) fn load_stream(mut input: impl Read, key: SecretKey) -> Result<CuckooFilter, LoadError> {
    let (header, mut bytes) = read_header(&mut input)?;
    let rest = header.end() - bytes.len() as u64;
    // One byte more, to find what is appended. Grows with what arrives, not with what is announced.
    input.take(rest.saturating_add(1)).read_to_end(&mut bytes)?;
    load(&bytes[..], bytes.len() as u64, key)
}

impl Front {
    /// Adds the segments of all rows to a table; `check` gets the number of each, and may fill it.
    pub(super) fn add_segments(
        &self,
        table: &mut Table,
        mut check: impl FnMut(usize, &mut SegmentMut<'_>) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        // All rows have been read, so their number is no empty announcement.
        table.reserve_segments(self.rows.len())?;
        for (number, row) in self.rows.iter().enumerate() {
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

    /// Reads the segment of this number, where the input stands, and checks it.
    pub(crate) fn read_segment(
        &self,
        input: &mut impl Read,
        number: usize,
        segment: &mut SegmentMut<'_>,
    ) -> Result<(), LoadError> {
        let row = &self.rows[number];
        let bytes = row.bytes as usize;
        input.read_exact(segment.bytes_mut(bytes))?;
        let found = checksum_of(segment.bytes(bytes));
        intact(&found, &row.checksum, Part::Segment(number as u64))?;
        // If they are not sound, no number of slots is right.
        let used = slots::in_use(self.level_of(row), segment).unwrap_or(u64::MAX);
        expect("slots in use", used, row.occupied)
    }

    /// Reads the parts after the segments, puts the filter together, and checks the parts against each other.
    pub(super) fn finish(
        self,
        input: &mut impl Read,
        key: SecretKey,
        table: Table,
    ) -> Result<CuckooFilter, LoadError> {
        let hasher = self.header.hash.hasher(key)?;
        let overflow = self.overflow_bytes(input)?;
        let header = self.header;
        let mut filter = CuckooFilter::of_table(header.geometry, table, header.policy, hasher)?;
        let entries = entries(&overflow);
        OverflowTable::check_memory(entries.len())?;
        let mut last = None;
        for (hash, entry) in entries {
            let segments = filter.as_segments();
            let sound = last.replace(hash) < Some(hash)
                && entry != OverflowEntry::default()
                && segments.representative(&segments.locate(hash)) == hash
                && entry.overflowed <= MOST_OVERFLOWED;
            if !sound {
                return wrong("overflow table entry", hash.to_u64());
            }
            filter.restore_overflow(hash, entry);
        }
        let counted = filter.overflow().overflowed() == header.overflowed
            && filter.stored() == header.stored
            && filter.len() == header.len;
        if counted { Ok(filter) } else { wrong("number of items", header.len) }
    }
}

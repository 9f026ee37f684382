//! A snapshot used in place: it opens at once, and only what is touched is read.
//!
//! All parts but the segments are read and checked as in `load`, so that places, counts and the overflow
//! table agree with each other. The segments are mapped without being read, so no operation may rely on the
//! value of a slot. The bounds hold by geometry:
//! [`LevelGeometry::locate`](crate::kernel::LevelGeometry) and the alternate bucket of any value in a disjoint
//! bucket lie in the segment. In overlapping buckets a value's position bit could point out of the segment, so
//! files with those are read instead.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use crate::filter::CuckooFilter;
use crate::kernel::Layout;
use crate::snapshot::error::LoadError;
use crate::snapshot::fields::wrong;
use crate::snapshot::front::Front;
use crate::snapshot::header::SecretKey;
use crate::snapshot::load::load;
use crate::table::Table;

/// From this many slots on, a forged count of slots in use could overflow.
const MOST_SLOTS: u64 = 1 << 31;

impl CuckooFilter {
    /// Maps a snapshot that lies in these bytes of a regular file, at a multiple of 4096. The file's
    /// position afterwards is unspecified.
    pub(crate) fn map_part(
        mut file: &File,
        part: Range<u64>,
        key: SecretKey,
    ) -> Result<Self, LoadError> {
        let length = part.end - part.start;
        file.seek(SeekFrom::Start(part.start))?;
        let front = Front::read(&mut file, length)?;
        let Some(table) = mapped(file, part.start, &front)? else {
            file.seek(SeekFrom::Start(part.start))?;
            return load(file.take(length), length, key);
        };
        file.seek(SeekFrom::Start(part.start + front.header.overflow))?;
        front.finish(&mut file, key, table)
    }
}

/// The segments of a snapshot that begins at `begin` of the file; none if they cannot be used there.
fn mapped(file: &File, begin: u64, front: &Front) -> Result<Option<Table>, LoadError> {
    let geometry = front.header.geometry;
    let slots = geometry.segment_slots();
    if cfg!(miri) || geometry.layout == Layout::Overlapping || slots >= MOST_SLOTS {
        return Ok(None);
    }
    let bytes = begin + front.header.first_segment()..begin + front.header.overflow;
    let Ok(mut table) = Table::map_file(file, &bytes) else {
        return Ok(None);
    };
    front.add_segments(&mut table, |number, _| {
        let row = &front.rows[number];
        if u64::from(row.occupied) <= slots { Ok(()) } else { wrong("slots in use", row.occupied) }
    })?;
    Ok(Some(table))
}

//! A snapshot used where it lies: opened at once, read as far as it is asked.
//!
//! What stands beside the segments is read and checked as in `load`, so that places, counts and the
//! overflow table agree with each other. The segments are mapped, and not looked at: nothing that the
//! operations do with a slot may depend on its value being sound. The bounds hold by geometry:
//! [`LevelGeometry::locate`](crate::kernel::LevelGeometry) and the alternate bucket of any value in a disjoint
//! bucket lie in the segment. In overlapping buckets a value's position bit could point out of the segment, so
//! files with those are read instead.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use xxhash_rust::xxh3::Xxh3;

use crate::cuckoo::CuckooFilter;
use crate::kernel::Layout;
use crate::snapshot::error::{LoadError, Part};
use crate::snapshot::front::Front;
use crate::snapshot::load::{add_segments, load, wrong_occupied};
use crate::table::Table;

/// Bytes that are read at a time to be checked.
const CHECK_STEP: usize = 1 << 18;
/// From so many slots on a segment's counter could overflow, if the file lied about it.
const MOST_SLOTS: u64 = 1 << 31;

impl CuckooFilter {
    /// Opens a snapshot without reading it: the file is mapped, and only what an operation touches
    /// comes into memory. O(segments + overflow table), under a millisecond for a million items.
    ///
    /// Changes stay in memory, on private copies of the pages they touch; the file is never written.
    /// Growth takes ordinary memory.
    ///
    /// Header, segment table, overflow table and trailer are checked as in [`read`](Self::read). The
    /// segments are not: their checksums are what `read` and [`verify`](Self::verify) look at.
    /// Damage there gives wrong answers, and a wrong number of items, where `read` would give an
    /// error; no access leaves the mapping, and no operation does unbounded work. Check a file of
    /// doubtful origin first.
    ///
    /// The file must not be changed or cut while the filter lives; replacing it, as
    /// [`save_atomically`](Self::save_atomically) does, is safe: this filter goes on with the old one.
    ///
    /// Where mapping is not possible (a pipe, a file system or platform without it, overlapping
    /// buckets) the file is read.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn map(path: &Path) -> Result<Self, LoadError> {
        Self::map_file(&File::open(path)?, None)
    }

    /// [`map`](Self::map) for a filter with a secret SipHash key.
    ///
    /// # Errors
    ///
    /// As [`read_with_key`](Self::read_with_key).
    pub fn map_with_key(path: &Path, key: [u8; 16]) -> Result<Self, LoadError> {
        Self::map_file(&File::open(path)?, Some(key))
    }

    /// [`map`](Self::map) for a file that is open already and stands at its beginning; it may be
    /// closed afterwards. `key` is the secret SipHash key, if it has one.
    ///
    /// # Errors
    ///
    /// As [`read_with_key`](Self::read_with_key).
    pub fn map_file(mut file: &File, key: Option<[u8; 16]>) -> Result<Self, LoadError> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Self::read_file(file, key);
        }
        let begin = file.stream_position()?;
        Self::map_part(file, begin..metadata.len().max(begin), key)
    }

    /// Maps a snapshot that lies in these bytes of a regular file, at a multiple of 4096. Where the file
    /// stands afterwards is not said.
    pub(crate) fn map_part(
        mut file: &File,
        part: Range<u64>,
        key: Option<[u8; 16]>,
    ) -> Result<Self, LoadError> {
        let length = part.end - part.start;
        file.seek(SeekFrom::Start(part.start))?;
        let front = Front::read(&mut file, length)?;
        let Some(table) = mapped(file, part.start, &front)? else {
            file.seek(SeekFrom::Start(part.start))?;
            return load(file.take(length), length, key);
        };
        file.seek(SeekFrom::Start(part.start + front.header.places.overflow))?;
        front.finish(&mut file, key, table)
    }

    /// Looks at every byte of a snapshot that is open and stands at its beginning, in little memory beside
    /// that of its overflow table. O(bytes).
    ///
    /// Finds damage, as [`read`](Self::read) does. Only `read` also finds segments that were forged
    /// together with their checksums.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read), but no key is needed.
    pub fn verify(file: &File) -> Result<(), LoadError> {
        Self::verify_part(file, file.metadata()?.len())
    }

    /// [`verify`](Self::verify) for a snapshot in the next `bytes` bytes.
    pub(crate) fn verify_part(file: &File, bytes: u64) -> Result<(), LoadError> {
        let mut input = BufReader::with_capacity(CHECK_STEP, file.take(bytes));
        let front = Front::read(&mut input, bytes)?;
        let mut piece = vec![0; CHECK_STEP];
        for (number, row) in (0..).zip(&front.rows) {
            let mut left = front.segment_bytes(row);
            let mut sum = Xxh3::new();
            while left > 0 {
                let some = left.min(CHECK_STEP as u64);
                let part = &mut piece[..some as usize];
                input.read_exact(part)?;
                sum.update(part);
                left -= some;
            }
            if sum.digest() != row.checksum {
                return Err(LoadError::Checksum { part: Part::Segment(number) });
            }
        }
        front.overflow_bytes(&mut input).map(drop)
    }
}

/// The segments of a snapshot that begins at `begin` of the file; none if they cannot be used there.
fn mapped(file: &File, begin: u64, front: &Front) -> Result<Option<Table>, LoadError> {
    let (geometry, places) = (front.header.geometry, front.header.places);
    let slots = geometry.segment_slots();
    if cfg!(miri) || geometry.layout == Layout::Overlapping || slots >= MOST_SLOTS {
        return Ok(None);
    }
    let bytes = begin + places.first_segment..begin + places.overflow;
    let Ok(mut table) = Table::map_file(file, &bytes) else {
        return Ok(None);
    };
    add_segments(&mut table, front, |_, row, _, _| {
        if u64::from(row.occupied) <= slots { Ok(()) } else { Err(wrong_occupied(row)) }
    })?;
    Ok(Some(table))
}

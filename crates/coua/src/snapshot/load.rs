//! Reading a snapshot. The bytes are hostile until checked.
//!
//! Nothing is allocated that the length of the input does not justify, and everything that the
//! operations rely on is verified: counts against the slots, places against the geometry. Bytes that
//! are consistent but wrong can only make a filter that answers wrongly.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;

use crate::KeyHash;
use crate::directory::Directory;
use crate::filter::CuckooFilter;
use crate::geometry::Shape;
use crate::hash::KeyHasher;
use crate::side::{Aside, Side};
use crate::snapshot::error::{LoadError, Part};
use crate::snapshot::front::{Front, Row, header_of};
use crate::snapshot::header::{ENTRY_BYTES, HEADER_BYTES, Header, Reader, checksum_of};
use crate::snapshot::slots;
use crate::table::{Segment, Table};

/// So many items may be without a slot beyond the number of slots: small filters have room for a few.
const SPARE_HOMELESS: u64 = 1024;

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
        Self::read_path(path, None)
    }

    /// Reads the snapshot of a filter with a secret SipHash key. O(bytes).
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
        Self::read_path(path, Some(key))
    }

    fn read_path(path: &Path, key: Option<[u8; 16]>) -> Result<Self, LoadError> {
        Self::read_file(&File::open(path)?, key)
    }

    /// [`read`](Self::read) for a file that is open already, from where it stands; `key` is the
    /// secret SipHash key, if it has one. O(bytes).
    ///
    /// # Errors
    ///
    /// As [`read_with_key`](Self::read_with_key).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// coua::CuckooFilter::new().save_atomically(&path)?;
    /// let file = std::fs::File::open(&path)?;
    /// assert!(coua::CuckooFilter::read_file(&file, None)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_file(mut file: &File, key: Option<[u8; 16]>) -> Result<Self, LoadError> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return read_unsized(file, key);
        }
        let begin = file.stream_position()?;
        load(file, metadata.len().saturating_sub(begin), key)
    }

    /// Reads a snapshot that is all that `input` has, which are `bytes` bytes.
    pub(crate) fn read_part<R: Read>(
        input: R,
        bytes: u64,
        key: Option<[u8; 16]>,
    ) -> Result<Self, LoadError> {
        load(input, bytes, key)
    }

    /// Reads a snapshot from a stream, to its end. O(bytes), which take memory beside the filter
    /// until it is done.
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

    /// [`read_from`](Self::read_from) for a filter with a secret SipHash key. O(bytes).
    ///
    /// # Errors
    ///
    /// As [`read_with_key`](Self::read_with_key).
    ///
    /// ```
    /// assert!(coua::CuckooFilter::read_from_with_key(std::io::empty(), [7; 16]).is_err());
    /// ```
    pub fn read_from_with_key<R: Read>(input: R, key: [u8; 16]) -> Result<Self, LoadError> {
        read_unsized(input, Some(key))
    }

    /// Reads a snapshot from memory. O(bytes).
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

    /// [`from_bytes`](Self::from_bytes) for a filter with a secret SipHash key. O(bytes).
    ///
    /// # Errors
    ///
    /// As [`read_with_key`](Self::read_with_key).
    ///
    /// ```
    /// use coua::{CuckooFilter, KeyHasher};
    /// let keyed = CuckooFilter::builder().hasher(KeyHasher::siphash13([7; 16])).build()?;
    /// let mut bytes = Vec::new();
    /// keyed.write_to(&mut bytes)?;
    /// assert!(CuckooFilter::from_bytes_with_key(&bytes, [7; 16])?.is_empty());
    /// assert!(CuckooFilter::from_bytes(&bytes).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes_with_key(bytes: &[u8], key: [u8; 16]) -> Result<Self, LoadError> {
        load(bytes, bytes.len() as u64, Some(key))
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

pub(super) fn load<R: Read>(
    mut input: R,
    length: u64,
    key: Option<[u8; 16]>,
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
    /// A key with further copies beside it that is not there itself.
    fn extra_without_item(&self) -> Option<KeyHash> {
        let has_item = |hash| self.slots_holding(&self.locate(hash)) > 0;
        let mut entries = self.side.iter();
        entries.find(|&(hash, aside)| aside.homeless == 0 && !has_item(hash)).map(|(hash, _)| hash)
    }
}

fn wrong_entry(hash: KeyHash) -> LoadError {
    LoadError::Field { name: "side table entry", found: hash.to_u64() }
}

impl Front {
    /// Reads what stands behind the segments, and puts the filter together.
    pub(super) fn finish(
        self,
        input: &mut impl Read,
        key: Option<[u8; 16]>,
        table: Table,
    ) -> Result<CuckooFilter, LoadError> {
        let hasher = self.header.hash.hasher(key)?;
        let side_bytes = self.side_bytes(input)?;
        let Self { header, directory, .. } = self;
        assemble(&header, Parts { hasher, directory, table, side_bytes })
    }
}

/// What has been read, checked each by itself.
struct Parts {
    hasher: KeyHasher,
    directory: Directory,
    table: Table,
    side_bytes: Vec<u8>,
}

/// Puts the parts together and checks them against each other.
fn assemble(header: &Header, parts: Parts) -> Result<CuckooFilter, LoadError> {
    let Parts { hasher, directory, table, side_bytes } = parts;
    let (geometry, policy) = (header.geometry, header.policy);
    let mut filter = CuckooFilter::of_table(geometry, table, directory, policy, hasher);
    filter.stored = header.stored;
    Side::check_memory(side_bytes.len() / ENTRY_BYTES as usize)?;
    let most_homeless = filter.slots() + SPARE_HOMELESS;
    let mut last = None;
    for entry in side_bytes.chunks_exact(ENTRY_BYTES as usize) {
        let mut fields = Reader { bytes: entry, at: 0 };
        let hash = KeyHash::from_u64(fields.u64());
        let aside = Aside { extra: fields.u64(), homeless: fields.u64() };
        let probe = filter.locate(hash);
        let sound = last.replace(hash) < Some(hash)
            && aside != Aside::default()
            && filter.representative(&probe) == hash
            && aside.homeless <= most_homeless - filter.side.homeless();
        if !sound {
            return Err(wrong_entry(hash));
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

fn segments_of(input: &mut impl Read, front: &Front) -> Result<Table, LoadError> {
    let places = front.header.places;
    let mut table = Table::with_room(places.side - places.first_segment)?;
    add_segments(&mut table, front, |number, row, segment, shape| {
        let bytes = front.segment_bytes(row) as usize;
        input.read_exact(segment.bytes_mut(bytes))?;
        if checksum_of(segment.bytes(bytes)) != row.checksum {
            return Err(LoadError::Checksum { part: Part::Segment(number) });
        }
        if slots::in_use(shape, segment) != Some(u64::from(row.occupied)) {
            return Err(wrong_occupied(row));
        }
        Ok(())
    })?;
    Ok(table)
}

pub(crate) fn wrong_occupied(row: &Row) -> LoadError {
    LoadError::Field { name: "slots in use", found: u64::from(row.occupied) }
}

/// Adds the segments of all rows; `check` gets each with its number and shape, and fills it if need
/// be.
pub(super) fn add_segments(
    table: &mut Table,
    front: &Front,
    mut check: impl FnMut(u64, &Row, &mut Segment, &Shape) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    // All rows have arrived: there are not more of them announced than there are.
    table.expect_segments(front.rows.len())?;
    let mut prefix = 0u64;
    for (number, row) in (0..).zip(&front.rows) {
        let level = row.depth - front.header.geometry.base_depth;
        let shape = &front.shapes[level as usize];
        let index = table.add_segment(front.segment_bytes(row), prefix, level as u8)?;
        let segment = &mut table.segments[index as usize];
        check(number, row, segment, shape)?;
        segment.occupied = row.occupied;
        segment.overfull = row.overfull;
        // The last prefix of all overflows to zero, and is not used.
        prefix = prefix.wrapping_add(1u64.checked_shl(64 - row.depth).unwrap_or(0));
    }
    Ok(())
}

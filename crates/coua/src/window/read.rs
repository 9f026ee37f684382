//! Reading a file of generations. The bytes are hostile until checked; the parts are checked as single filters
//! are.

#[cfg(feature = "file")]
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::filter::CuckooFilter;
use crate::snapshot::{
    END_MAGIC, LoadError, MAGIC, PAGE, Part, Reader, SecretKey, Summed, expect, load, load_stream,
    read_exactly, read_padding, sealed, snapshot_end, wrong,
};
use crate::window::Generations;
use crate::window::generations::Live;
use crate::window::header::{
    HEADER_BYTES, Header, ROW_BYTES, Row, TEMPLATE, TRAILER_BYTES, VERSION, trailer,
};

/// Whether the input begins like a file of generations, not of one filter. Seeks back to the beginning.
pub(crate) fn is_generations(input: &mut (impl Read + Seek)) -> io::Result<bool> {
    let mut begin = Vec::new();
    input.by_ref().take(MAGIC.len() as u64 + 2).read_to_end(&mut begin)?;
    input.rewind()?;
    Ok(begin.strip_prefix(&MAGIC) == Some(&VERSION.to_le_bytes()))
}

/// The length of a file of generations, from the headers of its parts.
pub(crate) fn generations_bytes(input: &mut (impl Read + Seek)) -> Result<u64, LoadError> {
    let parts = Header::decode(&read_exactly(input, HEADER_BYTES as u64)?)?.parts;
    let too_long = |at| LoadError::Field { name: "part length", found: at };
    let mut at = PAGE;
    for _ in 0..parts {
        input.seek(SeekFrom::Start(at))?;
        at = after_part(at, snapshot_end(input)?).ok_or(too_long(at))?;
    }
    at.checked_add(parts * ROW_BYTES + TRAILER_BYTES).ok_or(too_long(at))
}

/// Where the part after one of this offset and length begins, or the table.
fn after_part(offset: u64, bytes: u64) -> Option<u64> {
    offset.checked_add(bytes)?.checked_next_multiple_of(PAGE)
}

impl Generations {
    /// Bytes of the snapshot with which a regular file begins; a log may follow it (docs/format.md,
    /// section 9). Reads the header alone, or that of each generation.
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the file does not begin with a snapshot. What follows the headers is not read.
    #[cfg(feature = "file")]
    pub fn snapshot_bytes(mut file: &File) -> Result<u64, LoadError> {
        file.rewind()?;
        if is_generations(&mut file)? {
            generations_bytes(&mut file)
        } else {
            snapshot_end(&mut file)
        }
    }

    /// Checks every byte of the snapshot in the first `bytes` bytes of a regular file, in little memory
    /// besides that of the overflow tables, and without the key. O(bytes).
    ///
    /// # Errors
    ///
    /// [`LoadError`] for what is damaged; not for what was forged.
    #[cfg(feature = "file")]
    pub fn verify(mut file: &File, bytes: u64) -> Result<(), LoadError> {
        file.rewind()?;
        if !is_generations(&mut file)? {
            return crate::snapshot::verify(file, bytes);
        }
        walk(&mut file, bytes, |part| Ok(io::copy(part, &mut io::sink())?)).map(drop)
    }
}

impl sealed::Snapshot for Generations {
    fn read(mut input: impl Read + Seek, bytes: u64, key: SecretKey) -> Result<Self, LoadError> {
        if !is_generations(&mut input)? {
            return load(input, bytes, key).map(Self::from);
        }
        walk(&mut input, bytes, |part| load_stream(part, key)).and_then(assembled)
    }

    /// All but the segments is checked, and the checksums over whole parts are not.
    #[cfg(feature = "mmap")]
    fn map(mut file: &File, bytes: u64, key: SecretKey) -> Result<Self, LoadError> {
        if !is_generations(&mut file)? {
            return CuckooFilter::map_part(file, 0..bytes, key).map(Self::from);
        }
        let map = |file: &mut &File, row: &Row| {
            CuckooFilter::map_part(file, row.offset..row.offset + row.bytes, key)
        };
        for_parts(&mut file, bytes, map).and_then(assembled)
    }
}

/// The header of a file, and what its parts were read as, each with its number.
type Parts<T> = (Header, Vec<(u64, T)>);

fn assembled((header, filters): Parts<CuckooFilter>) -> Result<Generations, LoadError> {
    let mut filters = filters.into_iter();
    let first = filters.next();
    let (number, template) = first.ok_or(LoadError::Field { name: "parts", found: 0 })?;
    if number != TEMPLATE || !template.is_empty() {
        return wrong("generation", number);
    }
    let mut made = Generations::from_template(header.window, template);
    made.set_clock(header.time);
    for (number, filter) in filters {
        if !made.fits(number, &filter) {
            return wrong("generation", number);
        }
        made.live.push(Live { number, filter });
    }
    Ok(made)
}

impl Generations {
    /// Whether a filter can be the next generation.
    fn fits(&self, number: u64, filter: &CuckooFilter) -> bool {
        let (template, last) = (self.template(), self.live.last().map(|live| live.number));
        last.is_none_or(|last| last < number)
            && self.remembers(number)
            && filter.hasher() == template.hasher()
            && filter.policy() == template.policy()
            && filter.layout() == template.layout()
            && filter.slots_per_bucket() == template.slots_per_bucket()
            && filter.as_segments().geometry().resolves(template.as_segments().geometry())
            && template.as_segments().geometry().resolves(filter.as_segments().geometry())
    }
}

/// Calls `read` with every part, in order; it must read the part to its end. Checks all but what a part means.
pub(super) fn walk<I: Read + Seek, T>(
    input: &mut I,
    length: u64,
    mut read: impl FnMut(&mut Summed<&mut I>) -> Result<T, LoadError>,
) -> Result<Parts<T>, LoadError> {
    for_parts(input, length, |input, row| {
        let mut part = Summed::new(input, row.bytes);
        let made = read(&mut part)?;
        part.check(row.checksum, Part::Generation(row.number)).map(|()| made)
    })
}

/// Calls `read` with the input at the beginning of every part, in order. Checks all but the parts.
fn for_parts<I: Read + Seek, T>(
    input: &mut I,
    length: u64,
    mut read: impl FnMut(&mut I, &Row) -> Result<T, LoadError>,
) -> Result<Parts<T>, LoadError> {
    let (header, rows) = outline(input, length)?;
    let (mut parts, mut at) = (Vec::new(), HEADER_BYTES as u64);
    for row in &rows {
        skip_zeros(input, at)?;
        parts.push((row.number, read(input, row)?));
        at = row.offset + row.bytes;
    }
    skip_zeros(input, at)?;
    Ok((header, parts))
}

/// Passes over the bytes from here up to the next page, which are zero.
fn skip_zeros(input: &mut (impl Read + Seek), at: u64) -> Result<(), LoadError> {
    input.seek(SeekFrom::Start(at))?;
    read_padding(input, at.next_multiple_of(PAGE) - at)
}

/// The header and the table.
pub(crate) fn outline(
    input: &mut (impl Read + Seek),
    length: u64,
) -> Result<(Header, Vec<Row>), LoadError> {
    let head = read_exactly(input, HEADER_BYTES as u64)?;
    let header = Header::decode(&head)?;
    // Bounded by the generations that a window may have.
    let table_bytes = header.parts * ROW_BYTES;
    let end_bytes = table_bytes + TRAILER_BYTES;
    let wrong_length = |expected| LoadError::Length { expected, found: length };
    let too_short = wrong_length(HEADER_BYTES as u64 + end_bytes);
    let table_offset = length.checked_sub(end_bytes).ok_or(too_short)?;
    input.seek(SeekFrom::Start(table_offset))?;
    let end = read_exactly(input, end_bytes)?;
    let (table, found) = end.split_at(table_bytes as usize);
    if found != trailer(&head, table, table_offset) {
        // A wrong length is reported as such, not as damage, where the two can be told apart.
        let named = Reader(found).u64();
        if found.ends_with(&END_MAGIC) && named != table_offset {
            return Err(wrong_length(named.saturating_add(end_bytes)));
        }
        return Err(LoadError::Checksum { part: Part::Trailer });
    }
    let rows: Vec<_> = table.chunks_exact(ROW_BYTES as usize).map(Row::decode).collect();
    follow_each_other(&rows, table_offset).map(|()| (header, rows))
}

/// Whether each part begins where the one before ends, and the table after the last.
fn follow_each_other(rows: &[Row], table_offset: u64) -> Result<(), LoadError> {
    let mut at = PAGE;
    for row in rows {
        let next = after_part(row.offset, row.bytes).filter(|_| row.offset == at);
        at = next.ok_or(LoadError::Field { name: "part offset", found: row.offset })?;
    }
    expect("table offset", at, table_offset)
}

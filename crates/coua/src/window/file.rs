//! Generations as bytes.
//!
//! ```text
//! header | mould | generation | ... | table | trailer
//! ```
//!
//! Mould and generations are filters as they are in files of their own, each at a multiple of 4096. A
//! filter that never forgets is written as a file of its own. `docs/format.md`, section 7, is the
//! normative text.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::Xxh3;

use crate::filter::CuckooFilter;
use crate::snapshot::{LoadError, Part};
use crate::window::Generations;
use crate::window::generations::{Aging, Live};
use crate::window::header::{
    END_MAGIC, HEADER_BYTES, Header, MAGIC, MOULD, PAGE, ROW_BYTES, Row, TRAILER_BYTES, VERSION,
    trailer, u64_at,
};

impl Generations {
    /// Writes the snapshot; one that never forgets as [`CuckooFilter::write_to`] does. The bytes depend
    /// only on the history of operations.
    ///
    /// # Errors
    ///
    /// Those of `out`.
    ///
    /// ```
    /// let mut bytes = Vec::new();
    /// coua::Generations::default().write_to(&mut bytes)?;
    /// assert!(coua::Generations::from_bytes(&bytes, None)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_to<W: Write>(&self, out: W) -> io::Result<()> {
        let Some(aging) = &self.aging else { return self.mould().write_to(out) };
        let parts = 1 + self.live.len() as u64;
        let header = Header { window: aging.window, time: aging.clock, parts }.encode();
        let mut out = Counted { out, at: 0, sum: Xxh3::new() };
        out.write_all(&header)?;
        let mut table = Vec::new();
        let live = self.live.iter().map(|live| (live.number, &live.filter));
        for (number, filter) in [(MOULD, &aging.mould)].into_iter().chain(live) {
            out.pad()?;
            let offset = out.at;
            out.sum = Xxh3::new();
            filter.write_to(&mut out)?;
            let (bytes, checksum) = (out.at - offset, out.sum.digest());
            Row { number, offset, bytes, checksum }.encode(&mut table);
        }
        out.pad()?;
        let end = trailer(&header, &table, out.at);
        out.write_all(&table)?;
        out.write_all(&end)?;
        out.flush()
    }

    /// Reads a snapshot from a file that is open and stands at its beginning, and checks every byte;
    /// `key` is the secret `SipHash` key, if it has one.
    ///
    /// # Errors
    ///
    /// [`LoadError`]: every damaged or foreign byte is found, before memory is taken for it.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// coua::CuckooFilter::new().save_atomically(&path)?;
    /// let file = std::fs::File::open(&path)?;
    /// assert!(coua::Generations::read_file(&file, None)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_file(mut file: &File, key: Option<[u8; 16]>) -> Result<Self, LoadError> {
        let metadata = file.metadata()?;
        if !metadata.is_file() || !is_generations(&mut file)? {
            return CuckooFilter::read_file(file, key).map(Self::from);
        }
        load(&mut file, metadata.len(), key)
    }

    /// As [`read_file`](Self::read_file), but a filter that never forgets is mapped, as
    /// [`CuckooFilter::map_file`] does. Generations are read.
    ///
    /// # Errors
    ///
    /// As [`read_file`](Self::read_file).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// coua::CuckooFilter::new().save_atomically(&path)?;
    /// let file = std::fs::File::open(&path)?;
    /// assert!(coua::Generations::map_file(&file, None)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn map_file(mut file: &File, key: Option<[u8; 16]>) -> Result<Self, LoadError> {
        if file.metadata()?.is_file() && is_generations(&mut file)? {
            return Self::read_file(file, key);
        }
        CuckooFilter::map_file(file, key).map(Self::from)
    }

    /// Looks at every byte of a snapshot that is open and stands at its beginning, in little memory,
    /// and without the key.
    ///
    /// # Errors
    ///
    /// As [`read_file`](Self::read_file), for what is damaged; not for what was forged.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// coua::CuckooFilter::new().save_atomically(&path)?;
    /// coua::Generations::check_file(&std::fs::File::open(&path)?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_file(mut file: &File) -> Result<(), LoadError> {
        let metadata = file.metadata()?;
        if !metadata.is_file() || !is_generations(&mut file)? {
            return CuckooFilter::check_file(file);
        }
        walk(&mut file, metadata.len(), |_, _, part| Ok(io::copy(part, &mut io::sink()).map(drop)?))
            .map(drop)
    }

    /// Reads a snapshot from memory.
    ///
    /// # Errors
    ///
    /// As [`read_file`](Self::read_file).
    ///
    /// ```
    /// assert!(coua::Generations::from_bytes(b"not a filter", None).is_err());
    /// ```
    pub fn from_bytes(bytes: &[u8], key: Option<[u8; 16]>) -> Result<Self, LoadError> {
        let mut input = Cursor::new(bytes);
        if is_generations(&mut input)? {
            return load(&mut input, bytes.len() as u64, key);
        }
        let filter = match key {
            Some(key) => CuckooFilter::from_bytes_with_key(bytes, key),
            None => CuckooFilter::from_bytes(bytes),
        };
        filter.map(Self::from)
    }
}

/// Whether the input begins like a file of generations, rather than of one filter. Stands at the
/// beginning again afterwards.
fn is_generations(input: &mut (impl Read + Seek)) -> io::Result<bool> {
    let mut begin = Vec::new();
    input.by_ref().take(MAGIC.len() as u64 + 2).read_to_end(&mut begin)?;
    input.rewind()?;
    Ok(begin.strip_prefix(&MAGIC) == Some(&VERSION.to_le_bytes()))
}

fn load(
    input: &mut (impl Read + Seek),
    length: u64,
    key: Option<[u8; 16]>,
) -> Result<Generations, LoadError> {
    let mut made: Option<Generations> = None;
    walk(input, length, |header, row, part| {
        let filter = match key {
            Some(key) => CuckooFilter::read_from_with_key(part, key)?,
            None => CuckooFilter::read_from(part)?,
        };
        let refused = LoadError::Field { name: "generation", found: row.number };
        match &mut made {
            None if row.number == MOULD && filter.is_empty() => {
                let (window, clock) = (header.window, header.time);
                let aging = Aging { window, clock, mould: filter, forgotten: 0, outdated: 0 };
                made = Some(Generations { live: Vec::new(), aging: Some(aging) });
            }
            Some(made) if made.fits(row.number, &filter) => {
                made.live.push(Live { number: row.number, filter });
            }
            _ => return Err(refused),
        }
        Ok(())
    })?;
    made.ok_or(LoadError::Field { name: "parts", found: 0 })
}

impl Generations {
    /// Whether a filter can be the next generation.
    fn fits(&self, number: u64, filter: &CuckooFilter) -> bool {
        let (mould, last) = (self.mould(), self.live.last().map(|live| live.number));
        last.is_none_or(|last| last < number)
            && self.remembers(number)
            && filter.hasher() == mould.hasher()
            && filter.policy == mould.policy
            && filter.layout() == mould.layout()
            && filter.slots_per_bucket() == mould.slots_per_bucket()
            && filter.geometry.resolves(&mould.geometry)
            && mould.geometry.resolves(&filter.geometry)
    }
}

/// Checks all but the parts themselves, and gives these to `each`, in their order.
fn walk<I: Read + Seek>(
    input: &mut I,
    length: u64,
    mut each: impl FnMut(&Header, &Row, &mut Summed<'_, I>) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let mut head = Vec::new();
    input.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut head)?;
    if head.len() < HEADER_BYTES {
        return Err(LoadError::Length { expected: HEADER_BYTES as u64, found: length });
    }
    let header = Header::decode(&head)?;
    let rows = rows_of(input, length, &head, &header)?;
    let mut at = input.seek(SeekFrom::Start(HEADER_BYTES as u64))?;
    for row in &rows {
        skip_zeros(input, &mut at)?;
        let mut part = Summed { input: input.by_ref().take(row.bytes), sum: Xxh3::new() };
        each(&header, row, &mut part)?;
        if part.input.limit() > 0 || part.sum.digest() != row.checksum {
            return Err(LoadError::Checksum { part: Part::Generation(row.number) });
        }
        at += row.bytes;
    }
    skip_zeros(input, &mut at)
}

/// The table, whose places are one after the other.
fn rows_of(
    input: &mut (impl Read + Seek),
    length: u64,
    head: &[u8],
    header: &Header,
) -> Result<Vec<Row>, LoadError> {
    // At most as long as a window may have generations.
    let table_bytes = header.parts * ROW_BYTES;
    let behind = table_bytes + TRAILER_BYTES;
    let too_short = LoadError::Length { expected: HEADER_BYTES as u64 + behind, found: length };
    let table_offset = length.checked_sub(behind).ok_or(too_short)?;
    input.seek(SeekFrom::Start(table_offset))?;
    let mut end = Vec::new();
    input.by_ref().take(behind).read_to_end(&mut end)?;
    let Some((table, found)) = end.split_at_checked(table_bytes as usize) else {
        return Err(LoadError::Checksum { part: Part::Trailer });
    };
    if found != trailer(head, table, table_offset) {
        // What was cut, or is longer, is told apart from what was changed, if it can be.
        let begin = found.len().saturating_sub(TRAILER_BYTES as usize);
        if found.ends_with(&END_MAGIC) && u64_at(&found[begin..], 0) != table_offset {
            let expected = u64_at(&found[begin..], 0).saturating_add(behind);
            return Err(LoadError::Length { expected, found: length });
        }
        return Err(LoadError::Checksum { part: Part::Trailer });
    }
    let rows: Vec<Row> = table.chunks_exact(ROW_BYTES as usize).map(Row::decode).collect();
    let mut at = PAGE;
    for row in &rows {
        let next =
            row.offset.checked_add(row.bytes).and_then(|end| end.checked_next_multiple_of(PAGE));
        match next.filter(|_| row.offset == at) {
            Some(next) => at = next,
            None => return Err(LoadError::Field { name: "part offset", found: row.offset }),
        }
    }
    if at == table_offset {
        Ok(rows)
    } else {
        Err(LoadError::Field { name: "table offset", found: table_offset })
    }
}

/// Passes over the bytes up to the next page, which are zero.
fn skip_zeros(input: &mut impl Read, at: &mut u64) -> Result<(), LoadError> {
    let next = at.next_multiple_of(PAGE);
    let mut zeros = Vec::new();
    input.by_ref().take(next - *at).read_to_end(&mut zeros)?;
    if zeros.len() as u64 != next - *at || zeros.iter().any(|&byte| byte != 0) {
        return Err(LoadError::Checksum { part: Part::Padding });
    }
    *at = next;
    Ok(())
}

/// A part that is being read.
struct Summed<'a, I> {
    input: io::Take<&'a mut I>,
    sum: Xxh3,
}

impl<I: Read> Read for Summed<'_, I> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(bytes)?;
        self.sum.update(&bytes[..read]);
        Ok(read)
    }
}

/// An output that knows how far it is.
struct Counted<W> {
    out: W,
    at: u64,
    /// Of the part that is being written.
    sum: Xxh3,
}

impl<W: Write> Counted<W> {
    fn pad(&mut self) -> io::Result<()> {
        let zeros = self.at.next_multiple_of(PAGE) - self.at;
        self.write_all(&vec![0; zeros as usize])
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.at += written as u64;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

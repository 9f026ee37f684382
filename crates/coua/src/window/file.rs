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
use std::io::{self, Cursor, Write};

use xxhash_rust::xxh3::Xxh3;

use crate::cuckoo::CuckooFilter;
use crate::snapshot::LoadError;
use crate::window::Generations;
use crate::window::header::{Header, MOULD, PAGE, Row, trailer};
use crate::window::read::{is_generations, load, map, walk};

impl Generations {
    /// Writes the snapshot; one that never forgets as [`CuckooFilter::write_to`] does. The bytes depend
    /// only on the history of operations. O(bytes).
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
    /// `key` is the secret `SipHash` key, if it has one. O(bytes). From a pipe only filters that never
    /// forget can be read: where the others' table begins, their end says.
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

    /// As [`read_file`](Self::read_file), but what can be mapped is used where it lies, each generation as
    /// [`CuckooFilter::map`] does: opening costs what stands beside the segments, and damage in those is
    /// left to [`verify`](Self::verify). O(segments + side tables).
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
        let metadata = file.metadata()?;
        if !metadata.is_file() || !is_generations(&mut file)? {
            return CuckooFilter::map_file(file, key).map(Self::from);
        }
        map(file, metadata.len(), key)
    }

    /// Looks at every byte of a snapshot that is open and stands at its beginning, in little memory beside
    /// that of the side tables, and without the key. O(bytes). It must be a regular file.
    ///
    /// # Errors
    ///
    /// As [`read_file`](Self::read_file), for what is damaged; not for what was forged.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// coua::CuckooFilter::new().save_atomically(&path)?;
    /// coua::Generations::verify(&std::fs::File::open(&path)?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verify(mut file: &File) -> Result<(), LoadError> {
        let metadata = file.metadata()?;
        if !metadata.is_file() || !is_generations(&mut file)? {
            return CuckooFilter::verify(file);
        }
        walk(&mut file, metadata.len(), |_, _, part| Ok(io::copy(part, &mut io::sink()).map(drop)?))
            .map(drop)
    }

    /// Reads a snapshot from memory. O(bytes).
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

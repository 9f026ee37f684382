//! Generations as bytes.
//!
//! ```text
//! header | template | generation | ... | table | trailer
//! ```
//!
//! Template and generations are snapshots of single filters, each at a multiple of 4096. A filter that never
//! forgets is written as its snapshot alone. `docs/format.md`, section 7, is the
//! normative text.

use std::io::{self, Write};
#[cfg(feature = "file")]
use std::{fs::File, io::Seek};

use xxhash_rust::xxh3::Xxh3;

use crate::cuckoo::CuckooFilter;
#[cfg(feature = "file")]
use crate::snapshot::{self, LoadError, snapshot_end};
use crate::snapshot::{PAGE, Rest};
use crate::window::Generations;
use crate::window::header::{
    HEADER_BYTES, Header, ROW_BYTES, Row, TEMPLATE, TRAILER_BYTES, trailer,
};
#[cfg(feature = "file")]
use crate::window::read::{generations_bytes, is_generations, walk};

impl Generations {
    /// Writes the snapshot; one that never forgets as [`CuckooFilter::write_to`] does. The bytes depend
    /// only on the history of operations. O(bytes).
    ///
    /// # Errors
    ///
    /// Those of `out`.
    pub fn write_to<W: Write>(&self, out: W) -> io::Result<()> {
        self.write_from(0, out)
    }

    /// What [`write_to`](Self::write_to) writes, without its first `start` bytes: for callers that send a
    /// snapshot in pieces, as [`CuckooFilter::write_from`].
    ///
    /// # Errors
    ///
    /// Those of `out`; `InvalidInput` if the snapshot is shorter than `start`.
    pub fn write_from<W: Write>(&self, start: u64, out: W) -> io::Result<()> {
        let Some(aging) = &self.aging else { return self.template().write_from(start, out) };
        let parts = 1 + self.live.len() as u64;
        let header = Header { window: aging.window, time: aging.clock, parts }.encode();
        let mut out = Rest::new(out, start);
        out.write_all(&header)?;
        let mut rows = Vec::new();
        for (number, filter) in self.parts() {
            out.pad()?;
            let offset = out.position();
            let sum = out.put(filter)?;
            let bytes = out.position() - offset;
            rows.push((Row { number, offset, bytes, checksum: 0 }, filter, sum));
        }
        out.pad()?;
        let mut table = Vec::new();
        for (row, filter, sum) in rows {
            let checksum = sum.map_or_else(|| checksum_of(filter), Ok)?;
            Row { checksum, ..row }.encode(&mut table);
        }
        let end = trailer(&header, &table, out.position());
        out.write_all(&table)?;
        out.write_all(&end)?;
        out.finish()
    }

    /// Bytes that [`write_to`](Self::write_to) writes. O(generations).
    pub fn snapshot_len(&self) -> u64 {
        if self.aging.is_none() {
            return self.template().snapshot_len();
        }
        let after = |end: u64, (_, filter): (u64, &CuckooFilter)| {
            end.next_multiple_of(PAGE) + filter.snapshot_len()
        };
        let end = self.parts().fold(HEADER_BYTES as u64, after);
        let rows = ROW_BYTES * self.parts().count() as u64;
        end.next_multiple_of(PAGE) + rows + TRAILER_BYTES
    }

    /// The template and the generations, as they are written.
    fn parts(&self) -> impl Iterator<Item = (u64, &CuckooFilter)> {
        let template = self.aging.iter().map(|aging| (TEMPLATE, &aging.template));
        template.chain(self.live.iter().map(|live| (live.number, &live.filter)))
    }

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
            return snapshot::verify(file, bytes);
        }
        walk(&mut file, bytes, |part| Ok(io::copy(part, &mut io::sink())?)).map(drop)
    }
}

fn checksum_of(filter: &CuckooFilter) -> io::Result<u64> {
    let mut sum = Xxh3::new();
    filter.write_to(&mut sum)?;
    Ok(sum.digest())
}

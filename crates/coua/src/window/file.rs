//! Writing generations as bytes.
//!
//! ```text
//! header | template | generation | ... | table | trailer
//! ```
//!
//! Template and generations are snapshots of single filters, each at a multiple of 4096. A filter that never
//! forgets is written as its snapshot alone. `docs/format.md`, section 7, is the
//! normative text.

use std::io::{self, Write};

use xxhash_rust::xxh3::Xxh3;

use crate::filter::CuckooFilter;
use crate::snapshot::{PAGE, Rest};
use crate::window::Generations;
use crate::window::header::{
    HEADER_BYTES, Header, ROW_BYTES, Row, TEMPLATE, TRAILER_BYTES, trailer,
};

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
}

fn checksum_of(filter: &CuckooFilter) -> io::Result<u64> {
    let mut sum = Xxh3::new();
    filter.write_to(&mut sum)?;
    Ok(sum.digest())
}

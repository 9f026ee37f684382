//! Which filters a file holds, and where.

use std::io::{Read, Seek};
use std::ops::Range;

use crate::snapshot::{LoadError, snapshot_end};
use crate::window::{TEMPLATE, Window, generations_bytes, is_generations, outline};

/// The filters that a snapshot holds: one, or those of the generations of a window.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Contents {
    /// How long items are remembered, if the filter forgets.
    pub window: Option<Window>,
    /// The time of a filter that forgets: when its present generation begins, or the items inserted so far.
    pub time: u64,
    /// The filters. With a window: first the template, then the generations, oldest first.
    pub tables: Vec<TablePart>,
    /// Where the snapshot ends, in bytes. A log may follow it.
    pub end: u64,
}

/// Where one filter lies in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TablePart {
    /// The number of the generation; `None` for a filter that is no generation.
    pub generation: Option<u64>,
    /// The bytes of the file.
    pub bytes: Range<u64>,
}

impl Contents {
    /// Reads the headers and tables of a snapshot that begins at offset 0. O(generations).
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the input does not begin with a snapshot.
    pub fn read<R: Read + Seek>(input: &mut R) -> Result<Self, LoadError> {
        input.rewind()?;
        if !is_generations(input)? {
            let end = snapshot_end(input)?;
            let part = TablePart { generation: None, bytes: 0..end };
            return Ok(Self { window: None, time: 0, tables: vec![part], end });
        }
        let end = generations_bytes(input)?;
        input.rewind()?;
        let (header, rows) = outline(input, end)?;
        let tables = rows.iter().map(|row| TablePart {
            generation: (row.number != TEMPLATE).then_some(row.number),
            bytes: row.offset..row.offset + row.bytes,
        });
        Ok(Self { window: Some(header.window), time: header.time, tables: tables.collect(), end })
    }
}

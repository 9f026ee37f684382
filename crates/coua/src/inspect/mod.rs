//! Inspects a filter by its snapshot: segments, buckets, slots, and the place of a key.
//!
//! For debuggers, visualizations and teaching. The snapshot is in a file, of which only the requested parts
//! are read, so that gigabytes open at once; or in memory, where
//! [`write_to`](crate::CuckooFilter::write_to) wrote it.
//!
//! ```
//! use std::io::Cursor;
//! use coua::CuckooFilter;
//! use coua::inspect::Contents;
//!
//! let mut filter = CuckooFilter::with_capacity(50, 0.01)?;
//! filter.insert("kestrel")?;
//! let mut bytes = Vec::new();
//! filter.write_to(&mut bytes)?;
//!
//! let mut file = Cursor::new(bytes);
//! let contents = Contents::read(&mut file)?;
//! let table = &contents.tables[0];
//! let place = table.locate(filter.hasher().hash(b"kestrel"));
//! let slots = table.slots(&mut file, place.segment)?;
//! assert_eq!(slots.len(), 1);
//! assert_eq!((slots[0].is_alternate, slots[0].bucket), (false, place.primary));
//! assert_eq!(slots[0].fingerprint, place.fingerprint);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod table;

use std::io::{Read, Seek, SeekFrom};

use crate::snapshot::{InputLength, LoadError, PartTable, Preamble, entries};
use crate::window::{TEMPLATE, Window, window_of};

pub use table::{OverflowEntry, Place, SegmentInfo, Slot, TableView};

/// The filters in a snapshot: one, or the generations of a window.
#[non_exhaustive]
pub struct Contents {
    /// The window, if the filter has one.
    pub window: Option<Window>,
    /// The clock of a filter with a window: the beginning of its present generation, or the items inserted so far.
    pub time: u64,
    /// The filters. With a window: first the template, then the generations, oldest first.
    pub tables: Vec<TableView>,
    /// The end of the snapshot, in bytes. Other bytes may follow.
    pub end: u64,
}

impl Contents {
    /// Reads a snapshot that begins at offset 0, without its segments. O(segments + overflow table).
    ///
    /// # Errors
    ///
    /// [`LoadError`] if the input does not begin with a snapshot, or a part other than the segments is damaged.
    pub fn read<R: Read + Seek>(input: &mut R) -> Result<Self, LoadError> {
        let bytes = input.seek(SeekFrom::End(0))?;
        input.rewind()?;
        let preamble = Preamble::read(input, InputLength { bytes, is_whole: false })?;
        let header = preamble.header;
        let window = header.window.map(window_of).transpose()?;
        input.seek(SeekFrom::Start(header.overflow))?;
        let overflow = preamble.overflow_bytes(input)?;
        let mut entries = entries(&overflow);
        let table = |part: PartTable| {
            let number = part.row.number;
            let generation = (window.is_some() && number != TEMPLATE).then_some(number);
            let own = entries.by_ref().take(part.row.overflow_entries as usize);
            TableView::new(header, part, generation, own)
        };
        let tables = preamble.parts.into_iter().map(table).collect();
        let time = header.window.map_or(0, |window| window.time);
        Ok(Self { window, time, tables, end: header.length() })
    }

    /// Checks every byte of the snapshot, with one segment in memory at a time. O(bytes).
    ///
    /// # Errors
    ///
    /// [`LoadError`] for anything damaged or impossible.
    pub fn check<R: Read + Seek>(&self, input: &mut R) -> Result<(), LoadError> {
        self.tables.iter().try_for_each(|table| table.check(input))
    }
}

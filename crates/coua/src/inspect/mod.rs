//! Looking into a filter by its snapshot: its segments, buckets and slots, and where a key lies.
//!
//! For debuggers, for pages that draw a filter, and for teaching. The snapshot lies in a file, of which only what
//! is asked for is read, so that one of gigabytes opens at once; or in memory, where
//! [`write_to`](crate::CuckooFilter::write_to) wrote it.
//!
//! ```
//! use std::io::Cursor;
//! use coua::CuckooFilter;
//! use coua::inspect::{Choice, Contents, TableView};
//!
//! let mut filter = CuckooFilter::with_capacity(50, 0.01)?;
//! filter.insert("kestrel")?;
//! let mut bytes = Vec::new();
//! filter.write_to(&mut bytes)?;
//!
//! let mut file = Cursor::new(bytes);
//! let contents = Contents::read(&mut file)?;
//! let table = TableView::open(&mut file, &contents.tables[0].bytes)?;
//! let place = table.locate(filter.hasher().hash(b"kestrel"));
//! let slots = table.slots(&mut file, place.segment)?;
//! assert_eq!(slots.len(), 1);
//! assert_eq!((slots[0].choice, slots[0].bucket), (Choice::Primary, place.primary));
//! assert_eq!(slots[0].fingerprint, place.fingerprint);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod contents;
mod table;

pub use contents::{Contents, TablePart};
pub use table::{Choice, Overflow, Parameters, Place, SegmentInfo, Slot, TableView};

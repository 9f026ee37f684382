//! Coua filters in files.
//!
//! One file holds everything that was committed: a snapshot of the filter, and a
//! log of later commits (docs/format.md). It can be moved, copied and backed up like any file.
//!
//! The snapshot is mapped, so a few changes to a filter of gigabytes cost a few pages. A commit appends
//! to the log. When the log has grown, a new snapshot replaces the file in one step; a thread writes a large one
//! while the work continues. One process writes at a time and holds a lock on the file; any number
//! of processes read, and see the last commit.
//!
//! ```
//! use coua::CuckooFilter;
//! use coua_store::Options;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("seen.coua");
//! let mut store = Options::new().create(&path, CuckooFilter::new)?;
//! store.insert_unique("a")?;
//! store.commit()?;
//!
//! assert!(Options::new().read(&path)?.filter.contains("a"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod checkpoint;
mod error;
mod fs;
mod growth;
mod log;
mod memory;
mod notes;
mod reader;
mod recover;
mod requirements;
mod store;
mod verify;

#[cfg(test)]
mod faults;

pub use error::{Damage, Reason, StoreError};
pub use fs::{Folder, Lock, Wait, resolved};
pub use memory::{Access, available as available_memory};
pub use notes::Notes;
pub use reader::LogView;
pub use recover::View;
pub use requirements::Requirements;
pub use store::{Options, Store};
pub use verify::Verified;

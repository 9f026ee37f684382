//! A Coua filter that lives in a file.
//!
//! The file is opened by mapping it, so that a few changes to a filter of gigabytes cost a few
//! pages. Changes go to a journal beside it, and a new snapshot replaces the file in one step when
//! the journal has grown; a large one is made by a thread, while the work goes on. One process writes
//! at a time; any number read, and see the last commit.
//!
//! ```text
//! seen.coua                the snapshot (docs/format.md); never changed, only replaced
//! seen.coua.journal        what was committed since (docs/journal.md)
//! seen.coua.lock           held by the writer
//! seen.coua.next           space for the next snapshot, while a writer is at work, and then its bytes
//! seen.coua.journal.next   the next journal, while it is written
//! ```
//!
//! Under these names nothing else may be: what is no filter's is left alone, and the filter is refused.
//!
//! The filter is the snapshot *and* its journal: move or copy them together, or first make one file of
//! them with [`Store::commit_snapshot`].
//!
//! ```
//! use coua::CuckooFilter;
//! use coua_store::{Progress, Store};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("seen.coua");
//! let mut store = Store::create(&path, CuckooFilter::new)?;
//! store.insert_unique("a")?;
//! store.commit(&Progress::default())?;
//!
//! assert!(Store::read(&path)?.filter.contains("a"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod access;
mod ahead;
mod beside;
mod change;
mod commit;
mod damage;
mod disk;
mod error;
mod fields;
mod files;
mod folder;
mod journal;
mod left;
mod lock;
mod log;
mod next;
mod open;
mod options;
mod progress;
mod residency;
mod room;
mod state;
mod store;
mod turn;
mod view;

#[cfg(test)]
mod faults;

pub use access::Access;
pub use damage::Damage;
pub use error::{Reason, StoreError};
pub use files::{journal_of, names_of};
pub use folder::Folder;
pub use lock::{Lock, Wait};
pub use options::Options;
pub use progress::{Moved, Place, Progress, Role};
pub use store::Store;
pub use view::View;

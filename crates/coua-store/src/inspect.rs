//! Looking into the log of a filter's file. The snapshot before it is read by [`coua::inspect_file`].

use std::path::Path;

use coua::KeyHash;

use crate::changes::show;
use crate::damage::Damage;
use crate::error::StoreError;
use crate::log::{Base, Kind, Scan};
use crate::runs::Runs;
use crate::state::Look;

pub use crate::log::Source;

/// What follows the snapshot in a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LogView {
    /// Bytes up to the end of the last commit.
    pub bytes: u64,
    /// Commits.
    pub transactions: u64,
    /// Bytes after the last commit, which an interrupted write left.
    pub uncommitted: u64,
    /// The runs that the filter remembers.
    pub runs: Runs,
}

/// A change of the filter that was committed since the snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Logged {
    /// A copy of the key with this hash was inserted.
    Inserted(KeyHash),
    /// A copy of the key with this hash was removed.
    Removed(KeyHash),
    /// The clock of a filter that forgets was set.
    Time(u64),
    /// The next changes belong to this generation.
    Generation(u64),
}

impl LogView {
    /// Checks the log after a snapshot of `snapshot_bytes` bytes, and shows each change to `each`. `path`
    /// is the name of the file in errors. O(bytes of the log).
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] with the offset of what is wrong.
    ///
    /// ```
    /// use std::{fs::File, path::Path};
    /// use coua::CuckooFilter;
    /// use coua_store::{Options, Store, inspect::LogView};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let mut store = Store::create(&path, CuckooFilter::new)?;
    /// store.commit()?;
    /// let snapshot_bytes = path.metadata()?.len();
    /// store.insert("kestrel")?;
    /// store.commit()?;
    /// let mut changes = Vec::new();
    /// let log = LogView::read(&File::open(&path)?, &path, snapshot_bytes, |change| changes.push(change))?;
    /// assert_eq!((log.transactions, changes.len()), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(
        file: &dyn Source,
        path: &Path,
        snapshot_bytes: u64,
        mut each: impl FnMut(Logged),
    ) -> Result<Self, StoreError> {
        let mut end = [0; Base::END];
        let offset = snapshot_bytes.saturating_sub(Base::END as u64);
        file.read_at(offset, &mut end).map_err(|source| StoreError::io(path, "read", source))?;
        let base = Base::of(&end, snapshot_bytes);
        let look = Look::at_log(file, path, base)?;
        let until = look.contents.committed.at;
        let scan = Scan::new(file, path, base)?;
        scan.frames(base.first(), until, |frame| {
            if frame.kind != Kind::Changes {
                return Ok(());
            }
            let found = frame.begin.sequence;
            let damaged = || scan.damaged(frame.begin.at, Damage::Field { name: "change", found });
            show(frame.payload, &mut each).ok_or_else(damaged)
        })?;
        let (transactions, uncommitted) = (look.contents.transactions, look.contents.uncommitted);
        Ok(Self { bytes: until - snapshot_bytes, transactions, uncommitted, runs: look.runs })
    }
}

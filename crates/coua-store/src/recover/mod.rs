//! Reads the last committed state from a file.

mod view;

use std::fs::{self, File};
use std::io::Cursor;
use std::path::Path;

use coua::inspect::Contents;
use coua::window::Generations;
use coua::{Load, LoadError};

use crate::error::{Reason, StoreError};
use crate::fs::is_at;
use crate::log::{Base, Log, Scan, Source, replay};
use crate::memory::{Access, KEY_BYTES, LOOKUP_BYTES, Residence, read_ahead};
use crate::reader::LogReader;
use view::Origin;

pub use view::View;

/// How to load a snapshot.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loading {
    /// The secret key of the filter's hash, if it has one.
    pub(crate) key: Option<[u8; 16]>,
    pub(crate) access: Access,
    /// Expected number of changes or lookups, if known.
    pub(crate) expected: Option<u64>,
}

/// Checks every byte of the snapshot with which a file begins.
pub(crate) fn checked(mut file: &File) -> Result<Contents, LoadError> {
    let contents = Contents::read(&mut file)?;
    contents.check(&mut file).map(|()| contents)
}

/// Attempts of a reader that starts over because a writer rolled back.
const MOST_TRIES: u32 = 100;

/// The last committed state, to continue from.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) view: View,
    pub(crate) log: Log,
}

impl State {
    /// Reads a file that a writer may be changing.
    pub(crate) fn while_written(loading: Loading, path: &Path) -> Result<Self, StoreError> {
        read_while_written(path, |file| Self::of(loading, LOOKUP_BYTES, file, path))
    }

    /// Reads a file for work that costs `key_bytes` bytes for a key.
    pub(crate) fn of(
        loading: Loading,
        key_bytes: u64,
        file: &File,
        path: &Path,
    ) -> Result<Self, StoreError> {
        let base = base_of(file, path)?;
        let expected = loading.expected.unwrap_or(0);
        let load = |logged: u64| {
            // A logged change takes eight bytes.
            let changes = logged / 8;
            let work = expected.saturating_mul(key_bytes);
            let work = work.saturating_add(changes.saturating_mul(KEY_BYTES));
            let loaded = Residence::load(loading.access, file, base.bytes, loading.key, work)?;
            if loaded.1.mapped().is_some() {
                read_ahead(file, base.bytes, expected.saturating_add(changes));
            }
            Ok(loaded)
        };
        let mut state = Self::replayed(file, path, base, load)?;
        state.view.origin = Some(Origin { path: path.to_owned(), base });
        Ok(state)
    }

    /// Reads the snapshot at the beginning of `source`, and replays later commits. `load` gets the bytes of log that
    /// follow.
    fn replayed(
        source: &dyn Source,
        path: &Path,
        base: Base,
        load: impl FnOnce(u64) -> Result<(Generations, Residence), LoadError>,
    ) -> Result<Self, StoreError> {
        let mut reader = LogReader::of(base);
        let log = reader.read(source, path, |_| Ok(()))?;
        let loaded = load(log.bytes);
        let (mut filter, residence) = loaded.map_err(|source| Reason::Load(source).at(path))?;
        let committed_part = Scan::up_to(reader.committed.at, source, path, base);
        committed_part.frames(base.first(), |frame| replay(&mut filter, path, frame))?;
        let view = View {
            filter,
            notes: log.notes,
            snapshot_bytes: base.bytes,
            log_bytes: log.bytes,
            transactions: log.transactions,
            uncommitted: log.uncommitted,
            residence,
            origin: None,
        };
        Ok(Self { view, log: Log::resume(base, reader.committed, log.uncommitted) })
    }
}

impl View {
    /// Reads the last committed state from the bytes of a filter file. `key` is the filter's secret key, if it has one.
    /// O(bytes).
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::{Options, View};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let mut store = Options::new().create(&path, CuckooFilter::new)?;
    /// store.commit()?;
    /// store.insert("a")?;
    /// store.commit()?;
    /// let view = View::of_bytes(&std::fs::read(&path)?, None)?;
    /// assert!(view.filter.contains("a") && view.transactions == 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`StoreError`], with an empty path, for bytes that are not a filter.
    pub fn of_bytes(bytes: &[u8], key: Option<[u8; 16]>) -> Result<Self, StoreError> {
        let path = Path::new("");
        let front = Contents::read(&mut Cursor::new(bytes));
        let end = front.map_err(|source| Reason::Load(source).at(path))?.end;
        let base = Base::of(&bytes, end).map_err(|source| StoreError::io(path, "read", source))?;
        let load = |_| {
            let filter = Load::new().key(key).part(..end).bytes(bytes)?;
            Ok((filter, Residence::in_memory()))
        };
        State::replayed(&bytes, path, base, load).map(|state| state.view)
    }
}

/// Calls `read` for a file that a writer may be changing, and retries if needed.
pub(crate) fn read_while_written<T>(
    path: &Path,
    read: impl Fn(&File) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut tries = 0;
    loop {
        let file = open(path)?;
        let length = || file.metadata().map(|found| found.len()).ok();
        let before = length();
        let state = read(&file);
        // A writer may have rolled back.
        let is_doubtful = matches!(&state, Err(StoreError { reason: Reason::Damaged { .. }, .. }));
        let has_moved = || length() != before || !is_at(&file, path);
        if tries == MOST_TRIES || !is_doubtful || !has_moved() {
            return state;
        }
        tries += 1;
    }
}

fn open(path: &Path) -> Result<File, StoreError> {
    let failed = |source| StoreError::io(path, "open", source);
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => Err(Reason::NotRegular.at(path)),
        Ok(_) => File::open(path).map_err(failed),
        Err(source) => Err(failed(source)),
    }
}

/// The base of the snapshot at the beginning of a file.
pub(crate) fn base_of(file: &File, path: &Path) -> Result<Base, StoreError> {
    if file.metadata().is_ok_and(|found| found.len() == 0) {
        return Err(Reason::Blank.at(path));
    }
    let base = Generations::snapshot_bytes(file).and_then(|expected| {
        let found = file.metadata()?.len();
        if found < expected {
            return Err(LoadError::Length { expected, found });
        }
        Ok(Base::of(file, expected)?)
    });
    base.map_err(|error| match error {
        LoadError::Io(source) => StoreError::io(path, "read", source),
        source => Reason::Load(source).at(path),
    })
}

//! A filter in a file, open for writing.

mod change;
mod commit;
mod open;
mod options;

use std::collections::BTreeSet;
use std::path::Path;

use coua::window::Generations;

use crate::checkpoint::Checkpointer;
use crate::error::StoreError;
use crate::fs::{Lock, OpenHere};
use crate::growth::{CommitInputs, Growth};
use crate::log::{Base, Changes, Log};
use crate::memory::Residence;
use crate::notes::Notes;
use crate::recover::{State, View};

pub use options::Options;

/// A filter in a file, open for writing by this process only.
///
/// Changes are made in memory, and become durable with the next [`commit`](Self::commit): after a crash at any
/// time the file holds the state of the last commit.
///
/// ```
/// use coua::CuckooFilter;
/// use coua_store::Options;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("seen.coua");
/// let mut store = Options::new().create(&path, CuckooFilter::new)?;
/// store.insert("a")?;
/// store.commit()?;
/// store.insert("b")?;
/// drop(store);
/// let store = Options::new().write(&path)?;
/// assert!(store.filter().contains("a") && !store.filter().contains("b"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Store {
    options: Options,
    filter: Generations,
    residence: Residence,
    notes: Notes,
    /// The names of notes that differ from the file.
    changed_notes: BTreeSet<String>,
    /// Changes that are not in the log yet.
    changes: Changes,
    log: Log,
    mode: CommitMode,
    pub(crate) checkpointer: Checkpointer,
    _open_here: OpenHere,
    /// Dropped last.
    lock: Lock,
}

/// What the next commit must do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommitMode {
    /// Append to the log, which has all changes.
    Log,
    /// Write a snapshot, which some changes need.
    Snapshot,
    /// Fail, because the state of the disk is unknown.
    Poisoned,
}

impl Store {
    /// A store of a filter that is not in a file yet.
    pub(crate) fn begin(
        options: &Options,
        lock: Lock,
        filter: Generations,
        notes: Notes,
    ) -> Result<Self, StoreError> {
        let log = Log::empty(Base { bytes: 0, checksum: 0 });
        let residence = Residence::in_memory();
        Self::new(options, lock, filter, residence, notes, log, CommitMode::Snapshot)
    }

    /// A store with the last committed state.
    pub(crate) fn resume(options: &Options, lock: Lock, state: State) -> Result<Self, StoreError> {
        let State { view: View { filter, residence, notes, .. }, mut log } = state;
        log.roll_back(options.target(&lock))?;
        Self::new(options, lock, filter, residence, notes, log, CommitMode::Log)
    }

    fn new(
        options: &Options,
        lock: Lock,
        filter: Generations,
        residence: Residence,
        notes: Notes,
        log: Log,
        mode: CommitMode,
    ) -> Result<Self, StoreError> {
        let mut store = Self {
            checkpointer: options.checkpointer(&residence),
            options: options.clone(),
            filter,
            residence,
            notes,
            changed_notes: BTreeSet::new(),
            changes: Changes::default(),
            log,
            mode,
            _open_here: OpenHere::new(lock.target()),
            lock,
        };
        store.reserve()?;
        Ok(store)
    }

    /// The numbers that decide how to commit all changes.
    pub(crate) fn commit_inputs(&self) -> CommitInputs {
        CommitInputs {
            limits: self.options.limits,
            snapshot: self.log.base().bytes,
            filter: self.filter.memory_bytes() as u64,
            log: self.log.bytes() + self.changes.bytes().len() as u64,
            notes: self.notes.bytes(),
            is_at_work: self.checkpointer.is_at_work(),
        }
    }

    fn growth(&self) -> Growth {
        self.commit_inputs().growth(self.options.available_memory)
    }

    /// Reserves space for the next snapshot, if one may be written.
    fn reserve(&mut self) -> Result<(), StoreError> {
        let expected = self.options.loading.expected.filter(|_| self.mode == CommitMode::Log);
        let has_room = |changes| self.commit_inputs().has_room_for(changes);
        if expected.is_some_and(has_room) { Ok(()) } else { self.reserve_next() }
    }

    /// Reserves space for the next snapshot, or more space for a filter that has grown.
    fn reserve_next(&mut self) -> Result<(), StoreError> {
        let bytes = self.commit_inputs().largest();
        self.checkpointer.reserve(self.lock.target(), bytes)
    }

    /// The filter with all changes, including uncommitted ones.
    pub fn filter(&self) -> &Generations {
        &self.filter
    }

    /// The notes of the program, with all changes, including uncommitted ones.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Sets a note: any bytes that belong to the filter. It becomes durable with the next [`commit`](Self::commit),
    /// together with the changes before that. A commit writes the changed notes, a snapshot all of them, so
    /// use small separate notes for values that change often. If programs share filters, begin the names of notes
    /// with the name of the program.
    ///
    /// # Errors
    ///
    /// [`Reason::NoteTooLarge`](crate::Reason::NoteTooLarge), [`Reason::TooManyNotes`](crate::Reason::TooManyNotes):
    /// nothing has changed then.
    ///
    /// ```
    /// # use coua::CuckooFilter;
    /// # use coua_store::Options;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.coua");
    /// let mut store = Options::new().create(&path, CuckooFilter::new)?;
    /// store.insert("a")?;
    /// store.set_note("app/done", b"line 1")?;
    /// store.finish()?;
    /// assert_eq!(Options::new().write(&path)?.notes().get("app/done"), Some(&b"line 1"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_note(&mut self, name: &str, note: &[u8]) -> Result<(), StoreError> {
        if self.notes.get(name) != Some(note) {
            self.notes.set(name, note).map_err(|reason| reason.at(self.lock.target()))?;
            self.changed_notes.insert(name.to_owned());
        }
        Ok(())
    }

    /// Removes the note with this name. Returns false if there is none.
    pub fn remove_note(&mut self, name: &str) -> bool {
        let was_there = self.notes.remove(name).is_some();
        if was_there {
            self.changed_notes.insert(name.to_owned());
        }
        was_there
    }

    /// The filter file, with symbolic links resolved.
    pub fn path(&self) -> &Path {
        self.lock.target()
    }
}

//! Checks a filter file in little memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use coua::window::Window;
use coua::{KeyHasher, LoadError};

use crate::error::{Damage, Reason, StoreError};
use crate::log::{Frame, Kind, LoggedChange, decode_changes};
use crate::reader::{LogReader, LogView};
use crate::recover::{base_of, checked, read_while_written};

/// The last committed state of a file whose bytes were all checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verified {
    /// How keys are hashed.
    pub hasher: KeyHasher,
    /// Items, every copy counted.
    pub items: u64,
    /// Bytes of the snapshot.
    pub snapshot_bytes: u64,
    /// The log after the snapshot.
    pub log: LogView,
}

/// Checks a file that a writer may be changing, with one segment or log frame in memory at a time.
pub(crate) fn verify(path: &Path, key: Option<[u8; 16]>) -> Result<Verified, StoreError> {
    read_while_written(path, |file| {
        let base = base_of(file, path)?;
        let (hasher, mut items) = check_snapshot(file, key).map_err(|error| match error {
            LoadError::Io(source) => StoreError::io(path, "read", source),
            source => Reason::Load(source).at(path),
        })?;
        let log = LogReader::of(base).read(file, path, |frame| items.see(frame))?;
        Ok(Verified { hasher, items: items.committed(), snapshot_bytes: base.bytes, log })
    })
}

fn check_snapshot(file: &File, key: Option<[u8; 16]>) -> Result<(KeyHasher, ItemCount), LoadError> {
    let contents = checked(file)?;
    let mut items = ItemCount { window: contents.window, ..ItemCount::default() };
    items.committed.time = contents.time;
    let mut hasher = KeyHasher::default();
    for table in &contents.tables {
        hasher = table.hasher(key)?;
        let (number, len) = (table.generation, table.len);
        if contents.window.is_some() && number.is_none() {
            // The template, which holds no items.
            continue;
        }
        let found = number.unwrap_or_default();
        if items.committed.of.last_key_value().is_some_and(|(last, _)| *last >= found) {
            return Err(LoadError::Field { name: "generation", found });
        }
        items.committed.of.insert(found, len);
    }
    Ok((hasher, items))
}

/// The items of each generation, and the time.
#[derive(Clone, Debug, Default)]
struct Counts {
    of: BTreeMap<u64, u64>,
    time: u64,
}

/// Counts the items of a filter from its log.
#[derive(Debug, Default)]
struct ItemCount {
    window: Option<Window>,
    committed: Counts,
    /// The counts including uncommitted changes.
    pending: Option<Counts>,
    generation: u64,
}

impl ItemCount {
    fn see(&mut self, frame: &Frame) -> Result<(), Damage> {
        if frame.kind == Kind::Commit
            && let Some(pending) = self.pending.take()
        {
            self.committed = pending;
        }
        if frame.kind != Kind::Changes {
            return Ok(());
        }
        let Self { committed, pending, generation, .. } = self;
        let counts = pending.get_or_insert_with(|| committed.clone());
        let damage = Damage::Field { name: "change", found: frame.begin.sequence };
        let decoded = decode_changes(&frame.payload, |change| {
            let items = counts.of.entry(*generation).or_default();
            match change {
                LoggedChange::Inserted => *items = items.saturating_add(1),
                LoggedChange::Removed => *items = items.saturating_sub(1),
                LoggedChange::Time(time) => counts.time = time,
                LoggedChange::Generation(number) => *generation = number,
            }
        });
        decoded.ok_or(damage)
    }

    /// The committed items of the generations in the window.
    fn committed(&self) -> u64 {
        let Counts { of, time } = &self.committed;
        let oldest = self
            .window
            .map_or(0, |window| (time / window.step()).saturating_sub(window.generations().into()));
        of.range(oldest..).fold(0, |sum, (_, items)| sum.saturating_add(*items))
    }
}

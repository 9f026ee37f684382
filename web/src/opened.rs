//! The content of a filter file.

use coua::KeyHash;
use coua::inspect::{Contents, TableView};
use coua_store::inspect::Source;
use serde::Serialize;

use crate::log::{Changes, Logs, Search};
use crate::sparse::{Reading, Sparse};
use crate::view::{Located, SlotShown, TableShown};

/// A segment longer than this is not read.
const MOST_SEGMENT: u64 = 64 << 20;

const NOT_OPEN: &str = "the file is not open";

/// A file that is being looked into.
pub(crate) struct OpenFile {
    pub(crate) file: Sparse,
    pub(crate) opened: Option<Opened>,
    pub(crate) logs: Logs,
}

/// The state after opening.
pub(crate) struct Opened {
    pub(crate) contents: Contents,
    /// The secret key of the hash.
    key: Option<[u8; 16]>,
}

impl OpenFile {
    pub(crate) fn new(file: Sparse) -> Self {
        Self { file, opened: None, logs: Logs::default() }
    }

    pub(crate) fn take_key(&mut self, key: Option<[u8; 16]>) -> Result<(), String> {
        let opened = self.opened.as_mut().ok_or(NOT_OPEN)?;
        opened.table(0)?.hasher(key).map_err(|error| error.to_string())?;
        opened.key = key;
        Ok(())
    }

    /// The additions and removals of the log for a key.
    pub(crate) fn logged(&mut self, table: usize, key: &[u8]) -> Result<Changes, String> {
        let opened = self.opened.as_ref().ok_or(NOT_OPEN)?;
        let search = opened.search(table, key)?;
        self.logs.of(&mut self.file, opened.contents.end, search)
    }

    pub(crate) fn opened(&self) -> Result<&Opened, String> {
        self.opened.as_ref().ok_or_else(|| NOT_OPEN.to_owned())
    }
}

/// The content of a file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileShown {
    bytes: u64,
    snapshot_bytes: u64,
    tables: Vec<PartShown>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartShown {
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u64>,
    table: TableShown,
}

pub(crate) fn open_snapshot(file: &Sparse) -> Result<(Opened, FileShown), String> {
    let length = file.length().map_err(|error| error.to_string())?;
    let mut reading = Reading { file, at: 0 };
    let contents = Contents::read(&mut reading).map_err(|error| error.to_string())?;
    let shown = |table: &TableView| PartShown {
        generation: table.generation(),
        table: TableShown::of(table),
    };
    let tables = contents.tables.iter().map(shown).collect();
    let snapshot_bytes = contents.end;
    let shown = FileShown { bytes: length, snapshot_bytes, tables };
    Ok((Opened { contents, key: None }, shown))
}

/// A file's answer about a key.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    located: Located,
    extra: u64,
    without_slot: u64,
}

impl Opened {
    fn table(&self, number: usize) -> Result<&TableView, String> {
        self.contents.tables.get(number).ok_or_else(|| format!("there is no table {number}"))
    }

    /// The slots in use of these buckets of a segment.
    pub(crate) fn segment(
        &self,
        file: &Sparse,
        (table, segment): (usize, usize),
        buckets: &[u64],
    ) -> Result<Vec<SlotShown>, String> {
        let view = self.table(table)?;
        let found = view.segments().get(segment).ok_or("there is no such segment")?;
        let bytes = found.bytes.end - found.bytes.start;
        if bytes > MOST_SEGMENT {
            return Err(format!(
                "a segment has {bytes} bytes; the page reads at most {MOST_SEGMENT}"
            ));
        }
        let mut reading = Reading { file, at: 0 };
        let slots = view.slots(&mut reading, segment).map_err(|error| error.to_string())?;
        let slots = slots.iter().filter(|slot| buckets.contains(&slot.bucket));
        Ok(slots.map(SlotShown::of).collect())
    }

    pub(crate) fn locate(&self, table: usize, key: &[u8]) -> Result<Answer, String> {
        let (view, hash) = (self.table(table)?, self.hash(table, key)?);
        let representative = view.locate(hash).representative;
        let entry = view.overflow().iter().find(|entry| entry.representative == representative);
        Ok(Answer {
            located: Located::of(view, hash),
            extra: entry.map_or(0, |entry| entry.extra),
            without_slot: entry.map_or(0, |entry| entry.without_slot),
        })
    }

    fn hash(&self, table: usize, key: &[u8]) -> Result<KeyHash, String> {
        let hasher = self.table(table)?.hasher(self.key);
        Ok(hasher.map_err(|error| error.to_string())?.hash(key))
    }

    /// The query for a key in the log.
    fn search(&self, table: usize, key: &[u8]) -> Result<Search<'_>, String> {
        let (view, hash) = (self.table(table)?, self.hash(table, key)?);
        Ok(Search { view, hash, generation: view.generation() })
    }
}

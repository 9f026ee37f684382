//! The log of a file, read from its beginning to its end for each question: it may be larger than memory.

use std::path::Path;

use coua::KeyHash;
use coua::inspect::TableView;
use coua_store::inspect::{LogEvent, LogReader, LogView};
use serde::Serialize;

use crate::sparse::Sparse;

/// Queries that wait for bytes.
#[derive(Default)]
pub(crate) struct Logs {
    all: Option<Pass>,
    search: Option<(KeyHash, Option<u64>, Pass)>,
}

/// A key of a table.
pub(crate) struct Search<'a> {
    pub(crate) view: &'a TableView,
    pub(crate) hash: KeyHash,
    /// The generation that the table is.
    pub(crate) generation: Option<u64>,
}

/// A way through the log.
struct Pass {
    reader: LogReader,
    /// The generation that changes concern.
    generation: Option<u64>,
    /// Records without a commit after them.
    pending: Changes,
    committed: Changes,
}

/// Copies that were inserted and removed.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Changes {
    inserted: u64,
    removed: u64,
}

/// The content of a log.
#[derive(Serialize)]
pub(crate) struct LogShown {
    bytes: u64,
    transactions: u64,
    #[serde(flatten)]
    changes: Changes,
}

impl Logs {
    /// All of the log after `snapshot_bytes`.
    pub(crate) fn all(
        &mut self,
        file: &mut Sparse,
        snapshot_bytes: u64,
    ) -> Result<LogShown, String> {
        let pass = match &mut self.all {
            Some(pass) => pass,
            none => none.insert(Pass::new(file, snapshot_bytes)?),
        };
        let (view, changes) = pass.go_on(file, |_, _| true)?;
        self.all = None;
        let LogView { bytes, transactions, .. } = view;
        Ok(LogShown { bytes, transactions, changes })
    }

    /// The changes of the log to a key.
    pub(crate) fn of(
        &mut self,
        file: &mut Sparse,
        snapshot_bytes: u64,
        Search { view, hash, generation }: Search<'_>,
    ) -> Result<Changes, String> {
        let pass = match &mut self.search {
            Some((asked, of, pass)) if (*asked, *of) == (hash, generation) => pass,
            other => &mut other.insert((hash, generation, Pass::new(file, snapshot_bytes)?)).2,
        };
        let representative = view.locate(hash).representative;
        let (_, changes) = pass.go_on(file, |of, changed| {
            of == generation && view.locate(changed).representative == representative
        })?;
        self.search = None;
        Ok(changes)
    }
}

impl Pass {
    fn new(file: &Sparse, snapshot_bytes: u64) -> Result<Self, String> {
        let reader = LogReader::new(file, Path::new(""), snapshot_bytes);
        Ok(Self {
            reader: reader.map_err(|error| error.reason.to_string())?,
            generation: None,
            pending: Changes::default(),
            committed: Changes::default(),
        })
    }

    /// Reads on as far as bytes are there, and counts the changes that `counts` wants.
    fn go_on(
        &mut self,
        file: &mut Sparse,
        counts: impl Fn(Option<u64>, KeyHash) -> bool,
    ) -> Result<(LogView, Changes), String> {
        file.forget_before(self.reader.position());
        let Self { reader, generation, pending, committed } = self;
        let view = reader.read(file, Path::new(""), |said| match said {
            LogEvent::Generation(number) => *generation = Some(number),
            LogEvent::Inserted(hash) => pending.inserted += u64::from(counts(*generation, hash)),
            LogEvent::Removed(hash) => pending.removed += u64::from(counts(*generation, hash)),
            LogEvent::Committed => {
                committed.inserted += pending.inserted;
                committed.removed += pending.removed;
                *pending = Changes::default();
            }
            _ => {}
        });
        Ok((view.map_err(|error| error.reason.to_string())?, *committed))
    }
}

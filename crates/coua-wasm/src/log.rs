//! The log of a file, read from its beginning to its end for each question: it may be larger than memory.

use std::path::Path;

use coua::KeyHash;
use coua::inspect::TableView;
use coua_store::inspect::{LogEvent, LogReader, LogView};
use coua_store::{Role, Run};
use serde::Serialize;

use crate::sparse::Sparse;

/// The questions that were asked and wait for bytes.
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
    /// What no commit has followed yet.
    pending: Changes,
    committed: Changes,
}

/// Copies that were inserted and removed.
#[derive(Clone, Copy, Default, Serialize)]
pub(crate) struct Changes {
    inserted: u64,
    removed: u64,
}

/// What a log holds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogShown {
    bytes: u64,
    transactions: u64,
    uncommitted: u64,
    #[serde(flatten)]
    changes: Changes,
    runs: Vec<RunShown>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunShown {
    job: String,
    ended: bool,
    records: u64,
    places: Vec<PlaceShown>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlaceShown {
    output: bool,
    path: String,
    offset: u64,
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
        let runs = view.runs.iter().map(|(_, run)| RunShown::of(run)).collect();
        let LogView { bytes, transactions, uncommitted, .. } = view;
        Ok(LogShown { bytes, transactions, uncommitted, changes, runs })
    }

    /// What the log changes about a key.
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

impl RunShown {
    fn of(run: &Run) -> Self {
        let places = run.places.iter().map(|place| PlaceShown {
            output: place.role == Role::Output,
            path: place.path.display().to_string(),
            offset: place.offset,
        });
        Self {
            job: String::from_utf8_lossy(&run.job).into_owned(),
            ended: run.has_ended,
            records: run.records,
            places: places.collect(),
        }
    }
}

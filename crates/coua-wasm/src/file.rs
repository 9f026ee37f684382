//! A look into the file of a filter, which lies elsewhere and may be large.

use std::path::Path;

use coua::inspect_file::{Contents, TableView};
use coua::window::Clock;
use coua::{KeyHash, LoadError};
use coua_store::inspect::{LogView, Logged, Source};
use coua_store::{Role, Run, StoreError};
use serde::Serialize;

use crate::sparse::{Reading, Sparse};
use crate::state::with;
use crate::view::{Located, SlotShown, TableShown};

/// A log longer than this is not read.
const MOST_LOG: u64 = 64 << 20;
/// A segment longer than this is not read.
const MOST_SEGMENT: u64 = 64 << 20;

/// What a question returns where bytes of the file are wanted.
const WANTED: i32 = 0;
/// What it returns where the output is the answer.
const ANSWERED: i32 = 1;

/// A file that is being looked into.
pub(crate) struct OpenFile {
    file: Sparse,
    opened: Option<Opened>,
}

struct Opened {
    contents: Contents,
    tables: Vec<TableView>,
    changes: Vec<Logged>,
}

/// Begins to look into a file of `length` bytes. Returns its number.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn file_new(length: f64) -> i32 {
    with(|state| state.files.add(OpenFile { file: Sparse::new(length as u64), opened: None }))
}

/// Forgets the file.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn file_free(number: i32) {
    with(|state| state.files.remove(number));
}

/// Brings bytes of the file that were wanted, in the input.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn file_give(number: i32, offset: f64) {
    with(|state| {
        let bytes = std::mem::take(&mut state.input);
        state.files.get(number).file.give(offset as u64, bytes);
    });
}

/// Reads what stands beside the segments of the file (JSON): 1 if the output is the answer, 0 if it names bytes that
/// are wanted first.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn file_open(number: i32) -> i32 {
    ask(number, |open, _| {
        let (opened, shown) = open_snapshot(&open.file)?;
        open.opened = Some(opened);
        json(&shown)
    })
}

/// What a segment holds (JSON), with the slots of the buckets in the input (4 bytes each); otherwise as
/// [`file_open`].
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn file_segment(number: i32, table: u32, segment: u32) -> i32 {
    ask(number, |open, input| {
        let buckets =
            input.as_chunks().0.iter().map(|bucket| u64::from(u32::from_le_bytes(*bucket)));
        let (buckets, opened) = (buckets.collect::<Vec<_>>(), open.opened()?);
        json(&opened.segment(&open.file, (table as usize, segment as usize), &buckets)?)
    })
}

/// Where the key in the input is (JSON); otherwise as [`file_open`].
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn file_locate(number: i32, table: u32) -> i32 {
    ask(number, |open, key| json(&open.opened()?.locate(table as usize, key)?))
}

/// Asks a file, with what is in the input.
fn ask(number: i32, question: impl FnOnce(&mut OpenFile, &[u8]) -> Result<Vec<u8>, String>) -> i32 {
    with(|state| {
        let open = state.files.get(number);
        let answer = question(open, &state.input);
        if let Some(wanted) = open.file.take_wanted() {
            return state.answer(&wanted, WANTED);
        }
        open.file.clear();
        match answer {
            Ok(answer) => {
                state.output = answer;
                ANSWERED
            }
            Err(message) => state.fail(message),
        }
    })
}

impl OpenFile {
    fn opened(&self) -> Result<&Opened, String> {
        self.opened.as_ref().ok_or_else(|| "the file is not open".to_owned())
    }
}

fn json(answer: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(answer).map_err(|error| error.to_string())
}

/// What a file holds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileShown {
    bytes: u64,
    snapshot_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<WindowShown>,
    tables: Vec<PartShown>,
    log: LogShown,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WindowShown {
    clock: &'static str,
    length: u64,
    step: u64,
    generations: u32,
    time: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartShown {
    #[serde(skip_serializing_if = "Option::is_none")]
    generation: Option<u64>,
    offset: u64,
    bytes: u64,
    table: TableShown,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct LogShown {
    bytes: u64,
    transactions: u64,
    uncommitted: u64,
    inserted: usize,
    removed: usize,
    runs: Vec<RunShown>,
    /// Why the log could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
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

fn open_snapshot(file: &Sparse) -> Result<(Opened, FileShown), String> {
    let text = |error: LoadError| error.to_string();
    let length = file.length().map_err(|error| error.to_string())?;
    let mut reading = Reading { file, at: 0 };
    let contents = Contents::read(&mut reading).map_err(text)?;
    if contents.end > length {
        return Err(LoadError::Length { expected: contents.end, found: length }.to_string());
    }
    let (mut tables, mut parts) = (Vec::new(), Vec::new());
    for part in &contents.tables {
        let table = TableView::open(&mut reading, &part.bytes).map_err(text)?;
        parts.push(PartShown {
            generation: part.generation,
            offset: part.bytes.start,
            bytes: part.bytes.end - part.bytes.start,
            table: TableShown::of(&table),
        });
        tables.push(table);
    }
    let (log, changes) = log_of(file, contents.end, length);
    let window = contents.window.map(|window| WindowShown {
        clock: match window.clock() {
            Clock::Arrival => "arrival",
            Clock::Given => "given",
            Clock::Count => "count",
        },
        length: window.length(),
        step: window.step(),
        generations: window.generations(),
        time: contents.time,
    });
    let snapshot_bytes = contents.end;
    let shown = FileShown { bytes: length, snapshot_bytes, window, tables: parts, log };
    Ok((Opened { contents, tables, changes }, shown))
}

/// The log, or why it cannot be shown: the snapshot before it can all the same.
fn log_of(file: &Sparse, snapshot_bytes: u64, length: u64) -> (LogShown, Vec<Logged>) {
    let bytes = length - snapshot_bytes;
    let failed = |error| LogShown { bytes, error: Some(error), ..LogShown::default() };
    if bytes > MOST_LOG {
        let error = format!("the log is {bytes} bytes long; the page reads at most {MOST_LOG}");
        return (failed(error), Vec::new());
    }
    let mut changes = Vec::new();
    match LogView::read(file, Path::new(""), snapshot_bytes, |change| changes.push(change)) {
        Ok(log) => {
            let count = |wanted: fn(&Logged) -> bool| changes.iter().filter(|c| wanted(c)).count();
            let shown = LogShown {
                bytes: log.bytes,
                transactions: log.transactions,
                uncommitted: log.uncommitted,
                inserted: count(|change| matches!(change, Logged::Inserted(_))),
                removed: count(|change| matches!(change, Logged::Removed(_))),
                runs: log.runs.iter().map(|(_, run)| RunShown::of(run)).collect(),
                error: None,
            };
            (shown, changes)
        }
        Err(error) => (failed(StoreError::reason(&error).to_string()), Vec::new()),
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

/// A segment.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SegmentContents {
    /// Slots in use, of each bucket.
    occupancy: Vec<u8>,
    /// The slots in use of the buckets that were named.
    slots: Vec<SlotShown>,
}

/// What a file says about a key.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    located: Located,
    extra: u64,
    without_slot: u64,
    /// Copies inserted and removed since the snapshot.
    logged_inserts: usize,
    logged_removals: usize,
}

impl Opened {
    fn table(&self, number: usize) -> Result<&TableView, String> {
        self.tables.get(number).ok_or_else(|| format!("there is no table {number}"))
    }

    fn segment(
        &self,
        file: &Sparse,
        (table, segment): (usize, usize),
        buckets: &[u64],
    ) -> Result<SegmentContents, String> {
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
        let mut occupancy = vec![0u8; view.parameters().buckets as usize];
        for slot in &slots {
            occupancy[slot.bucket as usize] += 1;
        }
        let slots = slots.iter().filter(|slot| buckets.contains(&slot.bucket));
        Ok(SegmentContents { occupancy, slots: slots.map(SlotShown::of).collect() })
    }

    fn locate(&self, table: usize, key: &[u8]) -> Result<Answer, String> {
        let view = self.table(table)?;
        let hasher = view.parameters().hasher.ok_or_else(|| LoadError::KeyNeeded.to_string())?;
        let hash = hasher.hash(key);
        let representative = view.locate(hash).representative;
        let entry = view.overflow().iter().find(|entry| entry.representative == representative);
        let is_it = |hash: KeyHash| view.locate(hash).representative == representative;
        let generation = self.contents.tables[table].generation;
        let (mut present, mut inserts, mut removals) = (None, 0, 0);
        for change in &self.changes {
            match *change {
                Logged::Generation(number) => present = Some(number),
                Logged::Inserted(hash) if present == generation && is_it(hash) => inserts += 1,
                Logged::Removed(hash) if present == generation && is_it(hash) => removals += 1,
                _ => {}
            }
        }
        Ok(Answer {
            located: Located::of(view, hash),
            extra: entry.map_or(0, |entry| entry.extra),
            without_slot: entry.map_or(0, |entry| entry.without_slot),
            logged_inserts: inserts,
            logged_removals: removals,
        })
    }
}

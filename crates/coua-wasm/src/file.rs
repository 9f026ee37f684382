//! A look into the file of a filter, which lies elsewhere and may be large.

use coua::inspect::{Contents, TableView};
use coua::window::Clock;
use coua::{KeyHash, LoadError};
use coua_store::inspect::Source;
use serde::Serialize;

use crate::log::{Logs, Search};
use crate::sparse::{Reading, Sparse};
use crate::state::with;
use crate::view::{Located, SlotShown, TableShown};

/// A segment longer than this is not read.
const MOST_SEGMENT: u64 = 64 << 20;

const NOT_OPEN: &str = "the file is not open";

/// What a question returns where bytes of the file are wanted.
const WANTED: i32 = 0;
/// What it returns where the output is the answer.
const ANSWERED: i32 = 1;

/// A file that is being looked into.
pub(crate) struct OpenFile {
    file: Sparse,
    opened: Option<Opened>,
    logs: Logs,
}

struct Opened {
    contents: Contents,
    tables: Vec<TableView>,
    /// Of the hash.
    key: Option<[u8; 16]>,
}

/// Begins to look into a file of `length` bytes. Returns its number.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn file_new(length: f64) -> i32 {
    let file = Sparse::new(length as u64);
    with(|state| state.files.add(OpenFile { file, opened: None, logs: Logs::default() }))
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

/// Takes the secret key of the file's hash, in the input.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn file_key(number: i32) -> i32 {
    with(|state| {
        let key = state.input.first_chunk().copied();
        let taken = state.files.get(number).take_key(key);
        state.settle(taken.map(|()| 0))
    })
}

/// What the log after the snapshot holds (JSON); otherwise as [`file_open`]. O(bytes of the log).
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn file_log(number: i32) -> i32 {
    ask(number, |open, _| {
        let end = open.opened()?.contents.end;
        json(&open.logs.all(&mut open.file, end)?)
    })
}

/// How many copies of the key in the input the log adds to a table, and removes (JSON); otherwise as [`file_log`].
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "the name of an exported function")]
pub(crate) extern "C" fn file_logged(number: i32, table: u32) -> i32 {
    ask(number, |open, key| {
        let opened = open.opened.as_ref().ok_or(NOT_OPEN)?;
        let search = opened.search(table as usize, key)?;
        json(&open.logs.of(&mut open.file, opened.contents.end, search)?)
    })
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
    fn take_key(&mut self, key: Option<[u8; 16]>) -> Result<(), String> {
        let opened = self.opened.as_mut().ok_or(NOT_OPEN)?;
        opened.table(0)?.hasher(key).map_err(|error| error.to_string())?;
        opened.key = key;
        Ok(())
    }

    fn opened(&self) -> Result<&Opened, String> {
        self.opened.as_ref().ok_or_else(|| NOT_OPEN.to_owned())
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
    let shown = FileShown { bytes: length, snapshot_bytes, window, tables: parts };
    Ok((Opened { contents, tables, key: None }, shown))
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

    /// What is to be found in the log about a key.
    fn search(&self, table: usize, key: &[u8]) -> Result<Search<'_>, String> {
        let (view, hash) = (self.table(table)?, self.hash(table, key)?);
        let generation = self.contents.tables[table].generation;
        Ok(Search { view, hash, generation })
    }
}

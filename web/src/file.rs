//! Inspection of a filter file, which is elsewhere and may be large.

#![expect(unsafe_code, reason = "the names of exported functions")]

use serde::Serialize;

use crate::opened::{OpenFile, open_snapshot};
use crate::sparse::Sparse;
use crate::state::with;

/// The result of a query that needs more bytes of the file.
const WANTED: i32 = 0;
/// The result of a query with its answer in the output.
const ANSWERED: i32 = 1;

/// Begins to look into a file of `length` bytes. Returns its number.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn file_new(length: f64) -> i32 {
    let file = Sparse::new(length as u64);
    with(|state| state.files.add(OpenFile::new(file)))
}

/// Forgets the file.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn file_free(number: i32) {
    with(|state| state.files.remove(number));
}

/// Brings bytes of the file that were wanted, in the input.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn file_give(number: i32, offset: f64) {
    with(|state| {
        let bytes = std::mem::take(&mut state.input);
        state.files.get(number).file.give(offset as u64, bytes);
    });
}

/// Reads what stands beside the segments of the file (JSON): 1 if the output is the answer, 0 if it names bytes that
/// are wanted first.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn file_open(number: i32) -> i32 {
    ask(number, |open, _| {
        let (opened, shown) = open_snapshot(&open.file)?;
        open.opened = Some(opened);
        json(&shown)
    })
}

/// The content of a segment (JSON), with the slots of the buckets in the input (4 bytes each); otherwise as
/// [`file_open`].
#[unsafe(no_mangle)]
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
pub(crate) extern "C" fn file_locate(number: i32, table: u32) -> i32 {
    ask(number, |open, key| json(&open.opened()?.locate(table as usize, key)?))
}

/// Takes the secret key of the file's hash, in the input.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn file_key(number: i32) -> i32 {
    with(|state| {
        let key = state.input.first_chunk().copied();
        let taken = state.files.get(number).take_key(key);
        state.settle(taken.map(|()| 0))
    })
}

/// The content of the log after the snapshot (JSON); otherwise as [`file_open`]. O(bytes of the log).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn file_log(number: i32) -> i32 {
    ask(number, |open, _| {
        let end = open.opened()?.contents.end;
        json(&open.logs.all(&mut open.file, end)?)
    })
}

/// How many copies of the key in the input the log adds to a table, and removes (JSON); otherwise as [`file_log`].
#[unsafe(no_mangle)]
pub(crate) extern "C" fn file_logged(number: i32, table: u32) -> i32 {
    ask(number, |open, key| json(&open.logged(table as usize, key)?))
}

/// Queries a file with the input.
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

fn json(answer: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec(answer).map_err(|error| error.to_string())
}

//! What a snapshot contains, for the page.

#![expect(unsafe_code, reason = "the names of exported functions")]

use std::io::Cursor;

use coua::LoadError;
use coua::inspect::Contents;
use serde::Serialize;

use crate::state::with;
use crate::view::{Located, TableShown};

/// The snapshot that is looked into.
pub(crate) struct Snapshot {
    contents: Contents,
    bytes: Cursor<Vec<u8>>,
}

/// Takes the snapshot in the input for the calls below.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn snapshot_take() -> i32 {
    with(|state| {
        let mut bytes = Cursor::new(std::mem::take(&mut state.input));
        let contents = Contents::read(&mut bytes);
        let taken = contents.map(|contents| state.snapshot = Some(Snapshot { contents, bytes }));
        state.settle(taken.map(|()| 0))
    })
}

/// The tables (JSON): one, or the template and the generations of a window.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn snapshot_tables() -> i32 {
    answer(|Snapshot { contents, bytes }, _| {
        let tables = contents.tables.iter().map(|table| TableShown::of(table, bytes));
        tables.collect::<Result<Vec<_>, _>>()
    })
}

/// The place of the key in the input in a table, and what is there (JSON).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn snapshot_locate(table: usize) -> i32 {
    answer(|Snapshot { contents, bytes }, key| Located::of(&contents.tables[table], bytes, key))
}

/// Answers a question about the snapshot and the input.
fn answer<A: Serialize>(
    question: impl FnOnce(&mut Snapshot, &[u8]) -> Result<A, LoadError>,
) -> i32 {
    with(|state| {
        let snapshot = state.snapshot.as_mut().expect("the page gives the snapshot first");
        match question(snapshot, &state.input) {
            Ok(answer) => state.answer(&answer, 0),
            Err(error) => state.fail(error),
        }
    })
}

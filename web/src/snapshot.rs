//! What a snapshot contains, for the page.

#![expect(unsafe_code, reason = "the names of exported functions")]

use crate::state::with;
use crate::view::{Located, Snapshot};

/// Takes the snapshot in the input, and describes its tables (JSON): one, or the template and the generations of a
/// window.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn snapshot_tables() -> i32 {
    with(|state| {
        let (snapshot, tables) = match Snapshot::of(std::mem::take(&mut state.input)) {
            Ok(read) => read,
            Err(error) => return state.fail(error),
        };
        state.snapshot = Some(snapshot);
        state.answer(&tables)
    })
}

/// The place of the key in the input in a table of this snapshot, and what is there (JSON).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn snapshot_locate(table: usize) -> i32 {
    with(|state| {
        let taken = state.snapshot.as_mut().expect("the page gives the snapshot first");
        match Located::of(&taken.contents.tables[table], &mut taken.bytes, &state.input) {
            Ok(located) => state.answer(&located),
            Err(error) => state.fail(error),
        }
    })
}

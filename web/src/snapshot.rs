//! What a snapshot contains, for the page.

#![expect(unsafe_code, reason = "the names of exported functions")]

use std::io::Cursor;

use coua::inspect::Contents;

use crate::state::with;
use crate::view::{self, Snapshot};

/// Takes the snapshot in the input, and describes its tables (JSON): one, or the template and the generations of a
/// window.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn snapshot_tables() -> i32 {
    with(|state| {
        let mut bytes = Cursor::new(std::mem::take(&mut state.input));
        let tables = Contents::read(&mut bytes).and_then(|contents| {
            let tables = contents.tables.iter().map(|table| view::table(table, &mut bytes));
            let tables = tables.collect::<Result<Vec<_>, _>>()?;
            state.snapshot = Some(Snapshot { contents, bytes });
            Ok(view::array(tables))
        });
        state.answer(tables)
    })
}

/// The place of the key in the input in a table of this snapshot, and what is there (JSON).
#[unsafe(no_mangle)]
pub(crate) extern "C" fn snapshot_locate(table: usize) -> i32 {
    with(|state| {
        let Snapshot { contents, bytes } =
            state.snapshot.as_mut().expect("the page gives the snapshot first");
        let located = view::located(&contents.tables[table], bytes, &state.input);
        state.answer(located)
    })
}

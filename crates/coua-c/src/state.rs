//! A filter in memory or in a file, with queries and changes.

use coua::window::{Clock, Generations, Window};
use coua::{KeyHasher, SharedCuckooFilter};
use coua_store::{Store, View};

use crate::failure::{Failure, Outcome};

/// How two filters are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Union {
    /// The copies of both.
    OfCopies,
    /// Only keys of the other filter that are absent here.
    OfKeys,
}

/// The note of a file about how the program makes keys: JSON.
const KEY_NOTE: &str = "coua/keys";

/// A copy of that note, if the file has it.
pub(crate) fn key_note(view: &View) -> Option<Vec<u8>> {
    view.notes.get(KEY_NOTE).map(<[u8]>::to_vec)
}

/// Where the filter is.
#[expect(clippy::large_enum_variant, reason = "there is one for a filter, behind its handle")]
pub(crate) enum State {
    Memory(Generations),
    /// In a file that this process writes.
    Written(Box<Store>),
    /// In a file opened for reading.
    Read(Box<View>),
    /// Its file was closed.
    Closed,
}

/// A filter for queries.
pub(crate) enum Asked<'a> {
    Items(&'a Generations),
    Shared(&'a SharedCuckooFilter),
}

/// A filter that is changed.
pub(crate) enum Changed<'a> {
    Memory(&'a mut Generations),
    Written(&'a mut Store),
    Shared(&'a SharedCuckooFilter),
}

impl State {
    /// How the program makes the keys of its file, if the file says so.
    pub(crate) fn key_note(&self) -> Option<Vec<u8>> {
        match self {
            Self::Written(store) => store.notes().get(KEY_NOTE).map(<[u8]>::to_vec),
            Self::Read(view) => key_note(view),
            Self::Memory(_) | Self::Closed => None,
        }
    }

    fn items(&self) -> Option<&Generations> {
        match self {
            Self::Memory(filter) => Some(filter),
            Self::Written(store) => Some(store.filter()),
            Self::Read(view) => Some(&view.filter),
            Self::Closed => None,
        }
    }

    pub(crate) fn hasher(&self) -> KeyHasher {
        self.items().map_or_else(KeyHasher::default, Generations::hasher)
    }

    /// Whether its window has the system's clock, which queries advance.
    pub(crate) fn is_timed(&self) -> bool {
        let is_timed = |window: Window| window.clock() == Clock::Arrival;
        self.items().and_then(Generations::window).is_some_and(is_timed)
    }

    pub(crate) fn asked(&self) -> Outcome<Asked<'_>> {
        self.items().map(Asked::Items).ok_or_else(closed)
    }

    pub(crate) fn changed(&mut self) -> Outcome<Changed<'_>> {
        match self {
            Self::Memory(filter) => Ok(Changed::Memory(filter)),
            Self::Written(store) => Ok(Changed::Written(store)),
            Self::Read(_) => Err(Failure::unsupported(
                "the file was opened by coua_store_read(); open it for changes with coua_store_open()",
            )),
            Self::Closed => Err(closed()),
        }
    }

    /// Advances a window by the system's clock; other filters have no such clock.
    pub(crate) fn tell_time(&mut self) {
        if !self.is_timed() {
            return;
        }
        let time = now();
        match self {
            Self::Memory(filter) => filter.advance(time),
            Self::Written(store) => store.advance(time),
            Self::Read(view) => view.filter.advance(time),
            Self::Closed => {}
        }
    }
}

fn closed() -> Failure {
    Failure::invalid("the file of this filter was closed; open it again")
}

/// The failure of a filter without a file.
pub(crate) fn no_file() -> Failure {
    Failure::unsupported("the filter has no file; coua_store_open() creates one with a file")
}

/// Milliseconds since 1970.
#[cfg(not(target_family = "wasm"))]
fn now() -> u64 {
    use std::time::{SystemTime, UNIX_EPOCH};
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Milliseconds since 1970. WebAssembly has no clock: its host has one.
#[cfg(target_family = "wasm")]
fn now() -> u64 {
    #[link(wasm_import_module = "coua")]
    unsafe extern "C" {
        safe fn coua_now() -> u64;
    }
    coua_now()
}

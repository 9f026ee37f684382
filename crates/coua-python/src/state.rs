//! The content of a Python object: a filter in memory, or in a file.

use std::mem;
use std::time::{SystemTime, UNIX_EPOCH};

use coua::Filter;
use coua::window::{Generations, Window};
use coua_store::{Store, View};
use pyo3::PyResult;

use crate::error::Closed;

/// The place of a filter.
#[derive(Debug)]
pub(crate) enum State {
    /// In memory alone.
    Memory(Generations),
    /// In a file that this process writes.
    Written(Box<Store>),
    /// In a file opened for reading.
    Read(View),
    /// It was closed.
    Closed,
}

impl State {
    /// Whether the filter can be queried, or changed.
    #[inline]
    pub(crate) fn check(&self, access: Access) -> PyResult<()> {
        match (self, access) {
            (Self::Closed, _) => Err(Closed::new_err("the file is closed; open it again")),
            (Self::Read(_), Access::Change) => {
                Err(Closed::new_err("the file was opened with readonly=True; open it without"))
            }
            _ => Ok(()),
        }
    }

    /// The filter. [`check`](Self::check) must have found that there is one.
    pub(crate) fn filter(&self) -> &Generations {
        match self {
            Self::Memory(filter) => filter,
            Self::Written(store) => store.filter(),
            Self::Read(view) => &view.filter,
            Self::Closed => unreachable!("a closed filter is refused before it is asked"),
        }
    }

    /// The filter in memory.
    pub(crate) fn memory(&mut self) -> &mut Generations {
        match self {
            Self::Memory(filter) => filter,
            _ => unreachable!("only filters in memory are asked for themselves"),
        }
    }

    /// Changes the filter as a whole.
    pub(crate) fn change<R>(&mut self, change: impl FnOnce(&mut Generations) -> R) -> R {
        match self {
            Self::Written(store) => store.rewrite(change),
            state => change(state.memory()),
        }
    }

    pub(crate) fn advance(&mut self, time: u64) {
        match self {
            Self::Memory(filter) => filter.advance(time),
            Self::Written(store) => store.advance(time),
            Self::Read(view) => view.filter.advance(time),
            Self::Closed => {}
        }
    }

    /// Whether a window's time has come to drop or begin a generation.
    pub(crate) fn is_due(&self, time: u64) -> bool {
        let filter = self.filter();
        let generation = |time, window: Window| time / window.step();
        filter
            .window()
            .is_some_and(|window| generation(time, window) > generation(filter.clock(), window))
    }

    /// The filter, for changes of single items.
    #[inline]
    pub(crate) fn verbs(&mut self) -> &mut dyn Filter {
        match self {
            Self::Written(store) => &mut **store,
            state => state.memory(),
        }
    }

    /// Lets go of the filter without doing anything about its file.
    pub(crate) fn abandon(&mut self) {
        mem::forget(mem::replace(self, Self::Closed));
    }
}

/// How an operation accesses a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Ask,
    Change,
}

/// Milliseconds since 1970.
pub(crate) fn milliseconds_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

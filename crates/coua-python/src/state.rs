//! A filter in memory, or in a file: what a Python object holds.

use std::mem;
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use coua::window::{Generations, When};
use coua::{BatchFull, Full, Insertion, KeyHash};
use coua_store::{Store, View};

/// Where a filter is.
#[derive(Debug)]
pub(crate) enum State {
    /// In memory alone.
    Memory(Generations),
    /// In a file that this process writes.
    Written(Box<Store>),
    /// In a file that is only asked.
    Read(View),
    /// It was closed.
    Closed,
}

/// Why nothing can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Closed,
    ReadOnly,
}

/// Keys of a batch, and the times of all of them if they have some.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys<'a> {
    pub(crate) hashes: &'a [KeyHash],
    pub(crate) when: When<'a>,
}

impl<'a> Keys<'a> {
    pub(crate) fn now(hashes: &'a [KeyHash]) -> Self {
        Self { hashes, when: When::Now }
    }

    pub(crate) fn part(self, keys: Range<usize>) -> Self {
        Self { hashes: &self.hashes[keys.clone()], when: self.when.part(keys) }
    }
}

impl State {
    /// Whether something can be asked, or changed.
    #[inline]
    pub(crate) fn check(&self, changes: Access) -> Result<(), Refusal> {
        match (self, changes) {
            (Self::Closed, _) => Err(Refusal::Closed),
            (Self::Read(_), Access::Change) => Err(Refusal::ReadOnly),
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

    /// Tells a window that goes by the system's clock what time it is.
    pub(crate) fn tell_time(&mut self) {
        self.advance(milliseconds_now());
    }

    pub(crate) fn advance(&mut self, time: u64) {
        match self {
            Self::Memory(filter) => filter.advance(time),
            Self::Written(store) => store.advance(time),
            Self::Read(view) => view.filter.advance(time),
            Self::Closed => {}
        }
    }

    #[inline]
    pub(crate) fn contains(&mut self, hash: KeyHash) -> bool {
        match self {
            Self::Read(view) => view.asked(&[hash]).contains(hash),
            state => state.filter().contains(hash),
        }
    }

    pub(crate) fn contains_batch(&mut self, hashes: &[KeyHash]) -> Vec<bool> {
        match self {
            Self::Read(view) => view.asked(hashes).contains_batch(hashes),
            state => state.filter().contains_batch(hashes),
        }
    }

    pub(crate) fn count_batch(&mut self, hashes: &[KeyHash]) -> Vec<u64> {
        match self {
            Self::Read(view) => view.asked(hashes).count_batch(hashes),
            state => state.filter().count_batch(hashes),
        }
    }

    #[inline]
    pub(crate) fn insert_unique(&mut self, hash: KeyHash) -> Result<Insertion, Full> {
        match self {
            Self::Written(store) => store.insert_unique(hash),
            state => state.memory().insert_unique(hash),
        }
    }

    /// Answers for the keys up to the one that was refused.
    pub(crate) fn insert_unique_batch(
        &mut self,
        keys: Keys<'_>,
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        let result = match self {
            Self::Written(store) => store.insert_unique_batch_at(keys.hashes, keys.when, outcomes),
            state => state.memory().insert_unique_batch_at(keys.hashes, keys.when, outcomes),
        };
        outcomes.truncate(result.map_or_else(|stopped| stopped.done, |()| keys.hashes.len()));
        result
    }

    pub(crate) fn insert_batch(&mut self, keys: Keys<'_>) -> Result<(), BatchFull> {
        match self {
            Self::Written(store) => store.insert_batch_at(keys.hashes, keys.when),
            state => state.memory().insert_batch_at(keys.hashes, keys.when),
        }
    }

    pub(crate) fn remove(&mut self, hash: KeyHash) -> bool {
        match self {
            Self::Written(store) => store.remove(hash),
            state => state.memory().remove(hash),
        }
    }

    pub(crate) fn remove_batch(&mut self, hashes: &[KeyHash]) -> Vec<bool> {
        match self {
            Self::Written(store) => store.remove_batch(hashes),
            state => state.memory().remove_batch(hashes),
        }
    }

    /// Lets go of the filter without doing anything about its file.
    pub(crate) fn abandon(&mut self) {
        mem::forget(mem::replace(self, Self::Closed));
    }
}

/// What is done to a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Ask,
    Change,
}

/// Milliseconds since 1970.
fn milliseconds_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

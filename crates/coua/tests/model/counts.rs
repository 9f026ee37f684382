//! What has happened in a run: one in which nothing was refused, merged or converted proves nothing
//! about that.

use std::collections::BTreeMap;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A key was given to `insert`, `insert_unique` or `remove`, singly or in a batch.
    Change,
    /// A key was given to `contains` or `count`.
    Lookup,
    /// Something was done to the whole filter.
    Whole,
    /// An insert or a batch of them was refused.
    Refusal,
    /// After a refusal the bytes were compared with those before.
    Untouched,
    /// The filter had more slots than ever before.
    Growth,
    /// It had more segments than ever before.
    Split,
    /// An item was removed.
    Removal,
    /// An item was inserted that the filter seemed to have.
    Copy,
    /// A key was counted more than once.
    CountedCopies,
    Merge,
    RefusedMerge,
    /// A compaction gave slots back.
    Compaction,
    Conversion,
    /// The filter was saved and loaded.
    Reload,
}

/// How often each happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(BTreeMap<Event, u64>);

impl Counts {
    pub(crate) fn add(&mut self, event: Event, times: u64) {
        *self.0.entry(event).or_default() += times;
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        for (&event, &times) in &other.0 {
            self.add(event, times);
        }
    }

    pub(crate) fn of(&self, event: Event) -> u64 {
        self.0.get(&event).copied().unwrap_or(0)
    }

    pub(crate) fn operations(&self) -> u64 {
        self.of(Event::Change) + self.of(Event::Lookup) + self.of(Event::Whole)
    }

    /// Each of these must have happened at least that often.
    pub(crate) fn check(&self, least: &[(Event, u64)]) {
        for &(event, least) in least {
            let count = self.of(event);
            assert!(count >= least, "{event:?}: {count} times, {least} at least expected");
        }
    }
}

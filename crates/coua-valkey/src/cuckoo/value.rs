//! What is done to a cuckoo filter, of whichever module.

use std::ffi::CStr;

use super::compaction::{Compaction, Position};
use super::imported;
use super::inserts::Copies;
use super::own::OwnCuckoo;
use crate::redisbloom::{Limits, PeerCuckoo};
use crate::refusal::Refusal;
use crate::server::TypeSlot;
use crate::value::outcome::{Outcome, Outcomes};
use crate::value::{Kind, Value};

/// Cuckoo filters.
pub(crate) struct Cuckoo;

impl Kind for Cuckoo {
    type Own = OwnCuckoo;
    type Imported = PeerCuckoo;
    const NAME: &'static CStr = c"MBbloomCF";
    const LOAD_COMMAND: &'static CStr = c"CF.LOADCHUNK";
    const LOADED: &'static CStr = c"cuckoo.loadchunk";

    fn slot() -> &'static TypeSlot {
        static SLOT: TypeSlot = TypeSlot::new();
        &SLOT
    }
}

/// The value of a key that holds a cuckoo filter.
pub(crate) type CuckooValue = Value<Cuckoo>;

impl CuckooValue {
    /// Whether the item is there.
    pub(crate) fn contains(&self, item: &[u8]) -> Result<bool, Refusal> {
        self.of_either(|own| own.contains(item), |imported| imported.contains(item))
    }

    /// Which items are there.
    pub(crate) fn contains_all(&self, items: &[&[u8]]) -> Result<Vec<bool>, Refusal> {
        self.of_either(
            |own| own.contains_all(items),
            |imported| items.iter().map(|item| imported.contains(item)).collect(),
        )
    }

    /// How often each item is there.
    pub(crate) fn count_all(&self, items: &[&[u8]]) -> Result<Vec<u64>, Refusal> {
        self.of_either(
            |own| own.count_all(items),
            |imported| items.iter().map(|item| imported.count(item)).collect(),
        )
    }

    /// Inserts an item, and tells what became of it.
    pub(crate) fn insert_one(
        &mut self,
        item: &[u8],
        copies: Copies,
        limit: Option<u64>,
        limits: impl FnOnce() -> Limits,
    ) -> Result<Outcome, Refusal> {
        self.change_either(
            |own| own.insert_one(item, copies, limit),
            |imported| imported::insert_one(imported, item, copies, &limits()),
        )
    }

    /// Inserts items in order, and tells what became of each.
    pub(crate) fn insert(
        &mut self,
        items: &[&[u8]],
        copies: Copies,
        limit: Option<u64>,
        limits: impl FnOnce() -> Limits,
    ) -> Result<Outcomes, Refusal> {
        self.change_either(
            |own| own.insert(items, copies, limit),
            |imported| {
                let limits = limits();
                let one = |item: &&[u8]| imported::insert_one(imported, item, copies, &limits);
                items.iter().map(one).collect()
            },
        )
    }

    /// Takes a copy of an item away, and tells whether there was one.
    pub(crate) fn remove_one(&mut self, item: &[u8]) -> Result<bool, Refusal> {
        self.change_either(|own| own.remove_one(item), |imported| imported.remove(item))
    }

    /// Takes a copy of each item away, and tells of which there was one.
    pub(crate) fn remove(&mut self, items: &[&[u8]]) -> Result<Vec<bool>, Refusal> {
        self.change_either(
            |own| own.remove(items),
            |imported| items.iter().map(|item| imported.remove(item)).collect(),
        )
    }

    /// Gives memory back, as much as a command may take the time for, from a position on.
    pub(crate) fn compact(&mut self, at: Option<Position>) -> Result<Compaction, Refusal> {
        self.change_either(
            |own| own.compact(at.unwrap_or_default()),
            |imported| imported::compact(imported, at),
        )
    }
}

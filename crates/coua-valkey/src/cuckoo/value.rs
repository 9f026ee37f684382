//! What is done to a cuckoo filter, of whichever module.

use std::ffi::CStr;

use super::compaction::{Compaction, Position};
use super::imported;
use super::inserts::Copies;
use super::own::OwnCuckoo;
use crate::refusal::Refusal;
use crate::server::TypeSlot;
use crate::value::outcome::Outcomes;
use crate::value::{Kind, Value};
use coua_redisbloom::{Limits, PeerCuckoo};

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
        match self {
            Self::Own(own) => Ok(own.contains(item)),
            Self::Imported(imported) => Ok(imported.contains(item)),
            Self::Incomplete(_) => Err(Refusal::Incomplete),
        }
    }

    /// Which items are there.
    pub(crate) fn contains_all(&self, items: &[&[u8]]) -> Result<Vec<bool>, Refusal> {
        match self {
            Self::Own(own) => Ok(own.contains_all(items)),
            Self::Imported(imported) => {
                Ok(items.iter().map(|item| imported.contains(item)).collect())
            }
            Self::Incomplete(_) => Err(Refusal::Incomplete),
        }
    }

    /// How often each item is there.
    pub(crate) fn count_all(&self, items: &[&[u8]]) -> Result<Vec<u64>, Refusal> {
        match self {
            Self::Own(own) => Ok(own.count_all(items)),
            Self::Imported(imported) => Ok(items.iter().map(|item| imported.count(item)).collect()),
            Self::Incomplete(_) => Err(Refusal::Incomplete),
        }
    }

    /// Inserts items in order, and tells what became of each.
    pub(crate) fn insert(
        &mut self,
        items: &[&[u8]],
        copies: Copies,
        limit: Option<u64>,
        limits: impl FnOnce() -> Limits,
    ) -> Result<Outcomes, Refusal> {
        match self {
            Self::Own(own) => Ok(own.insert(items, copies, limit)),
            Self::Imported(imported) => Ok(imported::insert(imported, items, copies, &limits())),
            Self::Incomplete(_) => Err(Refusal::Incomplete),
        }
    }

    /// Takes a copy of each item away, and tells of which there was one.
    pub(crate) fn remove(&mut self, items: &[&[u8]]) -> Result<Vec<bool>, Refusal> {
        match self {
            Self::Own(own) => Ok(own.remove(items)),
            Self::Imported(imported) => {
                Ok(items.iter().map(|item| imported.remove(item)).collect())
            }
            Self::Incomplete(_) => Err(Refusal::Incomplete),
        }
    }

    /// Gives memory back, as much as a command may take the time for, from a position on.
    pub(crate) fn compact(&mut self, at: Option<Position>) -> Result<Compaction, Refusal> {
        match self {
            Self::Own(own) => Ok(own.compact(at.unwrap_or_default())),
            Self::Imported(imported) => Ok(imported::compact(imported, at)),
            Self::Incomplete(_) => Err(Refusal::Incomplete),
        }
    }
}

//! The filter of a run: in a file, or in memory alone.

use crate::clock::Now;
use crate::target::file::{self, Kept};
use coua::window::{Generations, When};
use coua::{BatchFull, Insertion, KeyHash};

/// A filter that is kept in a file, or forgotten at the end.
#[derive(Debug)]
pub(crate) enum Memory {
    Kept(Box<Kept>),
    Temporary(Box<Generations>),
}

impl Memory {
    /// The filter that is kept in a file, if it is.
    pub(crate) fn kept(&mut self) -> Option<&mut Kept> {
        match self {
            Self::Kept(kept) => Some(kept),
            Self::Temporary(_) => None,
        }
    }

    /// What messages call it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Kept(kept) => kept.name(),
            Self::Temporary(_) => "filter".to_owned(),
        }
    }

    pub(crate) fn filter(&self) -> &Generations {
        match self {
            Self::Kept(kept) => kept.filter(),
            Self::Temporary(filter) => filter,
        }
    }

    /// Tells the filter what time it is: what its window has left goes.
    pub(crate) fn tell(&mut self, now: Now) {
        match self {
            Self::Kept(kept) => kept.tell(now),
            Self::Temporary(filter) => file::tell(now, filter),
        }
    }

    /// Answers for the hashes up to the one for which there was no room.
    pub(crate) fn insert_unique_batch(
        &mut self,
        hashes: &[KeyHash],
        when: When<'_>,
        outcomes: &mut Vec<Insertion>,
    ) -> Result<(), BatchFull> {
        let result = match self {
            Self::Kept(kept) => kept.store.insert_unique_batch_at(hashes, when, outcomes),
            Self::Temporary(filter) => {
                filter.logged(&mut ()).insert_unique_batch_into(hashes, when, outcomes)
            }
        };
        outcomes.truncate(result.map_or_else(|stopped| stopped.done, |()| hashes.len()));
        result
    }
}

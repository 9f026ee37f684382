//! What a filter says about the keys of a block, and which records are to be written.

use coua::{BatchFull, Insertion, KeyHash};
use serde::{Deserialize, Serialize};
use std::ops::{AddAssign, Sub};

/// What the filter says about one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    New,
    /// It was there.
    Repeat,
    /// The server has not answered.
    Unknown,
}

impl From<bool> for Seen {
    fn from(is_there: bool) -> Self {
        if is_there { Self::Repeat } else { Self::New }
    }
}

impl From<Insertion> for Seen {
    fn from(insertion: Insertion) -> Self {
        Self::from(insertion == Insertion::AlreadyPresent)
    }
}

/// An expected number of records. It is summed in steps of 2^-80 records, so that the sum does not depend on how the records
/// were divided into blocks; there is room for 10^14.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "f64", into = "f64")]
pub(crate) struct Expectation(i128);

const STEPS: f64 = (1_u128 << 80) as f64;

impl From<f64> for Expectation {
    fn from(records: f64) -> Self {
        Self((records * STEPS) as i128)
    }
}

impl From<Expectation> for f64 {
    fn from(expected: Expectation) -> Self {
        expected.0 as Self / STEPS
    }
}

impl AddAssign for Expectation {
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

impl Sub for Expectation {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// The answers to a block. They are recycled with it.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// All there is to ask was asked before the block's turn came.
    pub(crate) is_answered: bool,
    /// The keys by the part of the filter that each belongs to, if it has parts.
    pub(crate) groups: Vec<Group>,
    /// Of each key, in order; ends early where there was no room.
    pub(crate) found: Vec<Seen>,
    /// Of each key, how many copies there are, where that is asked.
    pub(crate) counts: Vec<u64>,
    /// How many copies were added, where nothing is said about each key.
    pub(crate) added: u64,
    /// New records that are expected to be among those that were found.
    pub(crate) wrongly_found: Expectation,
    /// The records to write, by place; may end early.
    pub(crate) selected: Vec<bool>,
    /// The records to write to the second output.
    pub(crate) also_selected: Vec<bool>,
}

/// The keys of a block that belong to one part of a filter, with that part's answers.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) hashes: Vec<KeyHash>,
    pub(crate) outcomes: Vec<Insertion>,
    /// Where the part found no room.
    pub(crate) stopped: Option<BatchFull>,
    /// Items of the part before this block.
    pub(crate) items_before: u64,
}

impl Answers {
    pub(crate) fn clear(&mut self) {
        self.is_answered = false;
        self.found.clear();
        self.counts.clear();
        (self.added, self.wrongly_found) = (0, Expectation::default());
        self.selected.clear();
        self.also_selected.clear();
    }

    /// How many keys have this answer.
    pub(crate) fn count(&self, wanted: Seen) -> u64 {
        self.found.iter().filter(|found| **found == wanted).count() as u64
    }
}

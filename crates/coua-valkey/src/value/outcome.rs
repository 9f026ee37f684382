//! What became of an item.

use smallvec::SmallVec;

use crate::refusal::Refusal;

/// What became of each item of a command: of one, without memory of its own.
pub(crate) type Outcomes = SmallVec<[Outcome; 1]>;

/// What became of an item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It is in.
    Inserted,
    /// It was there.
    Present,
    /// It is not in.
    Refused(Refusal),
}

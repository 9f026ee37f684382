//! What became of an item.

use crate::refusal::Refusal;

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

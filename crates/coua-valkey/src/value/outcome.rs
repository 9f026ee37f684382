//! What became of items.

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

impl Outcome {
    /// Whether it went in.
    pub(crate) fn is_in(&self) -> bool {
        matches!(self, Self::Inserted)
    }

    /// Whether it was refused.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

/// What became of each item of a batch, in order.
pub(crate) type Outcomes = Vec<Outcome>;

//! What became of items.

use std::slice;

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

/// What became of each item of a batch, in order.
pub(crate) type Outcomes = Vec<Outcome>;

/// What became of the items of a command: of one, or of each of a batch.
pub(crate) trait Told {
    /// All, in order.
    fn outcomes(&self) -> &[Outcome];

    /// All, to be told in other words.
    fn outcomes_mut(&mut self) -> &mut [Outcome];

    /// How many items went in.
    fn inserted(&self) -> usize {
        self.outcomes().iter().filter(|it| matches!(it, Outcome::Inserted)).count()
    }

    /// How many items were refused.
    fn refused(&self) -> usize {
        self.outcomes().iter().filter(|it| matches!(it, Outcome::Refused(_))).count()
    }
}

impl Told for Outcome {
    fn outcomes(&self) -> &[Outcome] {
        slice::from_ref(self)
    }

    fn outcomes_mut(&mut self) -> &mut [Outcome] {
        slice::from_mut(self)
    }
}

impl Told for Outcomes {
    fn outcomes(&self) -> &[Outcome] {
        self
    }

    fn outcomes_mut(&mut self) -> &mut [Outcome] {
        self
    }
}

//! Outcomes of inserts.

use crate::error::CommandError;
use crate::redisbloom::InsertError;

/// The outcome of inserting an item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// It was inserted.
    Inserted,
    /// It was present.
    Present,
    /// It was not inserted.
    Refused(CommandError),
}

impl Outcome {
    /// The outcome of an insert into a RedisBloom filter, which returned whether it was absent.
    pub(crate) fn of_imported(inserted: Result<bool, InsertError>) -> Self {
        match inserted {
            Ok(true) => Self::Inserted,
            Ok(false) => Self::Present,
            Err(error) => Self::Refused(CommandError::of_insert(&error)),
        }
    }

    /// Whether it was inserted.
    pub(crate) fn is_in(&self) -> bool {
        matches!(self, Self::Inserted)
    }
}

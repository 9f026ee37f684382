//! A Bloom filter of the other module, in its own layout: how it is filled.

use crate::redisbloom::{InsertError, Limits, PeerBloom};
use crate::refusal::Refusal;
use crate::value::outcome::Outcome;

/// Inserts an item that is absent, and tells what became of it.
pub(super) fn insert_one(filter: &mut PeerBloom, item: &[u8], limits: &Limits) -> Outcome {
    match filter.insert(item, limits) {
        Ok(true) => Outcome::Inserted,
        Ok(false) => Outcome::Present,
        Err(InsertError::Full { .. }) => Outcome::Refused(Refusal::NonScalingFull),
        Err(error) => Outcome::Refused(Refusal::of_insert(&error)),
    }
}

//! A Bloom filter of the other module, in its own layout: how it is filled.

use crate::refusal::Refusal;
use crate::value::outcome::{Outcome, Outcomes};
use coua_redisbloom::{InsertError, Limits, PeerBloom};

/// Inserts items that are absent, in order, and tells what became of each.
pub(super) fn insert(filter: &mut PeerBloom, items: &[&[u8]], limits: &Limits) -> Outcomes {
    let one = |item: &&[u8]| match filter.insert(item, limits) {
        Ok(true) => Outcome::Inserted,
        Ok(false) => Outcome::Present,
        Err(InsertError::Full { .. }) => Outcome::Refused(Refusal::NonScalingFull),
        Err(error) => Outcome::Refused(Refusal::of_insert(&error)),
    };
    items.iter().map(one).collect()
}

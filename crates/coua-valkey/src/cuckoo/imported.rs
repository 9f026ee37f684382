//! A cuckoo filter of the other module, in its own layout: how it is filled, and gives memory back.

use super::compaction::{Compaction, Position};
use super::inserts::Copies;
use crate::redisbloom::{self as peer, Limits, PeerCuckoo};
use crate::refusal::Refusal;
use crate::value::give_back;
use crate::value::outcome::Outcome;

/// Inserts an item, and tells what became of it.
pub(super) fn insert_one(
    filter: &mut PeerCuckoo,
    item: &[u8],
    copies: Copies,
    limits: &Limits,
) -> Outcome {
    let inserted = match copies {
        Copies::Add => filter.insert(item, limits).map(|()| true),
        Copies::Keep => filter.insert_unique(item, limits),
    };
    match inserted {
        Ok(true) => Outcome::Inserted,
        Ok(false) => Outcome::Present,
        Err(error) => Outcome::Refused(Refusal::of_insert(&error)),
    }
}

/// Gives memory back, as much as a command may take the time for.
pub(super) fn compact(filter: &mut PeerCuckoo, at: Option<Position>) -> Compaction {
    let from =
        at.map(|Position { part, from }| peer::SlotPosition { sub_filter: part, slot: from });
    let peer::CompactionStep { has_changed, next, freed } = filter.compact_step(from);
    let bytes = freed.iter().map(Vec::len).sum();
    give_back(freed, bytes);
    let at = |peer::SlotPosition { sub_filter, slot }| Position { part: sub_filter, from: slot };
    Compaction { has_changed, next: next.map(at) }
}

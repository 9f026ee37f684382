//! A cuckoo filter of the other module, in its own layout: how it is filled.

use super::inserts::Copies;
use crate::refusal::Refusal;
use crate::value::outcome::Outcome;
use coua_redisbloom::{Limits, PeerCuckoo};

/// Inserts items in order, and tells what became of each.
pub(super) fn insert(
    filter: &mut PeerCuckoo,
    items: &[&[u8]],
    copies: Copies,
    limits: &Limits,
) -> Vec<Outcome> {
    let one = |item: &&[u8]| {
        let inserted = match copies {
            Copies::Add => filter.insert(item, limits).map(|()| true),
            Copies::Keep => filter.insert_unique(item, limits),
        };
        match inserted {
            Ok(true) => Outcome::Inserted,
            Ok(false) => Outcome::Present,
            Err(error) => Outcome::Refused(Refusal::of_insert(&error)),
        }
    };
    items.iter().map(one).collect()
}

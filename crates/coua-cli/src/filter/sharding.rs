//! Splits the keys of a block by shard, and merges the answers in order.
//!
//! Each shard processes the blocks in their order, whichever thread does it, and however far the other shards are. So
//! the answers are the same as with one thread.

use crate::filter::run_filter::Stop;
use crate::key::{Answers, BlockKeys, Group, Seen};
use coua::shards::Division;
use coua::{BatchFull, KeyHash};
use std::num::NonZeroUsize;

/// Bits of a hash that shards remember together.
pub(super) const HASH_BITS: f64 = 64.0;

/// Enough shards to keep these threads busy: a power of two, at most 64.
pub(super) fn division_for(threads: NonZeroUsize) -> Division {
    Division::new(usize::BITS - (threads.get() - 1).leading_zeros())
}

/// Groups the keys of a block by shard, as the hashes that the shards see.
pub(super) fn group(division: Division, keys: &BlockKeys, answers: &mut Answers) {
    let groups = &mut answers.groups;
    groups.resize_with(division.shards(), Group::default);
    groups.iter_mut().for_each(Group::clear);
    for hash in &keys.hashes {
        groups[division.shard_of(*hash)].hashes.push(division.within(*hash));
    }
}

/// Puts the answers of the groups in the order of the keys, up to the first key for which a shard had no room. The
/// shards form one filter for the user.
pub(super) fn merge(
    division: Division,
    keys: &BlockKeys,
    answers: &mut Answers,
) -> Result<(), Stop> {
    let Some(shard) = merge_found(division, keys, answers) else { return Ok(()) };
    let before = answers.groups.iter().map(|group| group.items_before).sum::<u64>();
    let items = before + answers.count(Seen::New);
    let mut stopped =
        answers.groups[shard].stopped.expect("a shard without room for a key says so");
    (stopped.done, stopped.full.items) = (answers.found.len(), items);
    Err(Stop::full(stopped))
}

/// Merges the answers. Returns the shard that has no room, if there is one.
fn merge_found(division: Division, keys: &BlockKeys, answers: &mut Answers) -> Option<usize> {
    let Answers { groups, found, .. } = answers;
    let mut outcomes: Vec<_> = groups.iter().map(|group| group.outcomes.iter()).collect();
    found.resize(keys.hashes.len(), Seen::Unknown);
    for (nth, hash) in keys.hashes.iter().enumerate() {
        let shard = division.shard_of(*hash);
        let Some(outcome) = outcomes[shard].next() else {
            found.truncate(nth);
            return Some(shard);
        };
        found[nth] = Seen::from(*outcome);
    }
    None
}

/// Puts the numbers of copies in the order of the keys.
pub(super) fn merge_totals(division: Division, keys: &BlockKeys, answers: &mut Answers) {
    let Answers { groups, totals, .. } = answers;
    let mut of_shards: Vec<_> = groups.iter().map(|group| group.totals.iter()).collect();
    let next = |hash: &KeyHash| of_shards[division.shard_of(*hash)].next().copied().unwrap_or(0);
    totals.extend(keys.hashes.iter().map(next));
}

/// Drops the outcomes from the first key for which there was no room.
pub(super) fn stop_at_refusal(group: &mut Group, result: Result<(), BatchFull>) {
    group.stopped = result.err();
    if let Some(stopped) = group.stopped {
        group.outcomes.truncate(stopped.done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_follow_the_threads() {
        let shards = [1, 2, 3, 4, 5, 16, 17, 64, 256, usize::MAX / 2 + 1]
            .map(|threads| division_for(NonZeroUsize::new(threads).unwrap()).shards());
        assert_eq!(shards, [1, 2, 4, 4, 8, 16, 32, 64, 64, 64]);
    }
}

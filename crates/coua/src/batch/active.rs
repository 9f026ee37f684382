//! Active eviction chains, in groups that step together.

use crate::kernel::{GROUP, GroupMoves};
use crate::segments::EvictionChain;

/// Groups of active chains.
pub(super) const GROUPS: usize = 4;
/// Active chains in all groups.
pub(super) const MOST_CHAINS: usize = GROUPS * GROUP;
/// An active chain, and the number of its run.
pub(super) type Active = (EvictionChain, usize);

/// Chains that step together: the first `count`, each of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChainGroup {
    pub(super) count: usize,
    pub(super) chains: [Active; GROUP],
    /// Vectors have found the candidate moves.
    pub(super) are_moves_found: bool,
    pub(super) moves: GroupMoves,
}

/// All active chains.
#[derive(Debug, Default)]
pub(super) struct Chains {
    /// How many there are.
    pub(super) active: usize,
    /// Those whose candidate buckets are being prefetched; empty before the first run.
    pub(super) groups: Vec<ChainGroup>,
    /// The others.
    pub(super) arrived: Vec<Active>,
    /// Steps of groups so far.
    pub(super) group_steps: usize,
    /// Runs that were begun.
    pub(super) begun: usize,
}

impl Chains {
    /// Forms a group of arrived chains, unless they are few and may wait for those of another group.
    #[inline(always)]
    pub(super) fn form_group(&mut self, number: usize) -> Option<&mut ChainGroup> {
        let count = self.arrived.len().min(GROUP);
        if count == 0 || count < GROUP && self.groups.iter().any(|group| group.count > 0) {
            return None;
        }
        let group = &mut self.groups[number];
        (group.count, group.are_moves_found) = (count, false);
        for (place, active) in self.arrived.drain(self.arrived.len() - count..).enumerate() {
            group.chains[place] = active;
        }
        for place in 0..GROUP {
            // Places without a chain repeat the first one's.
            let (chain, _) = &group.chains[if place < count { place } else { 0 }];
            group.moves.segment[place] = chain.segment.into();
            group.moves.from[place] = chain.bucket;
        }
        Some(group)
    }
}

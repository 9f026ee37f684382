//! Active eviction chains, and the keys that are deferred until they end.
//!
//! A chain has its segment to itself while it is active: its item is in no bucket, and the bytes must be
//! those of single calls. So the segment is *busy*: a key that falls into it is deferred, and so is the
//! next one. When the chain has ended they go in, in their order. Keys of other segments go in before them.
//! That changes nothing, because segments are independent.

use crate::cuckoo::EvictionChain;
use crate::kernel::{GROUP, GroupMoves, Probe};

/// Active chains at most.
pub(super) const MOST: usize = 32;
/// Groups of them at most.
const GROUPS: usize = MOST / GROUP;
/// The end of a queue.
const END: u32 = u32::MAX;

/// A deferred key, by its number in the batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deferred {
    pub(super) number: usize,
    pub(super) probe: Probe,
    /// The next one in the same queue.
    next: u32,
}

/// Chains that take a step together: the first `count`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChainGroup {
    pub(super) count: usize,
    pub(super) slots: [u8; GROUP],
    pub(super) chains: [EvictionChain; GROUP],
    /// Vectors have found the candidate moves, and which of them lead to free slots.
    pub(super) are_moves_found: bool,
    pub(super) are_moves_tested: bool,
    pub(super) moves: GroupMoves,
}

/// A chain, and the queue of its segment.
#[derive(Clone, Copy, Debug)]
struct Active {
    chain: EvictionChain,
    first: u32,
    last: u32,
}

/// All active chains, each in a slot of `active`.
#[derive(Debug, Default)]
pub(super) struct ActiveChains {
    active: Vec<Active>,
    /// Slots whose chain has ended.
    free: Vec<u8>,
    /// Slots of chains whose candidate buckets were not prefetched yet.
    arrived: Vec<u8>,
    /// Ring of groups whose candidate buckets were prefetched.
    pub(super) groups: Vec<ChainGroup>,
    /// The group that steps next, and how many there are.
    next: usize,
    formed: usize,
    /// Chains that will take further steps.
    count: usize,
    /// The links of all queues.
    deferred: Vec<Deferred>,
    /// For each segment, the slot of its chain and 1, or 0; empty before the first chain.
    busy: Vec<u8>,
}

impl ActiveChains {
    /// Chains that will take further steps.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    #[inline(always)]
    pub(super) fn is_busy(&self, segment: u32) -> bool {
        self.busy.get(segment as usize).is_some_and(|&busy| busy != 0)
    }

    /// Starts a chain, whose segment is busy from now on. The filter has `segments` segments.
    #[inline(always)]
    pub(super) fn start(&mut self, chain: EvictionChain, segments: usize) {
        let active = Active { chain, first: END, last: END };
        let slot = self.free.pop().unwrap_or(self.active.len() as u8);
        match self.active.get_mut(usize::from(slot)) {
            Some(place) => *place = active,
            None => self.active.push(active),
        }
        if self.busy.len() < segments {
            self.busy.resize(segments, 0);
        }
        self.busy[chain.segment() as usize] = slot + 1;
        self.arrived.push(slot);
        self.count += 1;
    }

    /// Forms a group of arrived chains, if they are enough or at most one other group waits; its number.
    #[inline(always)]
    pub(super) fn form_group(&mut self) -> Option<usize> {
        let count = self.arrived.len().min(GROUP);
        if count == 0 || self.formed == GROUPS || count < GROUP && self.formed > 1 {
            return None;
        }
        if self.groups.is_empty() {
            self.groups.resize(GROUPS, ChainGroup::default());
        }
        let number = (self.next + self.formed) % GROUPS;
        self.formed += 1;
        let group = &mut self.groups[number];
        group.count = count;
        for (place, &slot) in self.arrived[self.arrived.len() - count..].iter().enumerate() {
            let chain = self.active[usize::from(slot)].chain;
            group.slots[place] = slot;
            group.chains[place] = chain;
            group.moves.segment[place] = chain.segment().into();
            group.moves.from[place] = chain.bucket();
        }
        for place in count..GROUP {
            group.moves.segment[place] = group.moves.segment[0];
            group.moves.from[place] = group.moves.from[0];
        }
        self.arrived.truncate(self.arrived.len() - count);
        Some(number)
    }

    /// The group that steps next, if more than `kept` wait. Its chains take no more steps until they
    /// [go on](Self::go_on).
    #[inline(always)]
    pub(super) fn take_group(&mut self, kept: usize) -> Option<usize> {
        if self.formed <= kept {
            return None;
        }
        let number = self.next;
        self.next = (self.next + 1) % GROUPS;
        self.formed -= 1;
        self.count -= self.groups[number].count;
        Some(number)
    }

    /// Lets a chain take further steps, the same or another one in its segment.
    #[inline(always)]
    pub(super) fn go_on(&mut self, slot: u8, chain: EvictionChain) {
        self.active[usize::from(slot)].chain = chain;
        self.arrived.push(slot);
        self.count += 1;
    }

    /// Appends a key to the queue of a busy segment.
    #[inline(always)]
    pub(super) fn defer(&mut self, number: usize, probe: &Probe) {
        let slot = self.busy[probe.segment as usize] - 1;
        let active = &mut self.active[usize::from(slot)];
        let place = self.deferred.len() as u32;
        self.deferred.push(Deferred { number, probe: *probe, next: END });
        if active.first == END {
            active.first = place;
        } else {
            self.deferred[active.last as usize].next = place;
        }
        active.last = place;
    }

    /// The first key in the queue of a chain's segment.
    #[inline(always)]
    pub(super) fn first_deferred(&self, slot: u8) -> Option<Deferred> {
        let first = self.active[usize::from(slot)].first;
        (first != END).then(|| self.deferred[first as usize])
    }

    /// Takes the first key out of a queue.
    #[inline(always)]
    pub(super) fn pop_deferred(&mut self, slot: u8) {
        let active = &mut self.active[usize::from(slot)];
        active.first = self.deferred[active.first as usize].next;
    }

    /// Ends a chain whose queue is empty: its segment is not busy any more.
    #[inline(always)]
    pub(super) fn end(&mut self, slot: u8) {
        self.free.push(slot);
        self.busy[self.active[usize::from(slot)].chain.segment() as usize] = 0;
        if self.free.len() == self.active.len() {
            self.deferred.clear();
        }
    }

    /// Ends all chains, none of which may have steps left; the numbers of all keys in their queues.
    pub(super) fn drain_deferred(&mut self) -> Vec<usize> {
        let mut all = Vec::new();
        for active in self.active.drain(..) {
            self.busy[active.chain.segment() as usize] = 0;
            let mut next = active.first;
            while let Some(&deferred) = self.deferred.get(next as usize) {
                all.push(deferred.number);
                next = deferred.next;
            }
        }
        self.free.clear();
        self.deferred.clear();
        all
    }
}

//! A filter in a file while several threads insert into it.
//!
//! Its segments are shared out by the first bits of the hash. A block is asked about in all shards, by whichever thread
//! is free, after the block before it was answered for. So the filter holds what was answered, whenever it is saved.

use crate::filter::collisions;
use crate::filter::op::Op;
use crate::filter::sharding::Sharding;
use crate::key::{Answers, BlockKeys, Group, Seen};
use crate::pipeline::Prefetch;
use coua::{KeyHash, SharedCuckooFilter};
use coua_store::Store;
use std::iter::zip;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Where threads find the filter, and how they share it.
#[derive(Debug)]
pub(super) struct ShardedFile {
    filter: Arc<coua_store::Divided>,
    sharding: Sharding,
    op: Op,
}

impl ShardedFile {
    /// None if the filter is to be changed by one thread.
    pub(super) fn new(store: &Store, op: Op, threads: NonZeroUsize) -> Option<Self> {
        let can = op.inserts() && threads.get() > 1 && store.filter().window().is_none();
        let (filter, sharding) = (store.divided(), Sharding::for_threads(threads));
        can.then_some(Self { filter, sharding, op })
    }

    /// Shares the filter out, unless it is. Returns false if it cannot take so many `keys` at once then.
    pub(super) fn shard(&self, store: &mut Store, keys: usize) -> bool {
        let is_divided = self.filter.filter().is_some();
        is_divided || store.divide(self.sharding.bits, keys)
    }

    /// The filter's load, if it is shared out.
    pub(super) fn load(&self) -> Option<f64> {
        self.filter.filter().as_ref().map(SharedCuckooFilter::load_factor)
    }

    /// The answers for a block about which all shards were asked.
    pub(super) fn answer(&self, store: &mut Store, keys: &BlockKeys, answers: &mut Answers) {
        if self.op == Op::Add {
            answers.added = keys.hashes.len() as u64;
            store.note_inserted(keys.hashes.iter().copied());
            return;
        }
        let merged = self.sharding.merge(keys, answers);
        debug_assert!(merged.is_ok(), "no key of an accepted block is refused");
        let new = zip(&keys.hashes, &answers.found).filter(|(_, found)| **found == Seen::New);
        store.note_inserted(new.map(|(hash, _)| *hash));
        answers.added = answers.count(Seen::New);
        if let Some(filter) = &*self.filter.filter() {
            let (new, items) = (answers.added, filter.len());
            collisions::expect(answers, new, [items - new, items], filter.hash_bits());
        }
    }
}

impl Prefetch for ShardedFile {
    fn lookup(&self, keys: &BlockKeys, answers: &mut Answers) {
        self.sharding.group(keys, answers, |hash| hash);
    }

    fn shards(&self) -> usize {
        self.sharding.shards()
    }

    fn queries_in_turn(&self) -> bool {
        true
    }

    fn accepts(&self, keys: &BlockKeys) -> bool {
        self.filter
            .filter()
            .as_ref()
            .is_some_and(|filter| keys.hashes.len() <= filter.accepted_keys())
    }

    fn query_shard(&self, _shard: usize, group: &mut Group, _consumed: u64) {
        let Some(filter) = &*self.filter.filter() else { return };
        let hashes: &[KeyHash] = &group.hashes;
        let refused = match self.op {
            Op::Add => filter.insert_batch(hashes),
            _ => filter.insert_unique_batch_into(hashes, &mut group.outcomes),
        };
        debug_assert!(refused.is_ok(), "no key of an accepted block is refused");
    }
}

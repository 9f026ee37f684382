//! The filter of a file, while several threads change it.
//!
//! Its segments are divided among shards, which are asked ahead of the answers. What was answered is noted for the log,
//! which can be committed however far ahead the shards are. For all else they must not be ahead: then no more blocks are
//! [accepted](Prefetch::accepts), and when all others are answered for, the shards are joined.

use crate::filter::op::{Op, Stop};
use crate::filter::sharding::{self, LastLoad, Sharding};
use crate::key::{Answers, BlockKeys, Group, Seen};
use crate::pipeline::{Prefetch, Unanswered};
use coua::shards::Shards;
use coua::window::Change;
use coua_store::{Divided, Store};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where threads find the filter, and how they share it.
#[derive(Debug)]
pub(super) struct ShardedFile {
    divided: Arc<Divided>,
    sharding: Sharding,
    op: Op,
    /// So many keys more meet no limit of the whole filter; 0 while threads are not to share it.
    accepted_keys: AtomicU64,
    load: LastLoad,
}

impl ShardedFile {
    /// None if the filter is to be changed by one thread.
    pub(super) fn new(store: &Store, op: Op, threads: NonZeroUsize) -> Option<Self> {
        let can = op.changes() && threads.get() > 1 && store.filter().window().is_none();
        can.then(|| Self {
            divided: store.divided(),
            sharding: Sharding::for_threads(threads),
            op,
            accepted_keys: AtomicU64::new(0),
            load: LastLoad::default(),
        })
    }

    /// Divides the filter, unless it cannot take so many `keys` at once then. Whether it does.
    pub(super) fn divide(&self, store: &mut Store, keys: usize) -> bool {
        let accepted = store.divide(self.sharding.bits).map(|accepted| match self.op {
            Op::Remove => u64::MAX,
            _ => accepted,
        });
        let accepted = accepted.filter(|accepted| *accepted >= keys as u64);
        match accepted {
            Some(accepted) => self.accepted_keys.store(accepted, Ordering::Relaxed),
            None => self.join(store),
        }
        accepted.is_some()
    }

    /// Accepts no more blocks, so that the next one that is not accepted finds all that were answered for.
    pub(super) fn hold(&self) {
        self.accepted_keys.store(0, Ordering::Relaxed);
    }

    /// One filter again; the shards are not ahead.
    pub(super) fn join(&self, store: &mut Store) {
        self.hold();
        store.join();
    }

    pub(super) fn load(&self) -> f64 {
        self.load.get()
    }

    /// The answers for a block about which all shards were asked.
    pub(super) fn answer(
        &self,
        store: &mut Store,
        keys: &BlockKeys,
        answers: &mut Answers,
    ) -> Result<(), Stop> {
        let has_room = answers.groups.iter().all(|group| group.stopped.is_none());
        if self.op == Op::Add && has_room {
            answers.added = keys.hashes.len() as u64;
            store.note_changes(Change::Insert, &keys.hashes, |_| true);
            return Ok(());
        }
        let hash_bits = self.divided.shards().as_ref().map_or(0.0, Shards::hash_bits);
        let merged = self.sharding.merge(keys, answers, hash_bits);
        let (change, changed) = match self.op {
            Op::Remove => (Change::Remove, Seen::Repeat),
            _ => (Change::Insert, Seen::New),
        };
        let Answers { found, groups, added, .. } = answers;
        store.note_changes(change, &keys.hashes[..found.len()], |nth| found[nth] == changed);
        if merged.is_err() {
            // For lack of memory: all other limits are far.
            groups.iter().enumerate().for_each(|(shard, group)| self.take_back(shard, group));
        }
        if self.op != Op::Remove {
            *added = found.iter().filter(|found| **found == Seen::New).count() as u64;
            self.give_back(keys.hashes.len() as u64 - *added);
        }
        merged
    }

    /// So many keys were there already.
    fn give_back(&self, keys: u64) {
        let more = |accepted: u64| (accepted > 0).then(|| accepted.saturating_add(keys));
        self.accepted_keys.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok();
    }

    /// Nothing follows: the shards give back what nobody learned, and are one filter again.
    pub(super) fn end(&self, store: &mut Store, unanswered: &[Unanswered]) {
        unanswered.iter().for_each(|it| self.take_back(it.shard, &it.group));
        self.join(store);
    }

    fn take_back(&self, shard: usize, group: &Group) {
        if let (Some(shards), true) = (&*self.divided.shards(), self.op.inserts()) {
            sharding::take_back(&mut shards.shard(shard), group);
        }
    }
}

impl Prefetch for ShardedFile {
    fn lookup(&self, keys: &BlockKeys, answers: &mut Answers) {
        self.sharding.group(keys, answers);
    }

    fn shards(&self) -> usize {
        self.sharding.shards()
    }

    fn accepts(&self, keys: &BlockKeys) -> bool {
        let fewer = |accepted: u64| match accepted {
            0 => None,
            _ => accepted.checked_sub(keys.hashes.len() as u64),
        };
        self.accepted_keys.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_ok()
    }

    fn query_shard(&self, number: usize, group: &mut Group, _consumed: u64) {
        if let Some(shards) = &*self.divided.shards() {
            let mut shard = shards.shard(number);
            sharding::ask(&mut shard, self.op, group);
            self.load.set(&shard);
        }
    }
}

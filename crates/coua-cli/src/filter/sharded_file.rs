//! The filter of a file while several threads change it.
//!
//! Its segments are divided among shards, which are ahead of the answers. Answered changes are noted for the log, which
//! can be committed however far ahead the shards are. For everything else they must not be ahead: then no more blocks
//! are [accepted](Prefetch::accepts), and once all others are answered, the shards are joined.

use crate::filter::run_filter::{Op, Stop};
use crate::filter::sharding;
use crate::key::{Answers, BlockKeys, Group, Seen};
use crate::pipeline::{Prefetch, Unanswered};
use coua::shards::Division;
use coua::window::Change;
use coua_store::{Divided, Store};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The shards of a filter, and the limits for the threads that change them.
#[derive(Debug)]
pub(super) struct ShardedFile {
    divided: Arc<Divided>,
    division: Division,
    op: Op,
    /// The number of further keys that cannot exceed a limit of the whole filter; 0 while the filter is not sharded.
    accepted_keys: AtomicU64,
    /// Blocks that were accepted and not answered.
    ahead: AtomicU64,
}

impl ShardedFile {
    /// `None` if one thread must change the filter.
    pub(super) fn new(store: &Store, op: Op, threads: NonZeroUsize) -> Option<Self> {
        let can = op.changes() && threads.get() > 1 && store.filter().window().is_none();
        can.then(|| Self {
            divided: store.divided(),
            division: Division::for_threads(threads),
            op,
            accepted_keys: AtomicU64::new(0),
            ahead: AtomicU64::new(0),
        })
    }

    /// Whether `op` is what the shards do.
    pub(super) fn does(&self, op: Op) -> bool {
        self.op == op
    }

    /// Divides the filter, unless it could not accept `keys` keys at once then. Returns whether it did.
    pub(super) fn divide(&self, store: &mut Store, keys: usize) -> bool {
        let accepted = store.divide(self.division).map(|accepted| match self.op {
            Op::Remove => u64::MAX,
            _ => accepted,
        });
        let accepted = accepted.filter(|accepted| *accepted >= keys as u64);
        match accepted {
            Some(accepted) => self.accepted_keys.store(accepted, Ordering::SeqCst),
            None => self.join(store),
        }
        accepted.is_some()
    }

    /// Accepts no more blocks. Returns whether no shard is ahead.
    pub(super) fn hold(&self) -> bool {
        self.accepted_keys.store(0, Ordering::SeqCst);
        self.ahead.load(Ordering::SeqCst) == 0
    }

    /// Joins the shards to one filter again. No shard may be ahead.
    pub(super) fn join(&self, store: &mut Store) {
        self.hold();
        store.join();
    }

    /// Answers a block that all shards have done.
    pub(super) fn answer(
        &self,
        store: &mut Store,
        keys: &BlockKeys,
        answers: &mut Answers,
    ) -> Result<(), Stop> {
        self.ahead.fetch_sub(1, Ordering::SeqCst);
        let has_room = answers.groups.iter().all(|group| group.stopped.is_none());
        if self.op == Op::Add && has_room {
            answers.added = keys.hashes.len() as u64;
            store.note_changes(Change::Insert, &keys.hashes, |_| true);
            return Ok(());
        }
        let merged = sharding::merge(self.division, keys, answers);
        let (change, changed) = match self.op {
            Op::Remove => (Change::Remove, Seen::Repeat),
            _ => (Change::Insert, Seen::New),
        };
        let Answers { found, groups, added, .. } = answers;
        store.note_changes(change, &keys.hashes[..found.len()], |nth| found[nth] == changed);
        if merged.is_err() {
            // The only cause is lack of memory: all other limits are far.
            groups.iter().enumerate().for_each(|(shard, group)| self.undo(shard, group));
        }
        if self.op != Op::Remove {
            *added = found.iter().filter(|found| **found == Seen::New).count() as u64;
            self.give_back(keys.hashes.len() as u64 - *added);
        }
        merged
    }

    /// Records that `keys` accepted keys added no items.
    fn give_back(&self, keys: u64) {
        let more = |accepted: u64| (accepted > 0).then(|| accepted.saturating_add(keys));
        self.accepted_keys.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more).ok();
    }

    /// Rolls back unanswered changes, and joins the shards. No block follows.
    pub(super) fn end(&self, store: &mut Store, unanswered: &[Unanswered]) {
        for Unanswered { shard, group } in unanswered {
            self.undo(*shard, group);
        }
        self.join(store);
    }

    fn undo(&self, shard: usize, group: &Group) {
        if let (Some(divided), true) = (&*self.divided.filter(), self.op.inserts()) {
            sharding::undo(&mut divided.shards().shard(shard), group);
        }
    }
}

impl Prefetch for ShardedFile {
    fn lookup(&self, keys: &BlockKeys, answers: &mut Answers) {
        sharding::group(self.division, keys, answers);
    }

    fn shards(&self) -> usize {
        self.division.shards()
    }

    fn accepts(&self, keys: &BlockKeys) -> bool {
        let fewer = |accepted: u64| match accepted {
            0 => None,
            _ => accepted.checked_sub(keys.hashes.len() as u64),
        };
        // Counted first, so that `hold` sees every accepted block.
        self.ahead.fetch_add(1, Ordering::SeqCst);
        let accepted = self.accepted_keys.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer);
        if accepted.is_err() {
            self.ahead.fetch_sub(1, Ordering::SeqCst);
        }
        accepted.is_ok()
    }

    fn query_shard(&self, number: usize, group: &mut Group) {
        if let Some(divided) = &*self.divided.filter() {
            let mut shard = divided.shards().shard(number);
            sharding::ask(&mut shard, self.op, group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua::{CuckooFilter, IfPresent, KeyHash, KeyHasher};
    use std::collections::HashSet;
    use std::ops::Range;

    /// A block of keys; in consecutive blocks every second key is a repeat.
    fn block(numbers: Range<u64>) -> (BlockKeys, Answers) {
        let mix = |key: u64| key.wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes();
        let hashes = numbers.map(|n| KeyHash::from_u64(mix(mix(n / 2)))).collect();
        (BlockKeys { hashes, ..BlockKeys::default() }, Answers::default())
    }

    fn ask_all(sharded: &ShardedFile, (keys, answers): &mut (BlockKeys, Answers)) {
        assert!(sharded.accepts(keys));
        sharded.lookup(keys, answers);
        let groups = answers.groups.iter_mut().enumerate();
        groups.for_each(|(shard, group)| sharded.query_shard(shard, group));
    }

    /// The shards have done three blocks when a key of the second is refused.
    #[test]
    fn after_a_refusal_the_file_holds_what_was_answered() {
        for (op, is_logged) in [(Op::Dedup, true), (Op::Dedup, false), (Op::Add, true)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("seen");
            let builder = CuckooFilter::builder().hash_bits(64).capacity(100_000);
            let make = || builder.max_items(400_000).build().unwrap();
            let mut store = Store::create(&path, make).unwrap();
            if is_logged {
                store.commit().unwrap();
            }
            let sharded = ShardedFile::new(&store, op, NonZeroUsize::new(2).unwrap()).unwrap();
            assert!(sharded.divide(&mut store, 30_000));
            let mut blocks = [0..60_000, 50_000..300_000, 200_000..220_000].map(block);
            ask_all(&sharded, &mut blocks[0]);
            // Fills one shard with keys that are not in the log.
            let mut fillers = 0;
            if let Some(divided) = &*store.divided().filter() {
                let mut shard = divided.shards().shard(1);
                let hash = |key: u64| KeyHasher::xxh3(1).hash(key);
                while shard.verbs().insert_one(hash(fillers), IfPresent::AddCopy).is_ok() {
                    fillers += 1;
                }
            }
            blocks[1..].iter_mut().for_each(|block| ask_all(&sharded, block));
            let [first, second, third] = &mut blocks;
            sharded.answer(&mut store, &first.0, &mut first.1).unwrap();
            let stop = sharded.answer(&mut store, &second.0, &mut second.1);
            let Err(Stop::Full { nth, no_room }) = stop else { panic!("{stop:?}") };
            assert!(nth > 0 && no_room.why.contains("limit"), "{no_room:?}");
            let groups = std::mem::take(&mut third.1.groups).into_iter().enumerate();
            let unanswered: Vec<_> =
                groups.map(|(shard, group)| Unanswered { shard, group }).collect();
            assert!(unanswered.iter().any(|it| !it.group.outcomes.is_empty()));
            sharded.end(&mut store, &unanswered);
            store.commit().unwrap();
            let answered = [&first.0.hashes[..], &second.0.hashes[..nth]].concat();
            let different = answered.iter().map(|hash| hash.to_u64()).collect::<HashSet<_>>().len();
            let items = if op == Op::Add { answered.len() } else { different } as u64;
            let in_file = if is_logged { items } else { items + fillers };
            drop(store);
            let filter = Store::read(&path).unwrap().filter;
            assert_eq!(filter.len(), in_file, "{op:?} {is_logged}");
            assert!(filter.contains_batch(&answered).into_iter().all(|found| found));
        }
    }

    /// Blocks are accepted while no limit of the whole filter is near, and repeats do not count.
    #[test]
    fn blocks_are_accepted_up_to_the_limit_of_items() {
        let folder = tempfile::tempdir().unwrap();
        let builder = CuckooFilter::builder().rate(1e-6).capacity(100_000).max_items(100_000);
        let mut store =
            Store::create(folder.path().join("seen"), || builder.build().unwrap()).unwrap();
        let sharded = ShardedFile::new(&store, Op::Dedup, NonZeroUsize::new(2).unwrap()).unwrap();
        let (keys, _) = block(0..20_000);
        assert!(!sharded.accepts(&keys), "before the filter is divided");
        assert!(!sharded.divide(&mut store, 100_001) && sharded.divide(&mut store, 100_000));
        let mut blocks = [0..60_000, 60_000..90_000].map(block);
        for block in &mut blocks {
            ask_all(&sharded, block);
        }
        assert!(!sharded.accepts(&keys), "all may be new");
        for (keys, answers) in &mut blocks {
            sharded.answer(&mut store, keys, answers).unwrap();
        }
        assert!(sharded.accepts(&keys) && sharded.accepts(&keys) && !sharded.accepts(&keys));
        assert!(!sharded.hold() && !sharded.accepts(&keys), "two blocks were accepted");
        sharded.join(&mut store);
        assert_eq!(store.filter().len(), 45_000);
    }
}

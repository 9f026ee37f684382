//! A filter for many threads: `&self` everywhere.
//!
//! The hashes are split by their top bits into *shards*, each a separate [`CuckooFilter`] behind a reader-writer lock.
//! A shard sees the hash without those bits (shifted out to the left), so its segments are, bit for bit, those of one
//! large filter that starts deeper by the bits of the shards: splitting and joining move segments and never change a
//! fingerprint.
//!
//! * Both buckets of a key and its copies in the overflow table are in one shard. A reader holds the lock
//!   during a lookup, so it never sees a filter without the fingerprint that an eviction moves.
//! * Equal keys belong to one shard, whose lock orders them: if several threads insert an
//!   absent key with `insert_unique`, exactly one gets `Inserted`.
//! * Locks are taken in one order: the allowance's gate, then a shard (or all shards, ascending, for a
//!   snapshot). No thread waits for one while it holds another that comes later.

mod allowance;
mod batch;
mod describe;
mod parts;

use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use allowance::Allowance;

use crate::builder::CuckooFilterBuilder;
use crate::error::{BuildError, Full, FullReason, Insertion, OutOfMemory};
use crate::filter::CuckooFilter;
use crate::hash::{Key, KeyHash};
use crate::shards::ShardPlan;

/// A [`CuckooFilter`] that threads share: every operation takes `&self`.
///
/// The guarantees are those of [`CuckooFilter`], for every interleaving of threads. Operations on one
/// key happen one after the other. A batch is not one step but many; equal keys keep their order.
///
/// The filter is split into shards, four for each processor and up to 64, each with a lock. Batches take a lock
/// once for many keys: where speed matters, use batches of thousands of keys. A filter that
/// grows has room for 240,000 items from the start. One of fixed size is split along its segments of up to 65,536
/// slots, so a small one has a single lock. Answers and bytes do not depend on the number of shards, except which keys
/// of a batch are refused at a limit. Shards grow only by splits: with too few [hash
/// bits](CuckooFilterBuilder::hash_bits) for its items, a filter takes 40 bytes for each item without a slot, unless it
/// was built with the `capacity`.
///
/// Operations on one key take O(1) expected time, as in [`CuckooFilter`], and wait while another
/// thread changes the key's shard; changes also wait for lookups there.
///
/// In asynchronous code: no lock outlives a call, so none is held across an `await`. A call for one key waits for
/// others' work on some thousand keys of its shard, microseconds to a millisecond, or for one split if the shard grows.
/// The time of batches, [`snapshot`](Self::snapshot), [`clear`](Self::clear) and descriptions of all shards grows with
/// their keys or bytes: run them on a thread that may block. While a snapshot is copied, all changes wait.
///
/// Creating a filter takes O(segments). Methods that describe it take O(1); a sum visits one shard after the other, and
/// waits while that is changed.
///
/// ```
/// use coua::{CuckooFilter, Insertion, SharedCuckooFilter};
///
/// let seen = SharedCuckooFilter::new();
/// let count_firsts = || {
///     let keys = (0..1000u32).map(u32::to_le_bytes);
///     keys.filter(|key| seen.insert_unique(key) == Ok(Insertion::Inserted)).count()
/// };
/// let firsts: usize = std::thread::scope(|scope| {
///     let threads = [(); 4].map(|()| scope.spawn(count_firsts));
///     threads.into_iter().map(|thread| thread.join().unwrap()).sum()
/// });
/// assert_eq!(firsts, 1000);
/// let plain: CuckooFilter = seen.snapshot()?;
/// assert_eq!(plain.len(), 1000);
/// # Ok::<(), coua::OutOfMemory>(())
/// ```
pub struct SharedCuckooFilter {
    shards: Box<[LockedShard]>,
    plan: ShardPlan,
    allowance: Allowance,
}

/// A lock's words change all the time: no two locks share a cache line, or the adjacent line that processors prefetch
/// with it.
#[repr(align(128))]
struct LockedShard(RwLock<CuckooFilter>);

/// Only this crate's code runs under a lock (keys are hashed before), and it does not panic.
const UNPOISONED: &str = "no operation panics while it holds a shard";

impl LockedShard {
    fn read(&self) -> RwLockReadGuard<'_, CuckooFilter> {
        self.0.read().expect(UNPOISONED)
    }

    fn write(&self) -> RwLockWriteGuard<'_, CuckooFilter> {
        self.0.write().expect(UNPOISONED)
    }
}

impl Default for SharedCuckooFilter {
    fn default() -> Self {
        Self::new()
    }
}

impl CuckooFilterBuilder {
    /// Builds the filter for many threads. O(segments).
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build).
    pub fn build_shared(self) -> Result<SharedCuckooFilter, BuildError> {
        Ok(SharedCuckooFilter::from_filter(&self.build()?)?)
    }
}

impl SharedCuckooFilter {
    /// As [`CuckooFilter::new`]: keeps all 64 bits of every key's hash and grows without limit.
    ///
    /// Starts at less than 2 MiB.
    ///
    /// # Panics
    ///
    /// If there is no memory for that.
    pub fn new() -> Self {
        CuckooFilter::builder().build_shared().expect("the default filter needs 2 MiB of memory")
    }

    /// Whether the key was inserted and not removed; true for another key with the false-positive
    /// rate's probability. O(1); waits while another thread changes the key's shard.
    pub fn contains<K: Key>(&self, key: K) -> bool {
        let (shard, hash) = self.place(key);
        self.shards[shard].read().contains(hash)
    }

    /// How many copies of the key are stored, as [`CuckooFilter::count`]. O(1).
    pub fn count<K: Key>(&self, key: K) -> u64 {
        let (shard, hash) = self.place(key);
        self.shards[shard].read().count(hash)
    }

    /// Adds a copy of the key. O(1) expected.
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room: nothing has changed then.
    pub fn insert<K: Key>(&self, key: K) -> Result<(), Full> {
        let (shard, hash) = self.place(key);
        self.store(shard, |shard| shard.insert(hash))
    }

    /// Adds the key if it is absent, and returns which: if several threads add the same absent key at once, exactly one
    /// gets [`Insertion::Inserted`]. As with [`CuckooFilter::insert_unique`], nothing is stored for a false positive.
    /// O(1) expected.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is absent and there is no room: nothing has changed then.
    pub fn insert_unique<K: Key>(&self, key: K) -> Result<Insertion, Full> {
        let (shard, hash) = self.place(key);
        self.store(shard, |shard| shard.insert_unique(hash))
    }

    /// Removes one copy of the key; false if there is none. O(1). As with [`CuckooFilter::remove`],
    /// remove only what was inserted by [`insert`](Self::insert).
    pub fn remove<K: Key>(&self, key: K) -> bool {
        let (shard, hash) = self.place(key);
        let mut shard = self.shards[shard].write();
        let before = shard.stored();
        let removed = shard.remove(hash);
        self.allowance.give_back(before - shard.stored());
        removed
    }

    /// Removes all items, shard by shard: items that other threads insert meanwhile may stay. O(bytes).
    pub fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.write();
            self.allowance.give_back(shard.stored());
            shard.clear();
        }
    }

    /// A plain filter with the items at one moment: writers wait while it is copied. O(bytes).
    ///
    /// # Errors
    ///
    /// [`OutOfMemory`] if there is no memory for a copy.
    pub fn snapshot(&self) -> Result<CuckooFilter, OutOfMemory> {
        let locked: Vec<_> = self.shards.iter().map(LockedShard::read).collect();
        self.plan.join(&locked)
    }
}

impl SharedCuckooFilter {
    /// The shard of a key, and its hash as the shard sees it.
    #[inline]
    fn place<K: Key>(&self, key: K) -> (usize, KeyHash) {
        let hash = key.hash_with(self.plan.hasher);
        (self.plan.division.shard_of(hash), self.plan.division.within(hash))
    }

    /// Runs an insert of one key in its shard.
    fn store<T>(
        &self,
        index: usize,
        insert: impl FnOnce(&mut CuckooFilter) -> Result<T, Full>,
    ) -> Result<T, Full> {
        let mut permit = self.allowance.permit(1);
        let mut shard = self.shards[index].write();
        let done = self.with_permit(&mut shard, &mut permit, insert);
        drop(shard);
        drop(permit);
        done.map_err(|full| self.full(full.reason))
    }

    /// Runs inserts in a locked shard, which may store at most the permitted number of items.
    fn with_permit<T>(
        &self,
        shard: &mut CuckooFilter,
        permit: &mut allowance::Permit<'_>,
        insert: impl FnOnce(&mut CuckooFilter) -> T,
    ) -> T {
        let stored = shard.stored();
        shard.limit_shard(self.plan.shard(), stored.saturating_add(permit.items));
        let done = insert(shard);
        permit.items -= shard.stored() - stored;
        done
    }

    /// The refusal of the whole filter; no lock may be held.
    fn full(&self, reason: FullReason) -> Full {
        Full { items: self.len(), max_items: self.plan.policy.max_items, reason }
    }
}

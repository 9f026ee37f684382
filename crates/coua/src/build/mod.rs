//! Building a filter from all its keys at once.
//!
//! Single inserts access the whole table, and each waits for memory. Here the keys are first sorted by shard ([`ByShard`](crate::cuckoo::ByShard)), and then each shard, a segment or a few that lie in a cache together, is
//! filled with its keys by one of several threads ([`Shards`]). Segments are independent and a shard's
//! keys stay in order, so the bytes are those of single inserts.
//!
//! What depends on more than a shard (the limits of items, of overflowed and of depth) is checked
//! afterwards. If the limits are still far, they never mattered, whatever the order. If not, which is rare, the
//! result is thrown away, and the keys are inserted one batch after the other.

mod keys;
mod shards;

use crate::builder::CuckooFilterBuilder;
use crate::cuckoo::{CuckooFilter, Policy};
use crate::error::{BatchFull, BuildError};
use crate::hash::{Key, KeyHasher};
use crate::kernel::{Geometry, IfPresent};
use keys::{Keys, Unhashed};
use shards::{FEWEST, Shards, Unfit};

/// Keys that are inserted together the ordinary way.
const BATCH: usize = 1 << 16;
/// Most keys that are sorted before they are inserted: this limits the memory for them.
const LONGEST_CHUNK: usize = 1 << 24;
/// So many chunks, where the keys are not too many and not too few: the sorted keys then take a byte
/// for each key, and every shard comes into the cache so many times.
const CHUNKS: usize = 8;

impl CuckooFilterBuilder {
    /// Builds a filter that holds these keys, repeats included: the same, byte for byte, as
    /// [`build`](Self::build) and then [`insert`](CuckooFilter::insert) for one key after the other, but
    /// several times faster, with any number of [`threads`](Self::threads).
    ///
    /// The default capacity is the number of keys: a `rate` is enough to describe a
    /// filter of fixed size for them. A filter that starts much smaller and grows is filled by one
    /// thread, and so is one of less than about 65,000 items, or 15,000 if it can grow: it has a single
    /// segment.
    ///
    /// O(keys). Takes, in addition to the filter, about 1 byte a key (512 KiB at least, 128 MiB at most) and
    /// 1 MiB a thread until it is built.
    ///
    /// # Errors
    ///
    /// [`BuildError`] as in [`build`](Self::build), and [`BuildError::Full`] if there is no room for all
    /// keys: then there is no filter.
    ///
    /// ```
    /// use coua::CuckooFilter;
    ///
    /// let keys: Vec<String> = (0..100_000).map(|n| format!("item {n}")).collect();
    /// let filter = CuckooFilter::builder().rate(0.001).threads(2).build_from(&keys)?;
    /// assert_eq!(filter.len(), 100_000);
    /// assert!(filter.contains("item 7"));
    /// # Ok::<(), coua::BuildError>(())
    /// ```
    pub fn build_from<K: Key + Sync>(self, keys: &[K]) -> Result<CuckooFilter, BuildError> {
        let hasher = self.hasher;
        self.build_with(&Unhashed { keys, hasher }, IfPresent::AddCopy)
    }

    /// [`build_from`](Self::build_from) as a set, in which repeats count once: the same, byte for byte, as
    /// [`insert_unique`](CuckooFilter::insert_unique) for one key after the other.
    ///
    /// # Errors
    ///
    /// As [`build_from`](Self::build_from).
    pub fn build_unique_from<K: Key + Sync>(self, keys: &[K]) -> Result<CuckooFilter, BuildError> {
        let hasher = self.hasher;
        self.build_with(&Unhashed { keys, hasher }, IfPresent::Skip)
    }

    /// Not generic: so it is compiled once, and not for every kind of key of every program.
    fn build_with(
        mut self,
        keys: &dyn Keys,
        if_present: IfPresent,
    ) -> Result<CuckooFilter, BuildError> {
        if self.capacity.is_none() {
            let items = keys.len().max(1) as u64;
            self.capacity = Some(items.min(self.max_items.unwrap_or(u64::MAX)));
        }
        let (geometry, policy) = self.checked()?;
        let threads = match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        Construction { geometry, policy, hasher: self.hasher, keys, if_present }.build(threads)
    }
}

/// A filter to be made, and what is to be in it.
struct Construction<'a> {
    geometry: Geometry,
    policy: Policy,
    hasher: KeyHasher,
    keys: &'a dyn Keys,
    if_present: IfPresent,
}

impl Construction<'_> {
    fn build(&self, threads: usize) -> Result<CuckooFilter, BuildError> {
        if let Some(shards) = Shards::new(self.geometry, self.policy, self.hasher, self.keys.len())?
            && let Ok((filter, done)) = self.fill(shards, threads)
        {
            return self.insert_from(done, filter);
        }
        self.insert_from(0, CuckooFilter::empty(self.geometry, self.policy, self.hasher)?)
    }

    /// Fills shards as long as no limit is near; the filter, and how many keys are in it.
    fn fill(&self, mut shards: Shards, threads: usize) -> Result<(CuckooFilter, usize), Unfit> {
        let wished = (self.keys.len() / CHUNKS).clamp(BATCH, LONGEST_CHUNK);
        let mut done = 0;
        loop {
            let left = (self.keys.len() - done).min(shards.capacity_left());
            if left < FEWEST || shards.has_grown() {
                return Ok((shards.join(), done));
            }
            let chunk = done..done + left.min(wished);
            done = chunk.end;
            shards.insert(self.keys, chunk, self.if_present, threads)?;
        }
    }

    /// Inserts the keys from one on the ordinary way.
    fn insert_from(
        &self,
        done: usize,
        mut filter: CuckooFilter,
    ) -> Result<CuckooFilter, BuildError> {
        let mut space = Vec::new();
        for start in (done..self.keys.len()).step_by(BATCH) {
            let end = self.keys.len().min(start + BATCH);
            let hashes = self.keys.hashes(start..end, &mut space);
            let inserted = filter.insert_all(hashes, self.if_present, &mut []);
            inserted.map_err(|BatchFull { full, .. }| full)?;
        }
        Ok(filter)
    }
}

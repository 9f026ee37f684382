//! Building a filter from all its keys at once.
//!
//! Single inserts access the whole table, and each waits for memory. Here the keys are first sorted by shard
//! ([`ByShard`](crate::cuckoo::ByShard)). Then each shard, a segment or a few that lie in a cache together, is
//! filled with its keys by one of several threads ([`Shards`]). Segments are independent and a shard's keys stay
//! in order, so the bytes are those of single inserts.
//!
//! What depends on more than a shard (the limits of items, of overflowed and of depth) is checked
//! afterwards. If the limits are still far, they never mattered, whatever the order. If not, which is rare, the
//! result is thrown away, and the keys are inserted one batch after the other.

mod shards;

use std::ops::Range;

use crate::builder::CuckooFilterBuilder;
use crate::cuckoo::CuckooFilter;
use crate::error::{BatchFull, BuildError};
use crate::hash::{Key, KeyHash, KeyHasher};
use crate::kernel::IfPresent;
use shards::{FEWEST, Keys, Shards};

/// Keys of a batch, where they are inserted without sorting; and of a chunk at least.
const BATCH: usize = 1 << 16;
/// Keys that are sorted before they are inserted, at most. It limits the memory for them.
const LONGEST_CHUNK: usize = 1 << 24;
/// Chunks that the keys are divided into, within the limits above: the sorted keys then take a byte for each key,
/// and every shard comes into the cache as many times.
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
        let threads = match self.threads {
            Some(0) => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.unwrap_or(1),
        };
        let (mut filter, mut done) = (self.clone().build()?, 0);
        if keys.len() >= FEWEST && filter.geometry().base_depth > 0 {
            match Shards::of(filter).and_then(|shards| fill(shards, keys, if_present, threads)) {
                Some(filled) => (filter, done) = filled,
                None => filter = self.build()?,
            }
        }
        let mut space = Vec::new();
        for start in (done..keys.len()).step_by(BATCH) {
            let end = keys.len().min(start + BATCH);
            let hashes = keys.hashes(start..end, &mut space);
            let inserted = filter.insert_all(hashes, if_present, &mut []);
            inserted.map_err(|BatchFull { full, .. }| full)?;
        }
        Ok(filter)
    }
}

/// Fills shards as long as no limit is near; the filter, and how many keys are in it.
fn fill(
    mut shards: Shards,
    keys: &dyn Keys,
    if_present: IfPresent,
    threads: usize,
) -> Option<(CuckooFilter, usize)> {
    let wished = (keys.len() / CHUNKS).clamp(BATCH, LONGEST_CHUNK);
    let mut done = 0;
    loop {
        let left = (keys.len() - done).min(shards.capacity_left());
        if left < FEWEST || shards.has_grown() {
            return Some((shards.join()?, done));
        }
        let chunk = done..done + left.min(wished);
        done = chunk.end;
        shards.insert(keys, chunk, if_present, threads)?;
    }
}

/// Keys as they are.
struct Unhashed<'a, K> {
    keys: &'a [K],
    hasher: KeyHasher,
}

impl<K: Key + Sync> Keys for Unhashed<'_, K> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn hashes<'a>(&'a self, range: Range<usize>, space: &'a mut Vec<KeyHash>) -> &'a [KeyHash] {
        K::hash_all(&self.keys[range], self.hasher, space)
    }
}

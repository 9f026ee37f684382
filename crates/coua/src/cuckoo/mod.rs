//! The cuckoo filter: contains, insert, remove, count.
//!
//! Fan, Andersen, Kaminsky, Mitzenmacher 2014, "Cuckoo Filter: Practically Better Than Bloom", with
//! segments, any number of buckets, a choice bit in every slot and an exact overflow table. See
//! `docs/theory.md` for the formulas.
//!
//! The fields are private to this folder, which has all the code that changes them.

mod create;
mod describe;
mod evict;
mod grow;
mod insert;
mod join;
mod lookup;
mod overflow;
mod policy;
mod prefetch;
mod rebuild;
mod reinsert;
mod remove;
mod shards;
mod split;

use crate::error::{Full, FullReason, Insertion};
use crate::hash::{Key, KeyHash, KeyHasher};
use crate::kernel::{Geometry, IfPresent, LevelGeometry, Levels, Probe, UniformTable};
use crate::table::{Directory, Segment, Table};

pub(crate) use evict::EvictionChain;
pub(crate) use grow::WhenBlocked;
pub(crate) use overflow::{OverflowEntry, OverflowTable};
pub use policy::WhenFull;
pub(crate) use policy::{MAX_DEPTH, Policy, ShardLimits, deepest, segments_below};
pub(crate) use prefetch::Prefetcher;
#[cfg(test)]
pub(crate) use shards::filter_and_crowd;
pub(crate) use shards::{ByShard, ShardPlan, shard_of, within_shard};

/// A set, or multiset, of keys that answers "have I seen this before?" in a few bytes a key.
///
/// * `contains` is never wrong about a key that was inserted and not removed. About other keys it
///   errs with probability [`false_positive_rate`](Self::false_positive_rate).
/// * A key may be inserted any number of times and removed as often.
/// * Removing a key that was never inserted returns false, but with the false-positive rate's
///   probability removes another key's copy: remove only what you inserted.
///
/// All operations on one key take O(1) expected time, and O(log k) where k keys have more copies than
/// a bucket has slots. Batches are several times faster than single calls once the table is
/// larger than the processor's caches. Making a filter takes O(segments), and describing it O(1) unless a
/// method says otherwise.
///
/// ```
/// use coua::CuckooFilter;
///
/// let mut seen = CuckooFilter::with_capacity(1_000_000, 0.001)?;
/// seen.insert("kestrel")?;
/// assert!(seen.contains("kestrel"));
/// assert!(seen.remove("kestrel"));
/// assert!(seen.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CuckooFilter {
    geometry: Geometry,
    /// By level (depth below the base depth): all levels in use, and the one below, to which segments may split.
    levels: Vec<LevelGeometry>,
    /// The level of all segments, while they have the same.
    uniform: Option<LevelGeometry>,
    directory: Directory,
    table: Table,
    overflow: OverflowTable,
    /// Items in slots, and overflowed ones: what `max_items` limits. Further copies of a key are counted in
    /// the overflow table.
    stored: u64,
    policy: Policy,
    hasher: KeyHasher,
    /// Splits so far: a [`Probe`] is stale once this has changed.
    splits: u64,
    limits: ShardLimits,
    /// Bytes of memory up to which it grows; `u64::MAX`: no limit.
    memory_limit: u64,
}

impl CuckooFilter {
    /// Whether the key was inserted and not removed; true for another key with the false-positive
    /// rate's probability. O(1): two memory accesses.
    #[inline(always)]
    pub fn contains<K: Key>(&self, key: K) -> bool {
        self.contains_located(key.hash_with(self.hasher))
    }

    /// How many copies of the key are stored: never fewer than were inserted and not removed, more
    /// only by the copies of a false positive. O(1), or O(log k) as said of [the type](Self).
    #[inline]
    pub fn count<K: Key>(&self, key: K) -> u64 {
        self.count_at(&self.locate(key.hash_with(self.hasher)))
    }

    /// Adds a copy of the key. O(1) expected; once in a while splits one segment, or doubles a small
    /// filter: some 2 ms at the longest, and more where the system has to find new memory. A filter of few
    /// hash bits, whose fingerprints have no bit left to give, is rebuilt each time it doubles: O(slots).
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room: nothing has changed then.
    #[inline]
    pub fn insert<K: Key>(&mut self, key: K) -> Result<(), Full> {
        self.insert_one(key.hash_with(self.hasher), IfPresent::AddCopy).map(drop)
    }

    /// Adds the key if it is absent, and says which. O(1) expected.
    ///
    /// Nothing is stored for a false positive, a key that is taken for another one. When the other one is
    /// [removed](Self::remove), neither is there. So a set at a rate from which keys are removed takes each key
    /// once, by [`insert`](Self::insert); with 64 hash bits it does not happen.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is absent and there is no room: nothing has changed then.
    #[inline]
    pub fn insert_unique<K: Key>(&mut self, key: K) -> Result<Insertion, Full> {
        self.insert_one(key.hash_with(self.hasher), IfPresent::Skip)
    }

    /// Removes one copy of the key; false if there is none. O(1).
    ///
    /// With the false-positive rate's probability, a key that was never inserted is taken for another one, whose
    /// copy is then removed. So is a key that [`insert_unique`](Self::insert_unique) took for another one: then both
    /// are gone.
    #[inline]
    pub fn remove<K: Key>(&mut self, key: K) -> bool {
        self.remove_one(key.hash_with(self.hasher))
    }

    /// Removes all items. Memory stays as it is; [`compact`](Self::compact) gives it back. O(bytes).
    pub fn clear(&mut self) {
        self.table.iter_mut().for_each(|mut segment| segment.clear());
        self.overflow = OverflowTable::default();
        self.stored = 0;
    }
}

/// Where a key lies.
impl CuckooFilter {
    #[inline(always)]
    pub(crate) fn locate(&self, hash: KeyHash) -> Probe {
        self.locate_in(self.level_for(hash), hash)
    }

    #[inline(always)]
    fn locate_in(&self, level: &LevelGeometry, hash: KeyHash) -> Probe {
        level.locate(hash, self.directory.segment_of(hash))
    }

    /// Locates a key by what a task knows of all levels.
    #[inline(always)]
    pub(crate) fn locate_by(&self, levels: impl Levels, hash: KeyHash) -> Probe {
        let segment = self.directory.segment_of(hash);
        self.level_in(levels, segment).locate(hash, segment)
    }

    /// The level of a key's segment. Where all have one, it is known before the segment is.
    #[inline(always)]
    fn level_for(&self, hash: KeyHash) -> &LevelGeometry {
        let depth = |level: Option<LevelGeometry>| level.map(|level| level.depth);
        debug_assert_eq!(depth(self.uniform), depth(self.find_uniform()));
        match &self.uniform {
            Some(level) => level,
            None => self.level_by_segment(hash),
        }
    }

    /// Out of line, or the compiler reads the level through the segment in all cases.
    #[inline(never)]
    fn level_by_segment(&self, hash: KeyHash) -> &LevelGeometry {
        self.level_of(self.directory.segment_of(hash))
    }

    /// The level of a segment.
    #[inline(always)]
    pub(crate) fn level_of(&self, segment: u32) -> &LevelGeometry {
        &self.levels[usize::from(self.table.segment(segment).level())]
    }

    /// The level of a segment, by what a task knows of all levels.
    #[inline(always)]
    pub(crate) fn level_in(&self, levels: impl Levels, segment: u32) -> LevelGeometry {
        levels.uniform_or(|| *self.level_of(segment))
    }

    /// The value of `uniform`; to be computed again after every change of a segment's depth.
    fn find_uniform(&self) -> Option<LevelGeometry> {
        self.directory.is_uniform(self.table.len()).then(|| *self.level_of(0))
    }

    /// The smallest hash of a key's cell.
    pub(crate) fn representative(&self, probe: &Probe) -> KeyHash {
        let prefix = self.table.segment(probe.segment).prefix();
        self.level_of(probe.segment).representative(prefix, probe.primary, probe.value)
    }
}

/// What the layers above ask.
impl CuckooFilter {
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    #[inline(always)]
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    pub(crate) fn overflow(&self) -> &OverflowTable {
        &self.overflow
    }

    /// The level of all segments, while they have the same.
    pub(crate) fn uniform(&self) -> Option<LevelGeometry> {
        self.uniform
    }

    /// The table, while all its segments have the same level.
    #[inline(always)]
    pub(crate) fn uniform_table(&self) -> Option<UniformTable<'_>> {
        let level = self.uniform.as_ref()?;
        Some(UniformTable { table: &self.table, directory: &self.directory, level })
    }

    /// Bytes of a segment's slots.
    pub(crate) fn segment_bytes(&self, segment: &Segment) -> u64 {
        self.levels[usize::from(segment.level())].bytes(self.geometry.segment_slots())
    }

    /// Items that take a slot, and overflowed ones.
    pub(crate) fn stored(&self) -> u64 {
        self.stored
    }

    /// Splits so far: a [`Probe`] is stale once this has changed.
    pub(crate) fn splits(&self) -> u64 {
        self.splits
    }

    /// Makes this filter a shard, or tells a shard that the others have changed.
    pub(crate) fn set_limits(&mut self, limits: ShardLimits, max_items: u64) {
        self.limits = limits;
        self.policy.max_items = max_items;
    }

    #[cold]
    pub(crate) fn full(&self, reason: FullReason) -> Full {
        Full { items: self.len(), max_items: self.policy.max_items, reason }
    }
}

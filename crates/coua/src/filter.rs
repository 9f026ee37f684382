//! The cuckoo filter: contains, insert, remove, count.
//!
//! Fan, Andersen, Kaminsky, Mitzenmacher 2014, "Cuckoo Filter: Practically Better Than Bloom", with
//! segments, any number of buckets, a choice bit in every slot and an exact side table. See
//! `docs/theory.md` for the formulas.

use crate::KeyHash;
use crate::builder::CuckooFilterBuilder;
use crate::directory::Directory;
use crate::error::{BuildError, Full, Insertion, OutOfMemory};
use crate::geometry::{Geometry, Shape};
use crate::growth::Whole;
use crate::hash::KeyHasher;
use crate::prepared::Copies;
use crate::side::Side;
use crate::table::{Segment, Table};

/// What to do when an item finds no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFull {
    /// Grow, up to `max_items`; then refuse with [`Full`]. The stated rate always holds. Keys that were made to share
    /// a long prefix of their hashes are refused earlier, and so are those of a
    /// [`SharedCuckooFilter`](crate::SharedCuckooFilter) of few hash bits.
    #[default]
    Grow,
    /// Never take more memory: refuse when no slot can be found, or at `max_items`.
    Refuse,
    /// Grow, also beyond `max_items`: the false-positive rate then rises in proportion.
    ExceedRate,
}

/// Limits chosen at creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub(crate) max_items: u64,
    pub(crate) when_full: WhenFull,
    pub(crate) max_relocations: u32,
}

/// A set, or multiset, of keys that answers "have I seen this before?" in a few bytes a key.
///
/// * `contains` is never wrong about a key that was inserted and not removed. About other keys it
///   errs with probability [`false_positive_rate`](Self::false_positive_rate).
/// * A key may be inserted any number of times and removed as often.
/// * Removing a key that was never inserted returns false, but with the false-positive rate's
///   probability takes a stranger's copy away: remove only what you inserted.
///
/// All operations on one key take O(1) expected time, and O(log k) where k keys have more copies than
/// a bucket has slots. Batches take as much for each key, but are several times faster than single
/// calls once the table is larger than the processor's caches. Making a filter takes O(segments), and
/// what describes it O(1) unless it says otherwise.
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
    pub(crate) geometry: Geometry,
    /// By level, which is depth below the base depth: of those in use, and of the one below, to which segments
    /// may split.
    pub(crate) shapes: Vec<Shape>,
    /// That of all segments, while they have the same.
    pub(crate) only_shape: Option<Shape>,
    pub(crate) directory: Directory,
    pub(crate) table: Table,
    pub(crate) side: Side,
    /// Items that take a slot, and homeless ones: what `max_items` limits. Further copies are counted
    /// in the side table.
    pub(crate) stored: u64,
    pub(crate) policy: Policy,
    pub(crate) hasher: KeyHasher,
    /// Splits so far: a [`Probe`] is stale once this has changed.
    pub(crate) splits: u64,
    /// The shared filter that this one is a shard of.
    pub(crate) whole: Whole,
    /// Bytes of memory up to which it grows; `u64::MAX`: no limit.
    pub(crate) memory_limit: u64,
}

impl Default for CuckooFilter {
    fn default() -> Self {
        Self::new()
    }
}

impl CuckooFilter {
    /// A filter that keeps all 64 bits of every key's hash and grows without limit: the expected
    /// number of wrong "seen" answers over a stream of n keys is n^2 / 2^65.
    ///
    /// Starts at about 100 KiB.
    ///
    /// # Panics
    ///
    /// If there is no memory for that.
    ///
    /// ```
    /// let mut seen = coua::CuckooFilter::new();
    /// assert_eq!(seen.insert_unique("a")?, coua::Insertion::Inserted);
    /// assert_eq!(seen.insert_unique("a")?, coua::Insertion::AlreadyPresent);
    /// # Ok::<(), coua::Full>(())
    /// ```
    pub fn new() -> Self {
        Self::builder().build().expect("the default filter needs 100 KiB of memory")
    }

    /// A filter of fixed size for `items` items at a false-positive rate of at most `rate`.
    ///
    /// Memory is taken at once: [`CuckooPlan`](crate::sizing::CuckooPlan) tells how much.
    ///
    /// # Errors
    ///
    /// If `rate` is no probability between 0 and 1 or too small for a 64-bit hash, or memory is
    /// lacking.
    ///
    /// ```
    /// let filter = coua::CuckooFilter::with_capacity(65_536, 0.01)?;
    /// assert!(filter.memory_bytes() < 90_000);
    /// # Ok::<(), coua::BuildError>(())
    /// ```
    pub fn with_capacity(items: u64, rate: f64) -> Result<Self, BuildError> {
        Self::builder().capacity(items).rate(rate).build()
    }

    /// Describes a filter in detail.
    ///
    /// ```
    /// let filter = coua::CuckooFilter::builder().capacity(1000).max_items(1_000_000).rate(1e-4).build()?;
    /// assert_eq!(filter.max_items(), 1_000_000);
    /// # Ok::<(), coua::BuildError>(())
    /// ```
    pub fn builder() -> CuckooFilterBuilder {
        CuckooFilterBuilder::default()
    }

    /// An empty filter of this geometry.
    pub(crate) fn empty(
        geometry: Geometry,
        policy: Policy,
        hasher: KeyHasher,
    ) -> Result<Self, OutOfMemory> {
        // More than 2^64 slots have no shape.
        let shape = geometry.shape(geometry.base_depth).ok_or(OutOfMemory { bytes: u64::MAX })?;
        let bytes = shape.bytes(geometry.segment_slots());
        let table = Table::new(geometry.base_depth, bytes)?;
        let directory = Directory::new(geometry.base_depth)?;
        Ok(Self::of_table(geometry, table, directory, policy, hasher))
    }

    /// A filter with these segments, whose slots and copies aside are still to be counted.
    pub(crate) fn of_table(
        geometry: Geometry,
        table: Table,
        directory: Directory,
        policy: Policy,
        hasher: KeyHasher,
    ) -> Self {
        let mut filter = Self {
            geometry,
            shapes: geometry.shapes_below(table.deepest_level()),
            only_shape: None,
            directory,
            table,
            side: Side::default(),
            stored: 0,
            policy,
            hasher,
            splits: 0,
            whole: Whole::default(),
            memory_limit: u64::MAX,
        };
        filter.only_shape = filter.shape_of_all();
        // Where the list of segments is in the order of their hashes, the directory need not be asked.
        if filter.directory.is_in_order() {
            filter.table.find_row();
        }
        filter
    }

    /// Whether the key was inserted and not removed; true for another key with the false-positive
    /// rate's probability. O(1): two memory accesses.
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// assert!(!filter.contains("a"));
    /// ```
    #[inline]
    pub fn contains<K: AsRef<[u8]>>(&self, key: K) -> bool {
        self.contains_hash(self.hasher.hash(key.as_ref()))
    }

    /// [`contains`](Self::contains) for a key that is hashed already.
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// assert!(!CuckooFilter::new().contains_hash(KeyHash::from_u64(0)));
    /// ```
    #[inline]
    pub fn contains_hash(&self, hash: KeyHash) -> bool {
        self.look(hash)
    }

    /// How many copies of the key are stored: never fewer than were inserted and not removed, more
    /// only by the copies of a false positive. O(1), or O(log k) as said of [the type](Self).
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// filter.insert("a")?;
    /// filter.insert("a")?;
    /// assert_eq!(filter.count("a"), 2);
    /// # Ok::<(), coua::Full>(())
    /// ```
    #[inline]
    pub fn count<K: AsRef<[u8]>>(&self, key: K) -> u64 {
        self.count_hash(self.hasher.hash(key.as_ref()))
    }

    /// [`count`](Self::count) for a key that is hashed already.
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// assert_eq!(CuckooFilter::new().count_hash(KeyHash::from_u64(0)), 0);
    /// ```
    #[inline]
    pub fn count_hash(&self, hash: KeyHash) -> u64 {
        self.tally(&self.locate(hash))
    }

    /// Adds a copy of the key. O(1) expected; once in a while splits one segment, or doubles a small
    /// filter: some 2 ms at the longest, and more where the system has to find new memory
    /// (`docs/comparison.md`). A filter whose fingerprints have no bit left to give, for its hash bits
    /// are few, is rebuilt whole each time it doubles: O(slots).
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room: nothing has changed then.
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// filter.insert("a")?;
    /// assert_eq!(filter.len(), 1);
    /// # Ok::<(), coua::Full>(())
    /// ```
    #[inline]
    pub fn insert<K: AsRef<[u8]>>(&mut self, key: K) -> Result<(), Full> {
        self.insert_hash(self.hasher.hash(key.as_ref()))
    }

    /// [`insert`](Self::insert) for a key that is hashed already.
    ///
    /// # Errors
    ///
    /// [`Full`] if there is no room.
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// CuckooFilter::new().insert_hash(KeyHash::from_u64(0))?;
    /// # Ok::<(), coua::Full>(())
    /// ```
    #[inline]
    pub fn insert_hash(&mut self, hash: KeyHash) -> Result<(), Full> {
        self.insert_one(hash, Copies::Add).map(drop)
    }

    /// Adds the key if it is absent, and says which. O(1) expected.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is absent and there is no room: nothing has changed then.
    ///
    /// ```
    /// # use coua::{CuckooFilter, Insertion};
    /// # let mut filter = CuckooFilter::new();
    /// assert_eq!(filter.insert_unique("a")?, Insertion::Inserted);
    /// assert_eq!(filter.insert_unique("a")?, Insertion::AlreadyPresent);
    /// # Ok::<(), coua::Full>(())
    /// ```
    #[inline]
    pub fn insert_unique<K: AsRef<[u8]>>(&mut self, key: K) -> Result<Insertion, Full> {
        self.insert_unique_hash(self.hasher.hash(key.as_ref()))
    }

    /// [`insert_unique`](Self::insert_unique) for a key that is hashed already.
    ///
    /// # Errors
    ///
    /// [`Full`] if it is absent and there is no room.
    ///
    /// ```
    /// # use coua::{CuckooFilter, Insertion, KeyHash};
    /// let inserted = CuckooFilter::new().insert_unique_hash(KeyHash::from_u64(0))?;
    /// assert_eq!(inserted, Insertion::Inserted);
    /// # Ok::<(), coua::Full>(())
    /// ```
    #[inline]
    pub fn insert_unique_hash(&mut self, hash: KeyHash) -> Result<Insertion, Full> {
        self.insert_one(hash, Copies::Keep)
    }

    /// Takes one copy of the key away; false if there is none. O(1).
    ///
    /// A key that was never inserted is, with the false-positive rate's probability, taken for a
    /// stranger whose copy then goes.
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// filter.insert("a")?;
    /// assert!(filter.remove("a"));
    /// assert!(!filter.remove("a"));
    /// # Ok::<(), coua::Full>(())
    /// ```
    #[inline]
    pub fn remove<K: AsRef<[u8]>>(&mut self, key: K) -> bool {
        self.remove_hash(self.hasher.hash(key.as_ref()))
    }

    /// [`remove`](Self::remove) for a key that is hashed already.
    ///
    /// ```
    /// # use coua::{CuckooFilter, KeyHash};
    /// assert!(!CuckooFilter::new().remove_hash(KeyHash::from_u64(0)));
    /// ```
    #[inline]
    pub fn remove_hash(&mut self, hash: KeyHash) -> bool {
        self.remove_one(hash)
    }

    /// Removes all items. Memory stays as it is; [`compact`](Self::compact) gives it back. O(bytes).
    ///
    /// ```
    /// # let mut filter = coua::CuckooFilter::new();
    /// filter.insert("a")?;
    /// filter.clear();
    /// assert!(!filter.contains("a"));
    /// # Ok::<(), coua::Full>(())
    /// ```
    pub fn clear(&mut self) {
        self.table.segments.iter_mut().for_each(Segment::clear);
        self.side = Side::default();
        self.stored = 0;
    }
}

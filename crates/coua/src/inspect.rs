//! Looking into a filter: for pages that draw one, for debuggers, and for teaching.
//!
//! A filter consists of segments, a segment of buckets, and a bucket of a few slots. A slot holds all that the
//! filter knows of a key: the fingerprint, and in which of its two buckets the item lies.
//! `docs/theory.md` explains the words.
//!
//! ```
//! use coua::CuckooFilter;
//! use coua::inspect::Inspect;
//!
//! let mut filter = CuckooFilter::new();
//! filter.insert("kestrel")?;
//! let inside = Inspect::new(&filter);
//! let place = inside.locate("kestrel");
//! let bucket = inside.segment(place.segment).bucket(place.primary);
//! assert!(bucket.iter().flatten().any(|item| item.fingerprint == place.fingerprint));
//! # Ok::<(), coua::Full>(())
//! ```

use crate::cuckoo::CuckooFilter;
use crate::hash::{Key, KeyHash};
use crate::kernel::{ALTERNATE, LevelGeometry};
use crate::table;

/// A view into a filter. Each of the [generations](crate::window::Generations::generations) of a window has a
/// filter of its own.
#[derive(Clone, Copy, Debug)]
pub struct Inspect<'a> {
    filter: &'a CuckooFilter,
}

/// Where a key's item may lie, if it is in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The segment of both buckets.
    pub segment: usize,
    /// The bucket that the hash names.
    pub primary: u64,
    /// The other bucket, where the item goes if the first is full.
    pub alternate: u64,
    /// What is stored of the hash, besides its place.
    pub fingerprint: u64,
}

/// An item in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Item {
    /// The bucket that it belongs to. In overlapping buckets it may be seen from the next one, too.
    pub bucket: u64,
    /// Whether that is its alternate bucket.
    pub is_in_alternate: bool,
    /// What is stored of the hash, besides its place.
    pub fingerprint: u64,
    /// The smallest hash that the filter cannot tell from the key's.
    pub representative: KeyHash,
}

/// Copies of a key that are in no slot, but counted in the overflow table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overflow {
    /// The smallest hash that the filter cannot tell from the key's.
    pub representative: KeyHash,
    /// Copies beyond a bucket's worth.
    pub extra: u64,
    /// Copies for which no slot could be freed.
    pub overflowed: u64,
}

impl<'a> Inspect<'a> {
    /// Looks into a filter.
    pub fn new(filter: &'a CuckooFilter) -> Self {
        Self { filter }
    }

    /// All segments, in the order of the hashes that fall to them.
    pub fn segments(self) -> impl Iterator<Item = Segment<'a>> {
        let order = self.filter.directory().in_hash_order();
        order.map(move |(_, index)| self.segment(index as usize))
    }

    /// The segment with this number, as [`Place::segment`] has it.
    ///
    /// # Panics
    ///
    /// If there are not as many [segments](CuckooFilter::segments).
    pub fn segment(self, number: usize) -> Segment<'a> {
        assert!(number < self.filter.segments(), "there is no segment {number}");
        let index = number as u32;
        let (memory, level) = (self.filter.segment(index), self.filter.level_of(index));
        Segment { number, memory, level }
    }

    /// Where a key's item may lie.
    pub fn locate<K: Key>(self, key: K) -> Place {
        let probe = self.filter.locate(key.hash_with(self.filter.hasher()));
        Place {
            segment: probe.segment as usize,
            primary: probe.primary,
            alternate: probe.alternate,
            fingerprint: self.filter.level_of(probe.segment).fingerprint(probe.value),
        }
    }

    /// The overflow table, in the order of the hashes.
    pub fn overflow(self) -> impl Iterator<Item = Overflow> + 'a {
        self.filter.overflow().iter().map(|(representative, entry)| Overflow {
            representative,
            extra: entry.extra,
            overflowed: entry.overflowed,
        })
    }
}

/// An independent run of buckets.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    number: usize,
    memory: &'a table::Segment,
    level: &'a LevelGeometry,
}

impl Segment<'_> {
    /// Its number, as [`Place::segment`] has it.
    pub fn number(&self) -> usize {
        self.number
    }

    /// How many leading bits the hashes of its keys have in common.
    pub fn depth(&self) -> u32 {
        self.level.depth()
    }

    /// Those bits, and zeros after them.
    pub fn prefix(&self) -> KeyHash {
        KeyHash::from_u64(self.memory.prefix())
    }

    /// How many buckets it has.
    pub fn buckets(&self) -> u64 {
        self.level.buckets()
    }

    /// How many slots it has.
    pub fn slots(&self) -> u64 {
        self.level.slots()
    }

    /// Bits of a slot.
    pub fn slot_bits(&self) -> u32 {
        self.level.codec().slot_bits()
    }

    /// How many slots are in use.
    pub fn occupied(&self) -> u64 {
        u64::from(self.memory.occupied())
    }

    /// The slots of a bucket, each with its item.
    ///
    /// # Panics
    ///
    /// If there are not as many [buckets](Self::buckets).
    pub fn bucket(&self, number: u64) -> Vec<Option<Item>> {
        assert!(number < self.buckets(), "there is no bucket {number}");
        let codec = self.level.codec();
        let bucket = codec.read(self.memory, number);
        let item = |position| {
            let stored = codec.stored(self.memory, &bucket, position);
            let (bucket, value) = codec.own_bucket(number, position, stored);
            (stored != 0).then(|| self.item(bucket, value))
        };
        (0..codec.slots()).map(item).collect()
    }

    fn item(&self, bucket: u64, value: u64) -> Item {
        Item {
            bucket,
            is_in_alternate: value & ALTERNATE != 0,
            fingerprint: self.level.fingerprint(value),
            representative: self.level.representative(self.memory.prefix(), bucket, value),
        }
    }
}

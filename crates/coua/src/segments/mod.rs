//! The segments of a filter: the place of a key, and the content of its two buckets.
//!
//! [`Segments`] locate a key, put it into a slot, take it out, evict, split and join. They know no limit, no count of
//! items and no overflow table: an eviction chain that fails returns its item, and segments split on request.
//! The filter decides what an insert does.

mod evict;
mod split;
mod uniform;

use crate::error::OutOfMemory;
use crate::hash::KeyHash;
use crate::kernel::{Encoding, Geometry, KnownLevel, LevelGeometry, Pair, Place, Resolution};
use crate::simd::Avx2Bucket;
use crate::table::{Directory, Segment, SegmentMut, Table};

pub(crate) use evict::{EvictionChain, Step};
pub(crate) use split::Split;
pub(crate) use uniform::{KeyGroup, Lookups, Prefetcher, Preview, WIDTH, Wanted, bit};

/// The result of placing a key that may be present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    Placed,
    /// A slot holds the key. Nothing was changed.
    Held,
    /// Both its buckets are full.
    Blocked,
    /// The fast path cannot tell. Nothing was changed.
    Unclear,
}

/// What to do with a key that has no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IfAbsent {
    Place,
    /// Leave it: it may be refused.
    Leave,
}

/// Independent runs of buckets, which cover all hashes.
pub(crate) struct Segments {
    geometry: Geometry,
    /// By level (depth below the base depth): all levels in use, and the one below, to which segments may split.
    levels: Vec<LevelGeometry>,
    /// The level of all segments, while they have the same.
    uniform: Option<LevelGeometry>,
    /// The AVX2 comparison of a key with whole buckets, if it works in every segment.
    avx2: Option<&'static Avx2Bucket>,
    directory: Directory,
    table: Table,
}

/// Constructors.
impl Segments {
    /// Empty segments of this geometry.
    pub(crate) fn empty(geometry: Geometry) -> Result<Self, OutOfMemory> {
        // More than 2^64 slots have no level.
        let level = geometry.level(geometry.base_depth).ok_or(OutOfMemory { bytes: u64::MAX })?;
        let bytes = level.bytes();
        Self::of_table(geometry, Table::new(geometry.base_depth, bytes)?)
    }

    /// The segments of a table.
    pub(crate) fn of_table(geometry: Geometry, table: Table) -> Result<Self, OutOfMemory> {
        let levels = geometry.levels_below(table.deepest_level());
        let depth = |segment: &Segment| geometry.base_depth + u32::from(segment.level());
        let directory = Directory::of(table.iter().map(|it| (it.prefix(), depth(it))))?;
        let (uniform, avx2) = (None, None);
        let mut segments = Self { geometry, levels, uniform, avx2, directory, table };
        segments.note_levels();
        // Where the list of segments is in the order of their hashes, the directory need not be read.
        if segments.directory.is_in_order() {
            segments.table.detect_spacing();
        }
        Ok(segments)
    }

    /// A copy in memory of its own. O(bytes); segments without items are not copied.
    pub(crate) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let all = self.iter().map(|it| (it, self.bytes_of(it), it.prefix()));
        Self::of_table(self.geometry, Table::copy_of(&all.collect::<Vec<_>>())?)
    }

    /// Empties all segments.
    pub(crate) fn clear(&mut self) {
        self.table.iter_mut().for_each(|mut segment| segment.clear());
    }
}

/// The place of a key.
impl Segments {
    #[inline(always)]
    pub(crate) fn locate(&self, hash: KeyHash) -> Place {
        self.level_for(hash).locate(hash, self.directory.segment_of(hash))
    }

    /// Locates a key whose segment has this level.
    #[inline(always)]
    pub(crate) fn locate_by(&self, level: impl KnownLevel, hash: KeyHash) -> Place {
        let segment = self.directory.segment_of(hash);
        level.geometry().locate(hash, segment)
    }

    /// The number of a key's segment.
    #[inline(always)]
    pub(crate) fn segment_of(&self, hash: KeyHash) -> u32 {
        self.directory.segment_of(hash)
    }

    /// The level of a key's segment. Where all have one, it is known before the segment is.
    #[inline(always)]
    pub(crate) fn level_for(&self, hash: KeyHash) -> &LevelGeometry {
        let depth = |level: Option<LevelGeometry>| level.map(|level| level.depth);
        debug_assert_eq!(depth(self.uniform), depth(self.find_uniform()));
        match &self.uniform {
            Some(level) => level,
            None => self.level_of(self.directory.segment_of(hash)),
        }
    }

    /// The level of a segment.
    #[inline(always)]
    pub(crate) fn level_of(&self, segment: u32) -> &LevelGeometry {
        &self.levels[usize::from(self.table.segment(segment).level())]
    }

    /// The level of all segments, while they have the same.
    #[inline(always)]
    pub(crate) fn uniform(&self) -> Option<LevelGeometry> {
        self.uniform
    }

    /// The level of all segments, while they have the same, if its buckets are narrow.
    #[inline(always)]
    pub(crate) fn uniform_narrow(&self) -> Option<&LevelGeometry> {
        self.uniform.as_ref().filter(|level| level.codec.encoding == Encoding::Narrow)
    }

    /// The levels of the segments, by how often these were split, and the one below.
    pub(crate) fn levels(&self) -> &[LevelGeometry] {
        &self.levels
    }

    /// The AVX2 comparison of a key with whole buckets, if it works in every segment.
    #[inline(always)]
    pub(crate) fn avx2(&self) -> Option<&'static Avx2Bucket> {
        self.avx2
    }

    /// Computes [`uniform`](Self::uniform).
    fn find_uniform(&self) -> Option<LevelGeometry> {
        self.directory.is_uniform(self.table.len()).then(|| *self.level_of(0))
    }

    /// Records what all segments have in common; to be called after every change of a segment's depth.
    fn note_levels(&mut self) {
        self.uniform = self.find_uniform();
        let deepest = (self.directory.depth() - self.geometry.base_depth) as usize;
        let levels = match &self.uniform {
            Some(level) => std::slice::from_ref(level),
            None => &self.levels[..=deepest],
        };
        let is_whole = levels.iter().all(|level| level.codec.avx2.is_some());
        self.avx2 = levels[0].codec.avx2.filter(|_| is_whole);
    }

    /// The smallest hash of a key's cell.
    pub(crate) fn representative(&self, place: &Place) -> KeyHash {
        self.representative_in(place.segment, place.primary, place.value)
    }

    /// [`representative`](Self::representative) of a key whose hash is known.
    #[inline(always)]
    pub(crate) fn representative_of(&self, hash: KeyHash, place: &Place) -> KeyHash {
        match self.geometry.resolution {
            // Each distinguished hash has its own cell.
            Resolution::Prefix { bits } => {
                let first_bits = KeyHash::from_u64(hash.to_u64() & !u64::MAX.unbounded_shr(bits));
                debug_assert_eq!(first_bits, self.representative(place));
                first_bits
            }
            Resolution::Cells { .. } => self.representative(place),
        }
    }

    /// The smallest hash of the cell that a value in a bucket represents.
    pub(crate) fn representative_in(&self, segment: u32, bucket: u64, value: u64) -> KeyHash {
        let prefix = self.table.segment(segment).prefix();
        self.level_of(segment).representative(prefix, bucket, value)
    }

    /// The representatives of all items in a segment's slots, in the order of the slots.
    pub(crate) fn representatives(&self, index: u32) -> impl Iterator<Item = KeyHash> + '_ {
        let (segment, level) = (self.table.segment(index), self.level_of(index));
        let items = level.items(segment, 0..level.buckets).filter(|&(_, value)| value != 0);
        items.map(|(bucket, value)| level.representative(segment.prefix(), bucket, value))
    }
}

/// A key in the slots of its two buckets.
impl Segments {
    /// Whether a slot holds the key.
    #[inline(always)]
    pub(crate) fn holds(&self, level: impl KnownLevel, place: &Place) -> bool {
        let segment = self.table.segment(place.segment);
        match level.avx2() {
            Some(avx2) => avx2.contains(segment, place),
            None => {
                self.pair(level, place).contains(segment).unwrap_or_else(|| self.holds_slow(*place))
            }
        }
    }

    /// By value: a reference would force callers to spill the place.
    #[cold]
    fn holds_slow(&self, place: Place) -> bool {
        self.copies(&place) > 0
    }

    /// Reads both buckets of a key.
    #[inline(always)]
    fn pair(&self, level: impl KnownLevel, place: &Place) -> Pair {
        Pair::read(&level.geometry(), level.avx2(), self.table.segment(place.segment), place)
    }

    /// The number of slots that hold the key.
    pub(crate) fn copies(&self, place: &Place) -> u32 {
        self.pair(self.level_of(place.segment), place).count(self.table.segment(place.segment))
    }

    /// Whether a bucket of the key has a free slot.
    pub(crate) fn has_free_slot(&self, place: &Place) -> bool {
        self.pair(self.level_of(place.segment), place).has_free_slot()
    }

    /// Puts a key that is in no slot into a free slot of the emptier of its buckets; not where items of its segment are in
    /// no slot.
    #[inline(always)]
    pub(crate) fn place_if_absent(
        &mut self,
        level: impl KnownLevel,
        place: &Place,
        if_absent: IfAbsent,
    ) -> Attempt {
        let pair = self.pair(level, place);
        let segment = &mut self.table.segment_mut(place.segment);
        let Some(is_held) = pair.contains(segment) else { return Attempt::Unclear };
        if is_held {
            Attempt::Held
        } else if if_absent == IfAbsent::Leave || segment.overflowed() > 0 {
            Attempt::Unclear
        } else if pair.insert(segment) {
            Attempt::Placed
        } else {
            Attempt::Blocked
        }
    }

    /// Puts an item into a free slot of the emptier of its buckets; false if both are full.
    pub(crate) fn place(&mut self, place: &Place) -> bool {
        self.place_in(&{ *self.level_of(place.segment) }, place)
    }

    /// [`place`](Self::place) in a segment of this level.
    #[inline(always)]
    pub(crate) fn place_in(&mut self, level: impl KnownLevel, place: &Place) -> bool {
        self.pair(level, place).insert(&mut self.table.segment_mut(place.segment))
    }

    /// Takes a copy of the key out of its slot; `None` if undecided: then use [`remove_from_slot_slow`](Self::remove_from_slot_slow).
    #[inline(always)]
    pub(crate) fn remove_from_slot(
        &mut self,
        level: impl KnownLevel,
        place: &Place,
    ) -> Option<bool> {
        self.pair(level, place).remove(&mut self.table.segment_mut(place.segment))
    }

    /// [`remove_from_slot`](Self::remove_from_slot) that looks at every candidate.
    #[cold]
    pub(crate) fn remove_from_slot_slow(&mut self, place: Place) -> bool {
        self.pair(self.level_of(place.segment), &place)
            .remove_slow(&mut self.table.segment_mut(place.segment))
    }
}

/// Numbers, sizes and single segments.
impl Segments {
    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// The segment with this number.
    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> &Segment {
        self.table.segment(index)
    }

    /// One segment, to record what is outside of its slots.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, index: u32) -> SegmentMut<'_> {
        self.table.segment_mut(index)
    }

    /// All segments, in the order of their creation.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Segment> {
        self.table.iter()
    }

    /// The numbers of the segments, in the order of their hashes.
    pub(crate) fn in_hash_order(&self) -> impl Iterator<Item = u32> + '_ {
        self.directory.in_hash_order()
    }

    /// The segments in the order of their hashes, each with the bytes of its slots and another prefix.
    pub(crate) fn in_order(
        &self,
        prefix: impl Fn(u64) -> u64,
    ) -> impl Iterator<Item = (&Segment, u64, u64)> {
        let segments = self.in_hash_order().map(|index| self.get(index));
        segments.map(move |it| (it, self.bytes_of(it), prefix(it.prefix())))
    }

    /// The number of segments with hashes that begin with the first `bits` bits of `prefix`. O(directory / 2^`bits`).
    pub(crate) fn count_under(&self, prefix: u64, bits: u32) -> usize {
        self.directory.segments_under(prefix, bits)
    }

    /// Slots of all segments.
    pub(crate) fn slots(&self) -> u64 {
        self.table.len() as u64 * self.geometry.segment_slots()
    }

    /// The depth of a segment: the bits of the hash that all its keys share.
    pub(crate) fn depth_of(&self, index: u32) -> u32 {
        self.level_of(index).depth
    }

    /// Bits of a slot in the segments that were split most. O(segments).
    pub(crate) fn slot_bits(&self) -> u32 {
        self.levels[usize::from(self.table.deepest_level())].codec.slot_bits
    }

    /// Bytes of a segment's slots.
    pub(crate) fn bytes_of(&self, segment: &Segment) -> u64 {
        self.levels[usize::from(segment.level())].bytes()
    }

    /// A segment's packed slots.
    pub(crate) fn packed<'a>(&self, segment: &'a Segment) -> &'a [u8] {
        segment.bytes_at(0, self.bytes_of(segment) as usize)
    }

    /// Bytes of the slots of all segments: equal in equal filters, however they became so.
    pub(crate) fn slot_bytes(&self) -> u64 {
        self.table.iter().map(|segment| self.bytes_of(segment)).sum()
    }

    /// Bytes of memory: table, directory and levels.
    pub(crate) fn memory_bytes(&self) -> usize {
        let levels = self.levels.capacity() * size_of::<LevelGeometry>();
        self.table.memory_bytes() + self.directory.memory_bytes() + levels
    }

    /// Bytes of memory not from the heap. O(number of mappings).
    pub(crate) fn mapped_bytes(&self) -> usize {
        self.table.mapped_bytes()
    }
}

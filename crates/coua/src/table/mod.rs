//! The memory of segments, in a few large [arenas](arena).
//!
//! A [`Segment`] points into memory that its table owns, so it never leaves the table: others borrow it, as
//! `&Segment` or as [`SegmentMut`].

mod arena;
mod memory;
mod segment;

#[cfg(feature = "mmap")]
use std::{fs::File, io, ops::Range};

use crate::error::{OutOfMemory, repeated, reserve};
use crate::hash::KeyHash;
use arena::Arena;
use memory::Pool;
pub(crate) use segment::{Segment, SegmentMut, WORD, prefetch};

/// The segments of a filter and their memory.
#[derive(Default)]
pub(crate) struct Table {
    segments: Vec<Segment>,
    memory: Pool,
    spacing: Option<Spacing>,
}

/// Segments in memory in the order of their list, at equal distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spacing {
    /// The address of the first one's memory.
    pub(crate) first: u64,
    /// From one to the next, in bytes.
    pub(crate) step: u32,
    /// No segment has fewer bytes.
    pub(crate) least_bytes: u64,
}

#[expect(unsafe_code, reason = "segments point into arenas that the same table owns")]
// SAFETY: the pointers lead only into memory owned by the table, and no two segments overlap; shared access only reads.
unsafe impl Send for Table {}
#[expect(unsafe_code, reason = "segments point into arenas that the same table owns")]
// SAFETY: as for `Send`; every write takes `&mut`.
unsafe impl Sync for Table {}

impl Table {
    /// 2^depth empty segments of `bytes` bytes each, in hash order.
    pub(crate) fn new(depth: u32, bytes: u64) -> Result<Self, OutOfMemory> {
        let count = 1usize << depth;
        let total = (count as u64).saturating_mul(bytes);
        // One request: the system refuses one that is too large, but grants too many small ones.
        let mut table = Self::with_capacity(total)?;
        table.reserve_segments(count)?;
        for number in 0..count as u64 {
            table.add_segment(bytes, (number << 1) << (63 - depth), 0)?;
        }
        Ok(table)
    }

    /// An empty table with memory for `bytes` bytes of segments.
    pub(crate) fn with_capacity(bytes: u64) -> Result<Self, OutOfMemory> {
        let bytes = usize::try_from(bytes).map_err(|_| OutOfMemory { bytes })?;
        Ok(Self::in_arena(Arena::new(bytes)?))
    }

    /// No segments yet; those added will be consecutive in these bytes of a file.
    #[cfg(feature = "mmap")]
    pub(crate) fn map_file(file: &File, bytes: &Range<u64>) -> io::Result<Self> {
        Ok(Self::in_arena(Arena::of_file(file, bytes)?))
    }

    fn in_arena(arena: Arena) -> Self {
        let mut table = Self::default();
        table.memory.add(arena);
        table
    }

    /// The number of segments.
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    #[inline(always)]
    pub(crate) fn segment(&self, index: u32) -> &Segment {
        &self.segments[index as usize]
    }

    #[inline(always)]
    pub(crate) fn segment_mut(&mut self, index: u32) -> SegmentMut<'_> {
        SegmentMut(&mut self.segments[index as usize])
    }

    /// Two different segments.
    pub(crate) fn two_mut(&mut self, indices: [u32; 2]) -> [SegmentMut<'_>; 2] {
        let segments = self.segments.get_disjoint_mut(indices.map(|index| index as usize));
        segments.expect("two different segments").map(SegmentMut)
    }

    /// All segments, in the order in which they were made.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Segment> {
        self.segments.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = SegmentMut<'_>> {
        self.segments.iter_mut().map(SegmentMut)
    }

    /// Makes the list long enough for `count` more segments, and no longer.
    pub(crate) fn reserve_segments(&mut self, count: usize) -> Result<(), OutOfMemory> {
        reserve(&mut self.segments, count)
    }

    /// Takes memory for one more segment of `bytes` bytes, and for those after it, unless there is some.
    pub(crate) fn reserve_segment(&mut self, bytes: u64) -> Result<(), OutOfMemory> {
        let refused = OutOfMemory { bytes };
        self.memory.reserve(usize::try_from(bytes).map_err(|_| refused)?)?;
        self.segments.try_reserve(1).map_err(|_| refused)
    }

    /// Appends an empty segment; its index is the number of segments before.
    pub(crate) fn add_segment(
        &mut self,
        bytes: u64,
        prefix: u64,
        level: u8,
    ) -> Result<u32, OutOfMemory> {
        let index = u32::try_from(self.segments.len()).map_err(|_| OutOfMemory { bytes })?;
        self.reserve_segment(bytes)?;
        let bytes = bytes as usize;
        let base = self.memory.alloc(bytes);
        self.segments.push(Segment::new(base, bytes, prefix, level));
        self.spacing = None;
        Ok(index)
    }

    /// Determines whether the segments are at equal distances; after that they must keep their order.
    /// O(segments).
    pub(crate) fn detect_spacing(&mut self) {
        let address = |segment: &Segment| segment.address() as u64;
        let Some(first) = self.segments.first().map(address) else { return };
        let step = self.segments.get(1).map_or(0, |second| address(second).wrapping_sub(first));
        let Ok(step) = u32::try_from(step) else { return };
        let place = |number: usize| first.wrapping_add(number as u64 * u64::from(step));
        let mut places = self.segments.iter().map(address).enumerate();
        let is_even = places.all(|(number, address)| address == place(number));
        let least = self.segments.iter().map(Segment::len).min();
        let least_bytes = least.unwrap_or(0) as u64;
        self.spacing = is_even.then_some(Spacing { first, step, least_bytes });
    }

    /// Set by [`detect_spacing`](Self::detect_spacing), until a segment is added.
    pub(crate) fn spacing(&self) -> Option<Spacing> {
        self.spacing
    }

    /// The most that a segment lies below the base depth. O(segments).
    pub(crate) fn deepest_level(&self) -> u8 {
        self.segments.iter().map(Segment::level).max().unwrap_or(0)
    }

    /// Bytes of all arenas and of the list of segments.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory.bytes() + self.segments.capacity() * size_of::<Segment>()
    }

    /// Bytes of arenas not from the heap. O(arenas).
    pub(crate) fn mapped_bytes(&self) -> usize {
        self.memory.mapped_bytes()
    }

    /// A copy of segments in fresh memory. Each comes with the bytes of its slots and the prefix of its copy.
    pub(crate) fn copy_of(segments: &[(&Segment, u64, u64)]) -> Result<Self, OutOfMemory> {
        let mut copy = Self::with_capacity(segments.iter().map(|(_, bytes, _)| bytes).sum())?;
        copy.reserve_segments(segments.len())?;
        for &(source, bytes, prefix) in segments {
            let index = copy.add_segment(bytes, prefix, source.level())?;
            copy.segment_mut(index).copy_from(source);
        }
        Ok(copy)
    }
}

/// From a hash prefix to its segment: 2^bits entries, always; a segment of depth d has the 2^(bits - d) entries that start with its prefix.
pub(crate) struct Directory {
    bits: u32,
    entries: Vec<u32>,
}

impl Directory {
    /// The directory of segments with these prefixes and depths, which cover all hashes and are numbered in this
    /// order.
    pub(crate) fn of(
        segments: impl Iterator<Item = (u64, u32)> + Clone,
    ) -> Result<Self, OutOfMemory> {
        let bits = segments.clone().map(|(_, depth)| depth).max().unwrap_or(0);
        let mut directory = Self { bits, entries: repeated(0, 1 << bits)? };
        for (number, (prefix, depth)) in (0..).zip(segments) {
            directory.assign(prefix, depth, number);
        }
        Ok(directory)
    }

    #[inline(always)]
    #[expect(unsafe_code, reason = "an unchecked index: each single call goes through here")]
    pub(crate) fn segment_of(&self, hash: KeyHash) -> u32 {
        // The first `bits` bits: a multiplication by 2^bits takes fewer instructions than two shifts.
        let prefix =
            ((u128::from(hash.to_u64()) * u128::from(self.entries.len() as u64)) >> 64) as usize;
        debug_assert_eq!(self.entries.len(), 1 << self.bits);
        // SAFETY: the product is less than 2^64 times the number of entries.
        unsafe { *self.entries.get_unchecked(prefix) }
    }

    /// The number of prefix bits, and the segment of each prefix.
    pub(crate) fn entries(&self) -> (u32, &[u32]) {
        (self.bits, &self.entries)
    }

    /// The depth of the deepest segments.
    pub(crate) fn depth(&self) -> u32 {
        self.bits
    }

    /// Whether no segment has more than one entry: then all have the same depth.
    pub(crate) fn is_uniform(&self, segments: usize) -> bool {
        self.entries.len() == segments
    }

    /// Whether each prefix has the segment of its own number. O(segments).
    pub(crate) fn is_in_order(&self) -> bool {
        (0..).zip(&self.entries).all(|(number, &segment)| number == segment)
    }

    /// The segments in the order of their hashes.
    pub(crate) fn in_hash_order(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries.chunk_by(u32::eq).map(|entries| entries[0])
    }

    /// How many segments hold hashes that begin with the first `bits` bits of `prefix`. O(entries / 2^`bits`).
    pub(crate) fn segments_under(&self, prefix: u64, bits: u32) -> usize {
        let entries = 1 << self.bits.saturating_sub(bits);
        let first = self.index(prefix) / entries * entries;
        self.entries[first..first + entries].chunk_by(u32::eq).count()
    }

    /// Takes the memory for a split of a segment of this depth.
    pub(crate) fn reserve_split(&mut self, depth: u32) -> Result<(), OutOfMemory> {
        let wanted = if depth == self.bits { self.entries.len() } else { 0 };
        reserve(&mut self.entries, wanted)
    }

    /// Gives the upper half of the segment that holds `prefix`, `depth` bits deep, to `upper`. Its memory has
    /// been [taken](Self::reserve_split).
    pub(crate) fn split(&mut self, prefix: u64, depth: u32, upper: u32) {
        if depth == self.bits {
            let count = self.entries.len();
            self.entries.resize(2 * count, 0);
            for index in (0..count).rev() {
                let segment = self.entries[index];
                self.entries[2 * index..2 * index + 2].fill(segment);
            }
            self.bits += 1;
        }
        self.assign(prefix | 1 << (63 - depth), depth + 1, upper);
    }

    /// Gives all hashes that begin with the first `depth` bits of `prefix` this segment.
    pub(crate) fn assign(&mut self, prefix: u64, depth: u32, segment: u32) {
        let first = self.index(prefix);
        self.entries[first..first + (1 << (self.bits - depth))].fill(segment);
    }

    fn index(&self, prefix: u64) -> usize {
        ((prefix >> 1) >> (63 - self.bits)) as usize
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_divide_exactly_the_entries_of_their_segment() {
        let upper_half = 1u64 << 63;
        let mut directory = Directory::of([(0, 1), (upper_half, 1)].into_iter()).unwrap();
        for (depth, upper) in [(1, 2), (2, 3)] {
            directory.reserve_split(depth).unwrap();
            directory.split(upper_half, depth, upper);
        }
        assert_eq!(directory.in_hash_order().collect::<Vec<_>>(), [0, 1, 3, 2]);
        let prefixes = [0, upper_half, 5 << 61, 6 << 61].map(KeyHash::from_u64);
        assert_eq!(prefixes.map(|prefix| directory.segment_of(prefix)), [0, 1, 3, 2]);
        assert_eq!(directory.segment_of(KeyHash::from_u64(u64::MAX)), 2);
        assert_eq!(directory.segment_of(KeyHash::from_u64(0)), 0);
        let counted = |bits| prefixes.map(|prefix| directory.segments_under(prefix.to_u64(), bits));
        assert_eq!([counted(0), counted(1), counted(2)], [[4; 4], [1, 3, 3, 3], [1, 2, 2, 1]]);
        assert_eq!([counted(3), counted(9)], [[1; 4]; 2]);
        let segments = [(0, 1), (upper_half, 3), (5 << 61, 3), (6 << 61, 2)];
        let same = Directory::of(segments.into_iter()).unwrap();
        assert_eq!(same.entries, [0, 0, 0, 0, 1, 2, 3, 3]);
    }
}

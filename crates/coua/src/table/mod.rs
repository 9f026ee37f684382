//! The memory of segments, which lie in a few large [arenas](arena).
//!
//! A [`Segment`] points into memory that its table owns, so it never leaves the table: others borrow it, as
//! `&Segment` or as [`SegmentMut`].

mod arena;
mod directory;
mod holes;
mod segment;

#[cfg(feature = "mmap")]
use std::fs::File;
#[cfg(feature = "mmap")]
use std::io;
#[cfg(feature = "mmap")]
use std::ops::Range;
use std::sync::Arc;

use crate::error::OutOfMemory;
#[cfg(feature = "mmap")]
pub use arena::avoid_huge_pages;
use arena::{Arena, HUGE_PAGE};
pub(crate) use directory::Directory;
use holes::Holes;
pub(crate) use segment::{Segment, SegmentMut, WORD, prefetch};

/// Files are mapped from a multiple of this on: the largest page size in use, and the mapping unit of Windows.
/// So a mapping begins with a page, and advice about it affects nothing else.
#[cfg(feature = "mmap")]
const FILE_STEP: u64 = 64 << 10;
/// Arenas have as many bytes, or a multiple.
const CACHE_LINE: usize = 64;
/// A growing table takes this fraction of its size at a time, in whole huge pages, so that memory has
/// no steps above a huge page or 1 %.
const GROWTH_FRACTION: usize = 100;

/// The segments of a filter and the memory they lie in.
#[derive(Debug, Default)]
pub(crate) struct Table {
    segments: Vec<Segment>,
    arenas: Vec<Arena>,
    /// The arenas of a table that was split into parts, of which this is one. Only kept alive: each part has
    /// segments of its own there, and takes new ones from its own arenas.
    common: Option<Arc<Vec<Arena>>>,
    spacing: Option<Spacing>,
    /// No segment has fewer bytes.
    least_bytes: usize,
    /// Unused bytes at the end of the last arena.
    free: usize,
    holes: Holes,
    total: usize,
}

/// Segments that lie in memory in the order of their list, at equal distances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spacing {
    /// The address of the first one's memory.
    pub(crate) first: u64,
    /// From one to the next, in bytes.
    pub(crate) step: u32,
}

/// Where the addresses of all segments' memory are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    pub(crate) segments: u64,
    /// The address of the first segment's base, and from one base to the next.
    pub(crate) first_base: u64,
    pub(crate) base_step: u64,
    pub(crate) spacing: Option<Spacing>,
    /// Bytes that every segment has.
    pub(crate) least_bytes: u64,
}

#[expect(unsafe_code, reason = "segments point into arenas that the same table owns")]
// SAFETY: the pointers lead only into memory owned by the table, alone or together with other parts of
// one that was split, and no two segments overlap; shared access only reads.
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

    /// No segments yet, and memory for `bytes` bytes of them.
    pub(crate) fn with_capacity(bytes: u64) -> Result<Self, OutOfMemory> {
        let mut table = Self::default();
        table.add_arena(usize::try_from(bytes).map_err(|_| OutOfMemory { bytes })?)?;
        Ok(table)
    }

    /// No segments yet; those to be added lie one after the other in these bytes of a file.
    #[cfg(feature = "mmap")]
    pub(crate) fn map_file(file: &File, bytes: &Range<u64>) -> io::Result<Self> {
        let begin = bytes.start / FILE_STEP * FILE_STEP;
        let lengths = [bytes.start, begin].map(|from| usize::try_from(bytes.end - from));
        let [Ok(total), Ok(mapped)] = lengths else {
            return Err(io::ErrorKind::OutOfMemory.into());
        };
        let arena = Arena::of_file(file, begin, mapped)?;
        Ok(Self { arenas: vec![arena], free: total, total, ..Self::default() })
    }

    /// Segments so far.
    #[inline(always)]
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

    /// Gives the segments other prefixes.
    pub(crate) fn map_prefixes(&mut self, prefix: impl Fn(u64) -> u64) {
        for segment in &mut self.segments {
            segment.set_prefix(prefix(segment.prefix()));
        }
    }

    /// Makes the list long enough for so many more segments, and no longer.
    pub(crate) fn reserve_segments(&mut self, count: usize) -> Result<(), OutOfMemory> {
        let bytes = count.saturating_mul(size_of::<Segment>()) as u64;
        self.segments.try_reserve_exact(count).map_err(|_| OutOfMemory { bytes })
    }

    fn add_arena(&mut self, bytes: usize) -> Result<(), OutOfMemory> {
        let arena = Arena::new(bytes)?;
        self.free = arena.len();
        self.total += arena.len();
        self.arenas.push(arena);
        Ok(())
    }

    /// Bytes that the list of segments takes for one more: it doubles.
    fn list_bytes(&self) -> u64 {
        let is_full = self.segments.len() == self.segments.capacity();
        if is_full { (self.segments.len().max(4) * size_of::<Segment>()) as u64 } else { 0 }
    }

    /// Bytes of memory that one more segment of `bytes` bytes takes at least.
    pub(crate) fn bytes_for(&self, bytes: u64) -> u64 {
        let arena = if (self.free as u64) < bytes { bytes } else { 0 };
        arena.saturating_add(self.list_bytes())
    }

    /// Takes memory for a segment of `bytes` bytes and for those after it, unless there is some: at most
    /// `most` bytes, or `bytes` if that is more.
    fn reserve_bytes(&mut self, bytes: u64, most: u64) -> Result<(), OutOfMemory> {
        let wanted = usize::try_from(bytes).map_err(|_| OutOfMemory { bytes })?;
        if self.free >= wanted || self.holes.have(wanted) {
            return Ok(());
        }
        let pages = (self.total / GROWTH_FRACTION / HUGE_PAGE).max(1);
        let step = if self.total < HUGE_PAGE { 0 } else { pages * HUGE_PAGE };
        let most = most.saturating_sub(self.list_bytes());
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        // An arena from the heap has whole cache lines.
        let step = step.min(most / CACHE_LINE * CACHE_LINE);
        self.add_arena(wanted.max(step))
    }

    /// Takes memory for one more segment, and for those after it, as [`reserve_bytes`](Self::reserve_bytes) does.
    pub(crate) fn reserve_segment(&mut self, bytes: u64, most: u64) -> Result<(), OutOfMemory> {
        self.reserve_bytes(bytes, most)?;
        self.segments.try_reserve(1).map_err(|_| OutOfMemory { bytes })
    }

    /// Appends an empty segment; its index is the number of segments before.
    pub(crate) fn add_segment(
        &mut self,
        bytes: u64,
        prefix: u64,
        level: u8,
    ) -> Result<u32, OutOfMemory> {
        let refused = OutOfMemory { bytes };
        let wanted = usize::try_from(bytes).map_err(|_| refused)?;
        let index = u32::try_from(self.segments.len()).map_err(|_| refused)?;
        self.reserve_segment(bytes, u64::MAX)?;
        if let Some(base) = self.holes.take(wanted) {
            self.segments.push(Segment::new(base, wanted, prefix, level));
            self.segment_mut(index).clear();
        } else {
            let arena =
                self.arenas.last_mut().expect("an arena was added where there was no space");
            let offset = arena.len() - self.free;
            self.free -= wanted;
            self.segments.push(Segment::new(arena.base_at(offset), wanted, prefix, level));
        }
        self.spacing = None;
        self.least_bytes = if index == 0 { wanted } else { self.least_bytes.min(wanted) };
        Ok(index)
    }

    /// Removes a segment, whose index the last one gets, and gives its memory back: the arena that it was the last
    /// one in, or its pages, or a hole for the next segment that fits.
    pub(crate) fn remove_segment(&mut self, index: u32) {
        let segment = self.segments.swap_remove(index as usize);
        // Vectors may read as far in every segment.
        self.least_bytes = self.segments.iter().map(Segment::len).min().unwrap_or(0);
        let holder = self.arenas.iter().position(|arena| arena.holds(segment.address()));
        // The arenas of a table that was split are not its own.
        let Some(holder) = holder else { return };
        let arena = &mut self.arenas[holder];
        if self.segments.iter().any(|other| arena.holds(other.address())) {
            let discarded = arena.discard(segment.address(), segment.len());
            self.holes.add(segment.base(), segment.len(), discarded);
            return;
        }
        self.holes.forget(arena);
        self.total -= arena.len();
        if holder + 1 == self.arenas.len() {
            self.free = 0;
        }
        self.arenas.remove(holder);
    }

    /// Appends a copy of another table's segment, with the first `bytes` bytes and another prefix.
    pub(crate) fn add_copy(
        &mut self,
        source: &Segment,
        bytes: u64,
        prefix: u64,
    ) -> Result<(), OutOfMemory> {
        let index = self.add_segment(bytes, prefix, source.level())?;
        self.segment_mut(index).copy_from(source, bytes as usize);
        Ok(())
    }

    /// Determines whether the segments lie at equal distances; they must keep their order from then on.
    /// O(segments).
    pub(crate) fn detect_spacing(&mut self) {
        let address = |segment: &Segment| segment.address() as u64;
        let Some(first) = self.segments.first().map(address) else { return };
        let step = self.segments.get(1).map_or(0, |second| address(second).wrapping_sub(first));
        let Ok(step) = u32::try_from(step) else { return };
        let place = |number: usize| first.wrapping_add(number as u64 * u64::from(step));
        let mut places = self.segments.iter().map(address).enumerate();
        let is_even = places.all(|(number, address)| address == place(number));
        self.spacing = is_even.then_some(Spacing { first, step });
    }

    /// Where the segments' memory is, for vectors.
    #[inline(always)]
    pub(crate) fn addresses(&self) -> Addresses {
        Addresses {
            segments: self.segments.len() as u64,
            first_base: self.segments.as_ptr() as u64 + Segment::BASE_OFFSET as u64,
            base_step: size_of::<Segment>() as u64,
            spacing: self.spacing,
            least_bytes: self.least_bytes as u64,
        }
    }

    /// Splits a table into `parts` tables with equally many segments, in their order; there must be so many.
    /// The unused rest of the last arena stays unused.
    pub(crate) fn split_into(mut self, parts: usize) -> Vec<Self> {
        let each = self.segments.len() / parts;
        assert!(each * parts == self.segments.len() && self.common.is_none());
        #[expect(
            clippy::arc_with_non_send_sync,
            reason = "tables are `Send`, for the reasons given there"
        )]
        let common = Arc::new(self.arenas);
        let mut segments = self.segments.drain(..);
        let part = |_| {
            let segments: Vec<_> = segments.by_ref().take(each).collect();
            let total = segments.iter().map(Segment::len).sum();
            let (common, least_bytes) = (Some(Arc::clone(&common)), self.least_bytes);
            Self { segments, common, least_bytes, total, ..Self::default() }
        };
        (0..parts).map(part).collect()
    }

    /// The segments of several tables as one table, in the order of their prefixes. The unused rests of their
    /// arenas stay unused.
    pub(crate) fn joined(tables: Vec<Self>) -> Self {
        let mut all = Self { least_bytes: usize::MAX, ..Self::default() };
        all.segments.reserve_exact(tables.iter().map(Self::len).sum());
        for table in tables {
            all.segments.extend(table.segments);
            all.arenas.extend(table.arenas);
            all.total += table.total - table.holes.discarded();
            all.least_bytes = all.least_bytes.min(table.least_bytes);
            all.common = table.common.or(all.common);
        }
        if let Some(common) = all.common.take() {
            match Arc::try_unwrap(common) {
                Ok(arenas) => all.arenas.extend(arenas),
                Err(still_common) => all.common = Some(still_common),
            }
        }
        all.segments.sort_unstable_by_key(Segment::prefix);
        all
    }

    /// For each of these segments, the lowest address of itself and of those after it in `order`. Segments
    /// may lie in memory in any order.
    pub(crate) fn lowest_from(&self, order: &[u32]) -> Vec<*const u8> {
        let address = |&index: &u32| self.segments[index as usize].address();
        let mut lowest: Vec<_> = order.iter().map(address).collect();
        for number in (1..lowest.len()).rev() {
            lowest[number - 1] = lowest[number - 1].min(lowest[number]);
        }
        lowest
    }

    /// Gives back the memory before an address, in the arena that it lies in, as far as that is mapped: no
    /// segment there may be used any more.
    pub(crate) fn discard_before(&mut self, address: *const u8) {
        for arena in &mut self.arenas {
            arena.discard_before(address);
        }
    }

    /// The most that a segment lies below the base depth. O(segments).
    pub(crate) fn deepest_level(&self) -> u8 {
        self.segments.iter().map(Segment::level).max().unwrap_or(0)
    }

    /// Bytes of all arenas and of the list of segments.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.total - self.holes.discarded() + self.segments.capacity() * size_of::<Segment>()
    }

    /// Bytes of arenas that do not come from the heap. O(arenas).
    pub(crate) fn mapped_bytes(&self) -> usize {
        let common = self.common.iter().flat_map(|arenas| arenas.iter());
        let mapped: usize = self.arenas.iter().chain(common).map(Arena::mapped_bytes).sum();
        mapped - self.holes.discarded()
    }

    /// A copy in fresh memory, without the unused rest of the last arena.
    pub(crate) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut copy = Self::default();
        copy.add_arena(self.segments.iter().map(Segment::len).sum())?;
        copy.reserve_segments(self.segments.len())?;
        for source in &self.segments {
            copy.add_copy(source, source.len() as u64, source.prefix())?;
        }
        Ok(copy)
    }
}

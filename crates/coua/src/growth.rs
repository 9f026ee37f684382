//! Growth, without the keys.
//!
//! A split puts the items of one segment into two, one bit deeper ([`split`](crate::split)). A small filter
//! is [rebuilt](crate::rebuild) instead, and so is one whose fingerprints have no bit left to give.

use crate::error::OutOfMemory;
use crate::filter::{CuckooFilter, WhenFull};
use crate::geometry::{Geometry, Probe, Shape};
use crate::relocate::{LEAST_USE, Relocation, Step};
use crate::shapes::{ByLevel, Shapes};
use crate::sizing::{self, GROWING_SEGMENT_SLOTS, fitted};

/// How much deeper than in a balanced tree a segment may lie, once it is deeper than [`FREE_DEPTH`].
const MAX_IMBALANCE: u32 = 4;
/// Any segment may lie as deep, so that keys may come in the order of their hashes: a directory of
/// 256 KiB.
const FREE_DEPTH: u32 = 16;
/// Standard deviations by which a segment exceeds its share: once in 300,000.
const MOST_DEVIATION: f64 = 4.5;
/// Homeless items that seek a slot in vain before the rest stays where it is.
const MOST_WITHOUT_ROOM: u32 = 64;
/// Directory entries are 4 bytes each: this is a limit of 1 GiB.
pub(crate) const MAX_DEPTH: u32 = 28;

/// The depth that no segment of a filter with as many segments exceeds. Keys that share a long prefix
/// (made by somebody who knows the seed) end in `Full`, not in endless splitting.
pub(crate) fn deepest(segments: usize) -> u32 {
    (segments.ilog2() + MAX_IMBALANCE).clamp(FREE_DEPTH, MAX_DEPTH)
}

/// What a shard knows of the whole, whose limits it must keep. All zero in a filter that stands alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Whole {
    /// Bits of the hash before those that this filter sees.
    pub(crate) depth: u32,
    /// Segments of the other shards.
    pub(crate) other_segments: usize,
    /// Homeless items that this filter takes beyond its own limit.
    pub(crate) spare_homes: u64,
}

impl CuckooFilter {
    /// Slots in use from which a segment splits rather than relocates.
    pub(crate) fn split_at(&self) -> u64 {
        let load = sizing::loads(self.geometry.layout, self.geometry.slots_per_bucket).split;
        (self.geometry.segment_slots() as f64 * load) as u64
    }

    /// The most slots in use that chance brings about in a segment which was not split, while the filter holds
    /// what it is planned for.
    pub(crate) fn most_by_chance(&self) -> u64 {
        let load = sizing::loads(self.geometry.layout, self.geometry.slots_per_bucket).growing;
        let planned = self.geometry.segment_slots() as f64 * load;
        (planned + MOST_DEVIATION * planned.sqrt()) as u64
    }

    pub(crate) fn may_split(&self, segment: u32) -> bool {
        let level = usize::from(self.table.segments[segment as usize].level);
        let depth = self.shapes[level].depth;
        let deepest = deepest(self.table.segments.len() + self.whole.other_segments);
        !self.is_last_level(segment) && depth + self.whole.depth < deepest
    }

    pub(crate) fn may_grow(&self, segment: u32) -> bool {
        self.policy.when_full != WhenFull::Refuse
            && (self.grows_whole(segment) || self.may_split(segment))
    }

    /// Whether growth in a segment rebuilds the whole filter. The shards of a shared filter must keep segments
    /// of one size.
    fn grows_whole(&self, segment: u32) -> bool {
        self.is_small() || self.is_resizable() && self.whole.depth == 0 && self.lacks_bits(segment)
    }

    /// Whether growth in some segment may rebuild the whole filter. O(1): every batch asks.
    pub(crate) fn may_double(&self) -> bool {
        let last = self.shapes[self.shapes.len() - 1].depth;
        let lacks_bits =
            || self.directory.depth() == last && self.geometry.shape(last + 1).is_none();
        self.is_resizable() && self.whole.depth == 0 && (self.is_small() || lacks_bits())
    }

    /// Whether the fingerprints of a segment have no bit left to give, in a filter that is used and most of
    /// whose segments are as deep: keys that share a prefix must not buy memory for all. Twice the slots then
    /// hold all items, however they are spread.
    fn lacks_bits(&self, segment: u32) -> bool {
        let level = u32::from(self.table.segments[segment as usize].level);
        let most_segments = 1 << (self.geometry.base_depth + level);
        self.is_last_level(segment)
            && 2 * self.table.segments.len() >= most_segments
            && self.stored >= self.slots() / LEAST_USE
    }

    pub(crate) fn is_last_level(&self, segment: u32) -> bool {
        let level = usize::from(self.table.segments[segment as usize].level);
        level + 1 == self.shapes.len()
    }

    /// Whether the whole filter is rebuilt faster than users notice, and then has larger segments.
    pub(crate) fn is_small(&self) -> bool {
        self.is_resizable() && self.whole.depth == 0 && self.slots() <= GROWING_SEGMENT_SLOTS
    }

    /// Lets the filter grow to so many bytes of memory at most, as [`memory_bytes`](Self::memory_bytes)
    /// counts them; `None`: to any number, as before the first call. O(1).
    ///
    /// What would exceed the limit is refused: growth, [`reserve`](Self::reserve), and the fifth copy of a
    /// key or a later one (with four slots in a bucket), if it is the first that has no slot. Everything else goes
    /// on, also in a filter that is larger already. Until the filter has grown, each item that its memory was
    /// [planned](Self::capacity) for goes in, also the few of them that have no slot in the end; later, those
    /// that fall to segments with room.
    /// While a filter is rebuilt, its old table is not counted. A clone has the same limit;
    /// snapshots, conversions and shared filters have none.
    ///
    /// ```
    /// use coua::{CuckooFilter, FullReason};
    /// let mut filter = CuckooFilter::new();
    /// filter.set_memory_limit(Some(1 << 20));
    /// let full = (0u32..).find_map(|key| filter.insert(key.to_le_bytes()).err());
    /// assert_eq!(full.map(|full| full.reason), Some(FullReason::MemoryLimit));
    /// assert!((900_000..=1 << 20).contains(&filter.memory_bytes()));
    /// ```
    pub fn set_memory_limit(&mut self, limit: Option<u64>) {
        self.memory_limit = limit.unwrap_or(u64::MAX);
    }

    /// Bytes that the filter may still take.
    pub(crate) fn memory_left(&self) -> u64 {
        match self.memory_limit {
            // Not less: what is asked for may be as much, where it has no number.
            u64::MAX => u64::MAX,
            limit => limit.saturating_sub(self.memory_bytes() as u64),
        }
    }

    /// Whether so many inserts, each of which may split a segment, do not exceed the limit of memory.
    pub(crate) fn is_far_from_memory_limit(&self, inserts: usize) -> bool {
        // Twice: the ends of arenas may be too short for a segment. Once more what there is: the list of
        // segments and the directory may double, or the whole filter.
        let segment = self.shapes[0].bytes(self.geometry.segment_slots());
        let splits = segment.saturating_mul(2 * inserts as u64);
        self.memory_left() >= splits.saturating_add(self.memory_bytes() as u64)
    }

    /// Bytes that growth in a segment takes at least.
    pub(crate) fn growth_bytes(&self, segment: u32) -> u64 {
        if self.grows_whole(segment) {
            return self.bytes_to_become(&self.doubled());
        }
        let level = usize::from(self.table.segments[segment as usize].level);
        let bytes = self.shapes[level + 1].bytes(self.geometry.segment_slots());
        let directory = self.directory.bytes_to_split(self.shapes[level].depth);
        let is_deepest = level + 2 == self.shapes.len();
        let shape = if is_deepest { size_of::<Shape>() as u64 } else { 0 };
        self.table.bytes_for(bytes).saturating_add(directory + shape)
    }

    /// Bytes that a table of another geometry takes beyond those of this one.
    pub(crate) fn bytes_to_become(&self, geometry: &Geometry) -> u64 {
        let bytes = self.table.memory_bytes() + self.directory.memory_bytes();
        sizing::table_bytes(geometry).saturating_sub(bytes as u64)
    }

    /// Makes room in a segment: splits it, or doubles the filter. Places found before are stale.
    pub(crate) fn grow(&mut self, segment: u32) -> Result<(), OutOfMemory> {
        if self.grows_whole(segment) { self.move_to(self.doubled()) } else { self.split(segment) }
    }

    /// The geometry that a filter grows to as a whole.
    fn doubled(&self) -> Geometry {
        let items = if self.is_small() {
            2 * self.slots()
        } else {
            (2.0 * self.slots() as f64 * sizing::design_load(&self.geometry)) as u64
        };
        fitted(self.geometry, items)
    }

    /// Gives slots to the homeless copies of keys under `prefix`, until too many find none: a forged
    /// snapshot may have millions of them, each of which would seek its way to the end.
    pub(crate) fn settle_side(&mut self, prefix: u64, depth: u32) {
        let homeless: Vec<_> =
            self.side.under(prefix, depth).filter(|(_, a)| a.homeless > 0).collect();
        let mut without_room = 0;
        for (hash, aside) in homeless {
            for _ in 0..aside.homeless {
                if without_room == MOST_WITHOUT_ROOM {
                    return;
                }
                let before = self.side.homeless();
                self.side.take_homeless(hash);
                self.put_back(ByLevel, &self.locate(hash));
                without_room += u32::from(self.side.homeless() == before);
            }
        }
    }

    /// Puts an item that is counted already into a slot.
    #[inline(always)]
    pub(crate) fn put_back(&mut self, shapes: impl Shapes, probe: &Probe) {
        if self.place(shapes, probe) == Step::Done {
            return;
        }
        let relocation = Relocation::new(probe);
        // Where many items have found no room, one more would seek it to the end in vain.
        let is_hopeless = self.table.segments[probe.segment as usize].overfull
            && self.side.homeless() >= self.homeless_limit();
        if is_hopeless { self.make_homeless(relocation) } else { self.finish(shapes, relocation) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyHash;
    use crate::side::Aside;
    use std::time::{Duration, Instant};

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn which_filters_may_double_is_known_without_a_look_at_their_segments() {
        let mix = |n: u64| KeyHash::from_u64(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut seen = [false; 2];
        for (hash_bits, capacity) in [(20, 15_000), (20, 100_000), (22, 300_000), (24, 15_000)] {
            let builder = CuckooFilter::builder().hash_bits(hash_bits).capacity(capacity);
            let mut filter = builder.build().unwrap();
            for n in 0..400_000 {
                filter.insert_hash(mix(n)).unwrap();
                if n % 100 == 0 && !filter.is_small() {
                    let mut segments = 0..filter.segments() as u32;
                    let may_double = segments.any(|segment| filter.is_last_level(segment));
                    assert_eq!(filter.may_double(), may_double, "{n} {filter:?}");
                    seen[usize::from(may_double)] = true;
                }
            }
        }
        assert_eq!(seen, [true; 2]);
    }

    /// As in a forged snapshot: more homeless items than there are slots, each of which may take ten
    /// thousand steps.
    #[cfg(not(miri))]
    #[test]
    fn a_crowd_without_room_is_not_settled_one_by_one() {
        let builder =
            CuckooFilter::builder().capacity(50_000).hash_bits(40).max_relocations(10_000);
        let mut filter = builder.build().unwrap();
        let mix = |n: u64| KeyHash::from_u64(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..filter.capacity()).for_each(|n| filter.insert_hash(mix(n)).unwrap());
        let crowd = || (1 << 40..).map(mix).take(300_000);
        for hash in crowd() {
            let probe = filter.locate(hash);
            let representative = filter.representative(&probe);
            filter.side.add(representative, Aside { extra: 0, homeless: 1 });
            filter.table.segments[probe.segment as usize].spilled = true;
            filter.stored += 1;
        }
        let begin = Instant::now();
        filter.settle_side(0, 0);
        // One by one it would take an hour.
        assert!(begin.elapsed() < Duration::from_mins(1), "{:?}", begin.elapsed());
        assert!(crowd().all(|hash| filter.contains_hash(hash)));
    }
}

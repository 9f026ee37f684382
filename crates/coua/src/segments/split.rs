//! Splitting a segment in two.
//!
//! An item's place in the halves depends only on its slot: [`Parent`] writes them.

use super::Segments;
use crate::error::{OutOfMemory, reserve};
use crate::kernel::{LevelGeometry, MovedItem, Parent, Place};

/// A segment that was split.
pub(crate) struct Split {
    /// The common prefix of its keys: the first `depth` bits of this.
    pub(crate) prefix: u64,
    pub(crate) depth: u32,
    /// The numbers of its halves, the lower one first.
    pub(crate) halves: [u32; 2],
    /// Items both of whose buckets are full: they have no slot.
    pub(crate) unplaced: Vec<Place>,
}

impl Segments {
    /// Splits a segment in two. O(slots of a segment), well under a millisecond. Allocates all memory first. The caller
    /// must move this segment's overflow counts to the halves.
    pub(crate) fn split(&mut self, index: u32) -> Result<Split, OutOfMemory> {
        self.add_level_below(self.table.segment(index).level() + 1)?;
        let [level, child] =
            self.parent_and_child(index).expect("a segment of the last level does not split");
        let (bytes, depth) = (child.bytes(), level.depth);
        // All memory is allocated first: without memory, each insert that needs it tries again.
        self.table.reserve_segment(bytes)?;
        self.directory.reserve_split(depth)?;
        let segment = self.table.segment(index);
        let (prefix, below) = (segment.prefix(), segment.level() + 1);
        let parent = Parent::copy(level, child, segment)?;
        let upper = self.table.add_segment(bytes, prefix | 1 << (63 - depth), below)?;
        self.directory.split(prefix, depth, upper);
        // The segment becomes the lower half.
        self.table.segment_mut(index).forget_items();
        self.table.segment_mut(index).deepen();
        self.note_levels();
        let halves = [index, upper];
        let unplaced = parent.write(self.table.two_mut(halves));
        let unplaced = unplaced.iter().map(|item| self.place_in_halves(halves, item)).collect();
        Ok(Split { prefix, depth, halves, unplaced })
    }

    /// Whether a segment has no level below it.
    pub(crate) fn is_last_level(&self, index: u32) -> bool {
        usize::from(self.table.segment(index).level()) + 1 == self.levels.len()
    }

    /// Whether some segments have no level below them. O(1).
    pub(crate) fn are_some_at_last_level(&self) -> bool {
        self.directory.depth() == self.levels[self.levels.len() - 1].depth
    }

    /// A segment's level and the one below; `None` if there is none below.
    pub(crate) fn parent_and_child(&self, index: u32) -> Option<[LevelGeometry; 2]> {
        let level = usize::from(self.table.segment(index).level());
        Some([self.levels[level], *self.levels.get(level + 1)?])
    }

    /// Adds the geometry of the level below this one, if that exists.
    fn add_level_below(&mut self, level: u8) -> Result<(), OutOfMemory> {
        let last = self.levels.len() - 1;
        if last == usize::from(level)
            && let Some(next) = self.geometry.level(self.levels[last].depth + 1)
        {
            reserve(&mut self.levels, 1)?;
            self.levels.push(next);
        }
        Ok(())
    }

    /// The place of an item in one of two halves.
    fn place_in_halves(&self, [lower, upper]: [u32; 2], item: &MovedItem) -> Place {
        let &MovedItem { primary, alternate, value } = item;
        let buckets = self.geometry.buckets;
        let (segment, first) = if primary >= buckets { (upper, buckets) } else { (lower, 0) };
        Place { segment, primary: primary - first, alternate: alternate - first, value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{ALTERNATE, SLOTS};
    use crate::smoke::few_in_miri;
    use crate::table::Segment;
    use crate::{CuckooFilter, KeyHash};

    /// Filters with room in their segments, and with items in the lower halves only: when those
    /// split, items have to give way.
    fn filters() -> impl Iterator<Item = CuckooFilter> {
        let rates = [0.1, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 1e-10, 1e-12];
        few_in_miri(rates.into_iter(), 7).flat_map(|rate| {
            [false, true].map(|is_lower| {
                let builder = CuckooFilter::builder().max_items(1_000_000).rate(rate);
                let mut filter = builder.build().unwrap();
                filter.reserve(if cfg!(miri) { 20_000 } else { 40_000 }).unwrap();
                let depth = filter.segments().ilog2();
                let lower = if is_lower { !(1 << (63 - depth)) } else { u64::MAX };
                let items = if cfg!(miri) { 100 } else { filter.slots() * 85 / 100 };
                let hashes = (0..items).map(|number: u64| {
                    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    KeyHash::from_u64((hash ^ (hash >> 31)) & lower)
                });
                filter.insert_batch(&hashes.collect::<Vec<_>>()).unwrap();
                filter
            })
        })
    }

    /// The slots of the halves by the rules that [`Parent`] follows, and the items that find no slot there.
    fn plainly_halved(
        level: &LevelGeometry,
        child: &LevelGeometry,
        segment: &Segment,
    ) -> (Vec<u64>, Vec<MovedItem>) {
        let mut slots = vec![0; (2 * child.buckets) as usize * SLOTS as usize];
        let slots_of =
            |bucket: u64| bucket as usize * SLOTS as usize..(bucket as usize + 1) * SLOTS as usize;
        let mut waiting = Vec::new();
        let mut put = |slots: &mut [u64], bucket, value, item| match slots[slots_of(bucket)]
            .iter_mut()
            .find(|slot| **slot == 0)
        {
            Some(slot) => *slot = value,
            None => waiting.push(item),
        };
        for is_moving in [false, true] {
            let items = level.items(segment, 0..level.buckets);
            for (bucket, value) in items.filter(|&(_, value)| value != 0) {
                let (primary, halved) = level.in_children(bucket, value);
                let alternate = child.alternate_in_children(primary, halved);
                let item = MovedItem { primary, alternate, value: halved };
                let items = |bucket| slots[slots_of(bucket)].iter().filter(|it| **it != 0).count();
                if is_moving != (value & ALTERNATE != 0) {
                    continue;
                }
                if is_moving && items(alternate) < items(primary) {
                    put(&mut slots, alternate, halved | ALTERNATE, item);
                } else {
                    put(&mut slots, primary, halved, item);
                }
            }
        }
        (slots, waiting)
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn levels_that_no_segment_has_take_no_memory() {
        let mut filter = CuckooFilter::new();
        let before = filter.memory_bytes();
        for number in 0..200_000_u64 {
            let segments = filter.as_segments();
            let levels = usize::from(segments.table.deepest_level()) + 2;
            assert_eq!((segments.levels.len(), segments.levels.capacity()), (levels, levels));
            let hash = KeyHash::from_u64(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            filter.insert(hash).unwrap();
        }
        let mut segments = filter.as_segments().try_clone().unwrap();
        assert!(segments.table.deepest_level() > 1 && filter.memory_bytes() > before);
        let bytes = segments.memory_bytes();
        let levels = segments.levels.capacity();
        segments.levels.reserve_exact(10);
        let more = (segments.levels.capacity() - levels) * size_of::<LevelGeometry>();
        assert_eq!(segments.memory_bytes(), bytes + more, "they are counted");
    }

    #[test]
    fn a_split_keeps_items_in_their_primary_buckets_and_places_the_others() {
        let (mut unplaced, mut filled) = (0, 0);
        for filter in few_in_miri(filters(), 2) {
            let mut segments = filter.as_segments().try_clone().unwrap();
            let [level, child] = segments.parent_and_child(0).unwrap();
            let (slots, waiting) = plainly_halved(&level, &child, segments.get(0));
            let halves = [0, segments.len() as u32];
            let split = segments.split(0).unwrap();
            assert_eq!((split.halves, split.prefix), (halves, 0));
            for (index, slots) in
                halves.into_iter().zip(slots.chunks(child.buckets as usize * SLOTS as usize))
            {
                let half = segments.get(index);
                let stored = child.items(half, 0..child.buckets).map(|(_, value)| value);
                assert!(stored.eq(slots.iter().copied()), "{filter:?}");
                let used = slots.iter().filter(|&&value| value != 0).count();
                assert_eq!(half.occupied() as usize, used);
                filled += used;
            }
            let expected = waiting.iter().map(|item| segments.place_in_halves(halves, item));
            let shown = |place: Place| format!("{place:?}");
            assert!(split.unplaced.into_iter().map(shown).eq(expected.map(shown)), "{filter:?}");
            unplaced += waiting.len();
        }
        let least = if cfg!(miri) { (50, 0) } else { (50_000, 500) };
        assert!(filled > least.0 && unplaced >= least.1, "{filled} filled, {unplaced} unplaced");
    }
}

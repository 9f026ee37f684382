//! Splitting a segment in two.
//!
//! An item's place in the halves follows from its slot alone. Each bucket becomes two that lie side by side,
//! where its own items always fit: those that lie in their primary bucket stay there. So the segment is read
//! in order, and its [`Halves`] are written in order. Then come the items that lie in their alternate
//! bucket: they may go to either of their new buckets. Overlapping buckets share slots, and may be too small
//! for all their own items: there all items move.

mod halves;

use super::CuckooFilter;
use crate::error::{OutOfMemory, reserve};
use crate::kernel::{AnyLevel, MovedItem, Parent, Probe};
use halves::Halves;

impl CuckooFilter {
    /// Splits a segment in two. O(slots of a segment), well under a millisecond.
    pub(super) fn split(&mut self, index: u32) -> Result<(), OutOfMemory> {
        self.add_level_below(self.table.segment(index).level() + 1)?;
        let parent = self.parent(index).expect("a segment of the last level does not split");
        let (prefix, level) = (parent.segment.prefix(), parent.segment.level());
        let (depth, child) = (parent.level.depth, parent.child);
        let upper = prefix | (1 << (63 - depth));
        let bytes = child.bytes(self.geometry.segment_slots());
        // All memory is taken first: where there is none, each insert that needs it tries again.
        let most = self.memory_left().saturating_sub(self.directory.bytes_to_split(depth));
        self.table.reserve_segment(bytes, most)?;
        self.directory.reserve_split(depth)?;
        let halves = Halves::of(&self.parent(index).expect("it has a level below"))?;
        let upper_index = self.table.add_segment(bytes, upper, level + 1)?;
        self.directory.split(prefix, depth, upper_index);
        // It is the lower half from now on.
        self.table.segment_mut(index).clear();
        self.table.segment_mut(index).deepen();
        self.uniform = self.find_uniform();
        self.splits += 1;
        let indices = [index, upper_index];
        for item in halves.write(self.table.two_mut(indices)) {
            self.reinsert_into(indices, &item);
        }
        self.reinsert_overflowed(prefix, depth);
        for (index, prefix) in [(index, prefix), (upper_index, upper)] {
            let mut segment = self.table.segment_mut(index);
            match self.overflow.under(prefix, depth + 1).next() {
                Some(_) => segment.mark_overflow(),
                None => segment.unmark_overflow(),
            }
        }
        Ok(())
    }

    /// A segment with its level and the one below; `None` if there is none below.
    pub(crate) fn parent(&self, index: u32) -> Option<Parent<'_>> {
        let segment = self.table.segment(index);
        let level = usize::from(segment.level());
        let child = *self.levels.get(level + 1)?;
        Some(Parent { level: self.levels[level], child, segment })
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

    /// Puts an item into one of two halves, by eviction.
    fn reinsert_into(&mut self, [lower, upper]: [u32; 2], item: &MovedItem) {
        let &MovedItem { primary, alternate, value } = item;
        let buckets = self.geometry.buckets;
        let (segment, first) = if primary >= buckets { (upper, buckets) } else { (lower, 0) };
        let probe =
            Probe { segment, primary: primary - first, alternate: alternate - first, value };
        self.reinsert(AnyLevel, &probe);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{ALTERNATE, LevelGeometry};
    use crate::smoke::few_in_miri;
    use crate::{KeyHash, Layout};

    /// Filters with room in their segments, and with items in the lower halves only: when those
    /// split, items have to give way.
    fn filters() -> impl Iterator<Item = CuckooFilter> {
        let encodings = [(1, 0.01), (2, 0.01), (4, 0.01), (4, 1e-9), (8, 1e-4), (8, 1e-12)];
        let encodings = encodings.map(|(slots, rate)| (Layout::Buckets, slots, rate));
        let windows = [0.01, 1e-9].map(|rate| (Layout::Overlapping, 2, rate));
        few_in_miri(encodings.into_iter().chain(windows), 7).flat_map(|(layout, slots, rate)| {
            [false, true].map(|is_lower| {
                let builder = CuckooFilter::builder().max_items(1_000_000).rate(rate);
                let builder = builder.layout(layout);
                let mut filter = builder.slots_per_bucket(slots).build().unwrap();
                filter.reserve(if cfg!(miri) { 20_000 } else { 40_000 }).unwrap();
                let depth = filter.table.len().ilog2();
                let lower = if is_lower { !(1 << (63 - depth)) } else { u64::MAX };
                let items = if cfg!(miri) { 100 } else { filter.slots() * 8 / 10 };
                let hashes = (0..items).map(|number| {
                    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    KeyHash::from_u64((hash ^ (hash >> 31)) & lower)
                });
                filter.insert_batch(&hashes.collect::<Vec<_>>()).unwrap();
                filter
            })
        })
    }

    /// The slots of the halves by the rules that `Halves` follow, and the items that find no slot there.
    fn plainly_halved(parent: &Parent) -> (Vec<u64>, Vec<MovedItem>) {
        let (buckets, codec) = (parent.child.buckets, &parent.child.codec);
        let mut slots = vec![0; 2 * parent.child.slots() as usize];
        let stride = if codec.overlap() { 1 } else { codec.slots as usize };
        let slots_of = |bucket: u64| {
            let last_window = usize::from(codec.overlap() && bucket >= buckets);
            let first = bucket as usize * stride + last_window;
            first..first + codec.slots as usize
        };
        let mut waiting = Vec::new();
        let mut put = |slots: &mut [u64], bucket, value, item| match (0..)
            .zip(&mut slots[slots_of(bucket)])
            .find(|(_, slot)| **slot == 0)
        {
            Some((position, slot)) => *slot = codec.at_position(value, position),
            None => waiting.push(item),
        };
        for is_moving in [false, true] {
            let items = parent.level.items(parent.segment, 0..parent.level.slots());
            for (bucket, value) in items.filter(|&(_, value)| value != 0) {
                let (primary, halved) = parent.level.in_children(bucket, value);
                let alternate = parent.child.alternate_in_children(primary, halved);
                let item = MovedItem { primary, alternate, value: halved };
                let items = |bucket| slots[slots_of(bucket)].iter().filter(|it| **it != 0).count();
                if is_moving != (codec.overlap() || value & ALTERNATE != 0) {
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
            let deepest = usize::from(filter.table.deepest_level());
            assert_eq!((filter.levels.len(), filter.levels.capacity()), (deepest + 2, deepest + 2));
            let hash = KeyHash::from_u64(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            filter.insert(hash).unwrap();
        }
        assert!(filter.table.deepest_level() > 1 && filter.memory_bytes() > before);
        let bytes = filter.memory_bytes();
        filter.levels.reserve_exact(10);
        assert_eq!(
            filter.memory_bytes(),
            bytes + 10 * size_of::<LevelGeometry>(),
            "they are counted"
        );
    }

    #[test]
    fn a_split_keeps_items_in_their_primary_buckets_and_places_the_others() {
        let (mut unplaced, mut filled) = (0, 0);
        for mut filter in few_in_miri(filters(), 2) {
            let parent = filter.parent(0).unwrap();
            let (child, (slots, waiting)) = (parent.child, plainly_halved(&parent));
            if filter.overflow.has_overflowed() {
                // A split gives them a slot.
                continue;
            }
            let halves = [0, filter.table.len() as u32];
            let bytes = child.bytes(child.slots()) as usize;
            let contents = |filter: &CuckooFilter| {
                let segment = |index| filter.table.segment(index);
                halves
                    .map(|index| (segment(index).occupied(), segment(index).bytes(bytes).to_vec()))
            };
            filter.split(0).unwrap();
            let split = contents(&filter);
            for (index, slots) in halves.into_iter().zip(slots.chunks(child.slots() as usize)) {
                let half = &mut filter.table.segment_mut(index);
                half.clear();
                let runs = child.codec.runs(0..child.slots());
                let all = runs.flat_map(|(bucket, run)| run.map(move |at| (bucket, at)));
                for ((number, position), &value) in all.zip(slots).filter(|(_, it)| **it != 0) {
                    let bucket = child.codec.read(half, number);
                    child.codec.fill(half, &bucket, position, value);
                    half.count_filled();
                    filled += 1;
                }
            }
            for item in &waiting {
                filter.reinsert_into(halves, item);
            }
            assert!(contents(&filter) == split, "{filter:?}");
            unplaced += waiting.len();
        }
        let least = if cfg!(miri) { (50, 0) } else { (50_000, 500) };
        assert!(filled > least.0 && unplaced >= least.1, "{filled} filled, {unplaced} unplaced");
    }
}

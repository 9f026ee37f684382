//! The halves of a segment while they are filled.

use std::hint::select_unpredictable;

use crate::error::{OutOfMemory, repeated};
use crate::kernel::{
    ALTERNATE, LevelGeometry, Levels, MovedItem, MovedItems, PADDING, Parent, SLOTS, with_levels,
};
use crate::simd::{Isa, Kernel, with_bit_instructions};
use crate::table::SegmentMut;

/// Both halves, a word for each slot. They begin empty and only gain items.
pub(super) struct Halves {
    /// The values to store: the slots of the lower half, then those of the upper, then [`PADDING`].
    values: Vec<u64>,
    /// The number of items in each bucket; they are adjacent, starting at its first slot.
    items: Vec<u8>,
    level: LevelGeometry,
    /// Items both of whose buckets are full.
    unplaced: Vec<MovedItem>,
}

impl Halves {
    /// The halves of a segment.
    pub(super) fn of(parent: &Parent) -> Result<Self, OutOfMemory> {
        let level = parent.child;
        let mut values = repeated(0, 2 * level.slots() + PADDING as u64)?;
        let mut items = repeated(0, 2 * level.buckets)?;
        parent.keep(&mut values, &mut items);
        let mut halves = Self { values, items, level, unplaced: Vec::new() };
        let mut moved = MovedItems::none();
        for chunk in parent.chunks() {
            parent.divide(chunk, &mut moved);
            halves.insert_all(&moved)?;
        }
        Ok(halves)
    }

    /// Puts each item into the first free slot of the emptier of its two buckets, if there is one.
    fn insert_all(&mut self, moved: &MovedItems) -> Result<(), OutOfMemory> {
        for item in moved.iter() {
            if !self.place(&item) {
                self.note_unplaced(item)?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn place(&mut self, item: &MovedItem) -> bool {
        let (here, there) = (item.primary as usize, item.alternate as usize);
        // Which bucket is emptier is unpredictable: no branch on it.
        let (items_here, items_there) = (self.items[here], self.items[there]);
        let to_alternate = items_there < items_here;
        let bucket = select_unpredictable(to_alternate, there, here);
        let items = select_unpredictable(to_alternate, items_there, items_here);
        if u32::from(items) == SLOTS {
            return false;
        }
        self.items[bucket] = items + 1;
        let slot = bucket * SLOTS as usize + usize::from(items);
        self.values[slot] = item.value | (u64::from(to_alternate) * ALTERNATE);
        true
    }

    #[cold]
    fn note_unplaced(&mut self, item: MovedItem) -> Result<(), OutOfMemory> {
        let bytes = size_of::<MovedItem>() as u64;
        self.unplaced.try_reserve(1).map_err(|_| OutOfMemory { bytes })?;
        self.unplaced.push(item);
        Ok(())
    }

    /// Writes the halves into their segments, which are empty, and returns the items that are still unplaced.
    pub(super) fn write(self, segments: [SegmentMut<'_>; 2]) -> Vec<MovedItem> {
        let halves = self.values.chunks_exact(self.level.slots() as usize);
        for (mut segment, values) in segments.into_iter().zip(halves) {
            segment.set_occupied(values.iter().map(|&value| u32::from(value != 0)).sum());
            with_bit_instructions(Write { level: self.level, segment: &mut segment, values });
        }
        self.unplaced
    }
}

/// Writes a half into its segment, which is empty.
struct Write<'a, 'table> {
    level: LevelGeometry,
    segment: &'a mut SegmentMut<'table>,
    values: &'a [u64],
}

impl Kernel for Write<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, _: I) {
        with_levels!(Some(self.level), |levels| self.pack(levels));
    }
}

impl Write<'_, '_> {
    #[inline(always)]
    fn pack(self, levels: impl Levels) {
        levels.uniform_or(|| self.level).codec.pack(self.segment, self.values);
    }
}

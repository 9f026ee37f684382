//! The halves of a segment while they are filled.

use std::hint::select_unpredictable;

use crate::error::{OutOfMemory, repeated};
use crate::kernel::{
    ALTERNATE, LevelGeometry, Levels, MovedItem, MovedItems, PADDING, Parent, with_levels,
};
use crate::simd::{Isa, Kernel, Words, with_bit_instructions};
use crate::table::SegmentMut;

/// Both halves, a word for each slot. They begin empty and only gain items.
pub(super) struct Halves {
    /// The values to store: the slots of the lower half, then those of the upper, then [`PADDING`].
    values: Vec<u64>,
    /// How many items each bucket has; they are adjacent, from its first slot on. Not of overlapping
    /// buckets, which share slots.
    items: Vec<u8>,
    level: LevelGeometry,
    /// Items both of whose buckets are full.
    unplaced: Vec<MovedItem>,
}

impl Halves {
    /// The halves of a segment.
    pub(super) fn of(parent: &Parent) -> Result<Self, OutOfMemory> {
        let level = parent.child;
        let overlap = level.codec.overlap();
        let mut values = repeated(0, 2 * level.slots() + PADDING as u64)?;
        let mut items = repeated(0, if overlap { 0 } else { 2 * level.buckets })?;
        if !overlap {
            parent.keep(&mut values, &mut items);
        }
        let mut halves = Self { values, items, level, unplaced: Vec::new() };
        let mut moved = MovedItems::none();
        for chunk in parent.chunks() {
            parent.divide(chunk, &mut moved);
            halves.take(&moved)?;
        }
        Ok(halves)
    }

    /// Puts each item into the first free slot of the emptier of its two buckets, if there is one.
    fn take(&mut self, moved: &MovedItems) -> Result<(), OutOfMemory> {
        let overlap = self.level.codec.overlap();
        for item in moved.iter() {
            let is_placed = if overlap { self.place_overlapping(&item) } else { self.place(&item) };
            if !is_placed {
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
        let slots = self.level.codec.slots;
        if u32::from(items) == slots {
            return false;
        }
        self.items[bucket] = items + 1;
        let slot = bucket * slots as usize + usize::from(items);
        self.values[slot] = item.value | (u64::from(to_alternate) * ALTERNATE);
        true
    }

    #[inline(always)]
    fn place_overlapping(&mut self, item: &MovedItem) -> bool {
        let [here, there] = [item.primary, item.alternate].map(|bucket| self.first_slot(bucket));
        let to_alternate = self.items_in(there) < self.items_in(here);
        let first = select_unpredictable(to_alternate, there, here);
        let position = u32::from(self.values[first] != 0);
        let slot = &mut self.values[first + position as usize];
        if *slot != 0 {
            return false;
        }
        let value = item.value | (u64::from(to_alternate) * ALTERNATE);
        let [value, position] = [value, position.into()].map(|number| Words.splat(number));
        *slot = self.level.on_words().at_position(value, position).number();
        true
    }

    /// The first of an overlapping bucket's two slots. The last bucket of the lower half ends with a slot of
    /// its own.
    #[inline(always)]
    fn first_slot(&self, bucket: u64) -> usize {
        (bucket + u64::from(bucket >= self.level.buckets)) as usize
    }

    #[inline(always)]
    fn items_in(&self, first_slot: usize) -> u8 {
        u8::from(self.values[first_slot] != 0) + u8::from(self.values[first_slot + 1] != 0)
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

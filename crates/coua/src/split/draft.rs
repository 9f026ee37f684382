//! The halves of a segment while they are filled.

use std::hint::select_unpredictable;

use super::{Mover, Movers, Parent};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::arch::{keep_vectors, pack_vectors};
use crate::error::OutOfMemory;
use crate::geometry::{PARTNER, Shape};
use crate::shapes::{Shapes, Work, in_best_form};
use crate::table::Segment;

/// Both halves, a word for each slot. They begin empty and only gain items.
pub(super) struct Draft {
    /// What will be stored: the slots of the lower half, then those of the upper.
    values: Vec<u64>,
    /// How many items each bucket has; they lie side by side from its first slot on. Not of windows, whose
    /// items share slots.
    items: Vec<u8>,
    shape: Shape,
    /// Those for whom others will have to give way.
    waiting: Vec<Mover>,
}

impl Draft {
    /// Of empty halves of this shape.
    pub(super) fn of(shape: Shape) -> Result<Self, OutOfMemory> {
        let counted = if shape.lanes.overlap() { 0 } else { 2 * shape.buckets as usize };
        Ok(Self {
            values: zeros(2 * shape.slots() as usize)?,
            items: zeros(counted)?,
            shape,
            waiting: Vec::new(),
        })
    }

    /// Puts the items that lie in their primary bucket into their primary bucket in the halves.
    pub(super) fn keep(&mut self, parent: &Parent) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if keep_vectors(parent, &mut self.values, &mut self.items) {
            return;
        }
        in_best_form(Keep { draft: self, parent }, Some(parent.shape));
    }

    /// Puts each item into the first free slot of the emptier of its two buckets. Those whose buckets are
    /// both full wait.
    pub(super) fn take(&mut self, movers: &Movers) -> Result<(), OutOfMemory> {
        let is_windows = self.shape.lanes.overlap();
        for item in 0..movers.count {
            let mover = movers.get(item);
            let is_taken =
                if is_windows { self.take_to_window(&mover) } else { self.take_to_bucket(&mover) };
            if !is_taken {
                self.wait(mover)?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn take_to_bucket(&mut self, mover: &Mover) -> bool {
        let (here, there) = (mover.primary as usize, mover.partner as usize);
        // Which bucket is emptier cannot be foretold: no branch on it.
        let (items_here, items_there) = (self.items[here], self.items[there]);
        let to_partner = items_there < items_here;
        let bucket = select_unpredictable(to_partner, there, here);
        let items = select_unpredictable(to_partner, items_there, items_here);
        let slots = self.shape.lanes.slots;
        if u32::from(items) == slots {
            return false;
        }
        self.items[bucket] = items + 1;
        let slot = bucket * slots as usize + usize::from(items);
        self.values[slot] = mover.value | (u64::from(to_partner) * PARTNER);
        true
    }

    #[inline(always)]
    fn take_to_window(&mut self, mover: &Mover) -> bool {
        let [here, there] = [mover.primary, mover.partner].map(|window| self.slots_of(window));
        let to_partner = self.items_in(there) < self.items_in(here);
        let first = select_unpredictable(to_partner, there, here);
        let position = u32::from(self.values[first] != 0);
        let slot = &mut self.values[first + position as usize];
        if *slot != 0 {
            return false;
        }
        let value = mover.value | (u64::from(to_partner) * PARTNER);
        *slot = self.shape.lanes.at_position(value, position);
        true
    }

    /// The first of a window's two slots. The last window of the lower half ends with a slot of its own.
    #[inline(always)]
    fn slots_of(&self, window: u64) -> usize {
        (window + u64::from(window >= self.shape.buckets)) as usize
    }

    #[inline(always)]
    fn items_in(&self, first: usize) -> u8 {
        u8::from(self.values[first] != 0) + u8::from(self.values[first + 1] != 0)
    }

    #[cold]
    fn wait(&mut self, mover: Mover) -> Result<(), OutOfMemory> {
        let bytes = size_of::<Mover>() as u64;
        self.waiting.try_reserve(1).map_err(|_| OutOfMemory { bytes })?;
        self.waiting.push(mover);
        Ok(())
    }

    /// Writes the halves into their segments, which are empty, and returns the items that still wait.
    pub(super) fn write(self, segments: [&mut Segment; 2]) -> Vec<Mover> {
        let halves = self.values.chunks_exact(self.values.len() / 2);
        for (segment, values) in segments.into_iter().zip(halves) {
            segment.occupied = values.iter().map(|&value| u32::from(value != 0)).sum();
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            if pack_vectors(&self.shape.lanes, segment, values) {
                continue;
            }
            let write = Write { shape: self.shape, segment, values };
            in_best_form(write, Some(self.shape));
        }
        self.waiting
    }
}

fn zeros<T: Copy + Default>(count: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut values = Vec::new();
    let bytes = (count * size_of::<T>()) as u64;
    values.try_reserve_exact(count).map_err(|_| OutOfMemory { bytes })?;
    values.resize(count, T::default());
    Ok(values)
}

/// [`Draft::keep`], one bucket after the other.
struct Keep<'a> {
    draft: &'a mut Draft,
    parent: &'a Parent<'a>,
}

impl Work for Keep<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, shapes: impl Shapes) {
        let Self { draft, parent } = self;
        let shape = shapes.in_form(parent.shape);
        let slots = shape.lanes.slots as usize;
        let halves = draft.values.chunks_exact_mut(2 * slots);
        for ((bucket, values), items) in (0..).zip(halves).zip(draft.items.as_chunks_mut().0) {
            let read = shape.lanes.read(parent.segment, bucket);
            let mut counts = [0; 2];
            for position in 0..shape.lanes.slots {
                let value = shape.lanes.stored(parent.segment, &read, position);
                // Who is at home cannot be foretold: for others, a free slot is emptied.
                let is_at_home = value != 0 && value & PARTNER == 0;
                let (number, value) = shape.at_home_in_halves(bucket, value);
                let which = (number & 1) as usize;
                let slot = which * slots + counts[which];
                values[slot] = select_unpredictable(is_at_home, value, 0);
                counts[which] += usize::from(is_at_home);
            }
            *items = counts.map(|count| count as u8);
        }
    }
}

/// Writes half of a draft into its segment, which is empty.
struct Write<'a> {
    shape: Shape,
    segment: &'a mut Segment,
    values: &'a [u64],
}

impl Work for Write<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, shapes: impl Shapes) {
        shapes.in_form(self.shape).lanes.pack(self.segment, self.values);
    }
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod tests {
    use super::*;
    use crate::{CuckooFilter, KeyHash};

    #[test]
    fn vectors_keep_as_the_portable_twin_does() {
        let (mut able, mut kept) = (0, 0);
        let forms =
            [1, 2, 4, 8].map(|slots| [0.3, 0.01, 1e-4, 1e-9, 1e-12].map(|rate| (slots, rate)));
        for (slots, rate) in forms.into_iter().flatten() {
            for capacity in [30_000, 50_000] {
                let builder = CuckooFilter::builder().max_items(200_000).rate(rate);
                let mut filter = builder.slots_per_bucket(slots).build().unwrap();
                filter.reserve(capacity).unwrap();
                for number in 0..capacity {
                    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    filter.insert(KeyHash::from_u64(hash ^ (hash >> 31))).unwrap();
                }
                for segment in &filter.table.segments {
                    let level = usize::from(segment.level);
                    let Some(&child) = filter.shapes.get(level + 1) else { continue };
                    let parent = Parent { shape: filter.shapes[level], child, segment };
                    let [mut plain, mut draft] = [(); 2].map(|()| Draft::of(child).unwrap());
                    let keep = Keep { draft: &mut plain, parent: &parent };
                    in_best_form(keep, Some(parent.shape));
                    if !keep_vectors(&parent, &mut draft.values, &mut draft.items) {
                        continue;
                    }
                    able += 1;
                    kept += plain.items.iter().map(|&items| usize::from(items)).sum::<usize>();
                    assert!(plain.values == draft.values, "{filter:?}");
                    assert!(plain.items == draft.items, "{filter:?}");
                }
            }
        }
        assert!(able == 0 || kept > 100_000, "{kept} kept in {able} segments");
    }
}

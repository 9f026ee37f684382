//! Removing many keys.

use super::{Finds, Lookahead, WIDTH, find};
use crate::KeyHash;
use crate::filter::CuckooFilter;
use crate::shapes::{Shapes, Work};

/// A batch of keys to be taken out of a filter.
pub(super) struct Remover<'a> {
    pub(super) filter: &'a mut CuckooFilter,
    pub(super) hashes: &'a [KeyHash],
    pub(super) removed: &'a mut Vec<bool>,
}

impl Remover<'_> {
    /// Removes the keys of a group.
    #[inline(always)]
    fn remove_group(&mut self, shapes: impl Shapes, ahead: &Lookahead, finds: &mut Finds) {
        let (keys, numbers) = ahead.group();
        if numbers.len() != WIDTH || !find(self.filter, keys, finds) {
            finds.forget();
        }
        let behind = ahead.to_be_asked();
        for number in numbers {
            if let Some(behind) = behind {
                behind.ask(self.filter, shapes, number);
            }
            let segment_number = keys.segment[number] as usize;
            let segment = &mut self.filter.table.segments[segment_number];
            // Removals bring no key back. Copies beside the slots are taken first.
            let is_removed = if !segment.spilled && finds.is_absent(number) {
                false
            } else if !segment.spilled && finds.is_current(number, segment) {
                let lanes = shapes.of(self.filter, segment_number as u32).lanes;
                finds.take(number, &lanes, &mut self.filter.table.segments[segment_number]);
                self.filter.stored = self.filter.stored.saturating_sub(1);
                true
            } else {
                self.filter.take_away(shapes, &keys.probe(number))
            };
            self.removed.push(is_removed);
        }
    }
}

impl Work for Remover<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, shapes: impl Shapes) {
        let mut ahead = Lookahead::new(self.filter, shapes, self.hashes, 0);
        let mut finds = Finds::default();
        while self.removed.len() < self.hashes.len() {
            self.remove_group(shapes, &ahead, &mut finds);
            ahead.next_group(self.filter, shapes);
        }
    }
}

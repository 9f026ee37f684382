//! Checks the slots of a segment that was read.

use crate::geometry::Shape;
use crate::shapes::{Shapes, Work, in_best_form};
use crate::table::Segment;

/// Slots of a segment that are in use; `None` if one says that it belongs to a bucket that does not
/// exist, or a fingerprint's low part is 0, which only foreign bytes do.
pub(crate) fn in_use(shape: &Shape, segment: &Segment) -> Option<u64> {
    in_best_form(Check { shape, segment }, Some(*shape))
}

struct Check<'a> {
    shape: &'a Shape,
    segment: &'a Segment,
}

impl Work for Check<'_> {
    type Output = Option<u64>;

    #[inline(always)]
    fn run(self, shapes: impl Shapes) -> Option<u64> {
        let shape = shapes.in_form(*self.shape);
        if shape.lanes.overlap() { by_slot(&shape, self.segment) } else { self.in_buckets(&shape) }
    }
}

impl Check<'_> {
    #[inline(always)]
    fn in_buckets(&self, shape: &Shape) -> Option<u64> {
        let low_part = shape.low_range << shape.lanes.tag_bits;
        let (mut used, mut sound) = (0, true);
        for bucket in 0..shape.buckets {
            let bucket = shape.lanes.read(self.segment, bucket);
            used +=
                u64::from(shape.lanes.slots - shape.lanes.empties(self.segment, &bucket).count());
            sound &= shape.lanes.is_sound(self.segment, &bucket, low_part);
        }
        sound.then_some(used)
    }
}

/// Slot by slot, as windows need it.
#[inline(always)]
fn by_slot(shape: &Shape, segment: &Segment) -> Option<u64> {
    let low_part = shape.low_range << shape.lanes.tag_bits;
    let (mut used, mut sound) = (0, true);
    for (number, positions) in shape.lanes.runs(0..shape.slots()) {
        let bucket = shape.lanes.read(segment, number);
        for position in positions {
            // A slot with nothing but a position in it is not free: an insert would follow it, from the first
            // slot out of the segment.
            let stored = shape.lanes.stored(segment, &bucket, position);
            let (own, value) = shape.lanes.own_bucket(number, position, stored);
            used += u64::from(stored != 0);
            sound &= stored == 0 || own < shape.buckets && value & low_part != 0;
        }
    }
    sound.then_some(used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::POSITION;
    use crate::{CuckooFilter, Layout};

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes in Miri")]
    fn damage_is_found_in_every_form() {
        let forms = [
            (Layout::Buckets, 1, 12),
            (Layout::Buckets, 4, 23),
            (Layout::Buckets, 4, 50),
            (Layout::Buckets, 8, 40),
            (Layout::Windows, 2, 24),
            (Layout::Windows, 2, 56),
        ];
        for (layout, slots, bits) in forms {
            let builder = CuckooFilter::builder().layout(layout).slots_per_bucket(slots);
            let mut filter = builder.hash_bits(bits).capacity(500).build().unwrap();
            // Few, so that there are free slots to be damaged.
            (0..300_u64).for_each(|key| filter.insert(key.to_le_bytes()).unwrap());
            let shape = *filter.shape_of(0);
            let segment = &mut filter.table.segments[0];
            assert_eq!(in_use(&shape, segment), Some(u64::from(segment.occupied)));
            let mut sound = 0;
            let bytes = shape.lanes.segment_bits(shape.slots()) as usize / 8;
            for at in 0..bytes {
                for damage in [1, 2, 0x80, 0xff] {
                    segment.bytes_mut(bytes)[at] ^= damage;
                    let found = in_use(&shape, segment);
                    assert_eq!(found, by_slot(&shape, segment), "{layout:?} {slots} {bits} {at}");
                    sound += usize::from(found.is_some());
                    segment.bytes_mut(bytes)[at] ^= damage;
                }
            }
            assert!(0 < sound && sound < 4 * bytes, "{layout:?} {slots} {bits}: {sound}");
            if layout == Layout::Windows {
                // A position that in the first slot leads out of the segment, with an item or without.
                let item = POSITION | (1 << shape.lanes.tag_bits);
                for forged in [POSITION, item] {
                    let first = shape.lanes.read(segment, 0);
                    let stored = shape.lanes.stored(segment, &first, 0);
                    shape.lanes.replace(segment, &first, 0, (stored, forged));
                    assert_eq!(in_use(&shape, segment), None, "{layout:?} {slots} {bits}");
                }
            }
        }
    }
}

//! Checks the slots of a segment that was read.

use crate::kernel::{LevelGeometry, Levels, with_levels};
use crate::simd::{Isa, Kernel, with_bit_instructions};
use crate::table::Segment;

/// The number of slots of a segment in use; `None` if a slot names a bucket that does not exist, or the low part
/// of a fingerprint is 0, which happens only in forged bytes.
pub(crate) fn in_use(level: &LevelGeometry, segment: &Segment) -> Option<u64> {
    with_bit_instructions(Check { level, segment })
}

struct Check<'a> {
    level: &'a LevelGeometry,
    segment: &'a Segment,
}

impl Kernel for Check<'_> {
    type Output = Option<u64>;

    #[inline(always)]
    fn run<I: Isa>(self, _: I) -> Option<u64> {
        with_levels!(Some(*self.level), |levels| self.check(levels))
    }
}

impl Check<'_> {
    #[inline(always)]
    fn check(self, levels: impl Levels) -> Option<u64> {
        let level = levels.uniform_or(|| *self.level);
        if level.codec.overlap() {
            by_slot(&level, self.segment)
        } else {
            by_bucket(&level, self.segment)
        }
    }
}

/// All slots of a bucket at once.
#[inline(always)]
fn by_bucket(level: &LevelGeometry, segment: &Segment) -> Option<u64> {
    let words = level.on_words();
    let (mut used, mut sound) = (0, true);
    for number in 0..level.buckets {
        let bucket = words.bucket(segment, number);
        let free_slots = words.free_slots(segment, &bucket);
        used += u64::from(level.codec.slots - free_slots.number().count_ones());
        sound &= words.is_sound(segment, &bucket, free_slots);
    }
    sound.then_some(used)
}

/// Slot by slot, as overlapping buckets need it.
#[inline(always)]
fn by_slot(level: &LevelGeometry, segment: &Segment) -> Option<u64> {
    let (words, low_part) = (level.on_words(), level.low_part());
    let (mut used, mut sound) = (0, true);
    for (number, positions) in level.codec.runs(0..level.slots()) {
        let bucket = words.bucket(segment, number);
        for position in positions {
            // A slot with only a position bit is not free, and an insert would follow the bit: from the first
            // slot, out of the segment.
            let stored = words.stored_at(segment, &bucket, position);
            let (own, value) = words.item_at(segment, number, &bucket, position);
            used += u64::from(stored != 0);
            sound &= stored == 0 || own < level.buckets && value & low_part != 0;
        }
    }
    sound.then_some(used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Words;
    use crate::smoke::few_in_miri;
    use crate::{CuckooFilter, Layout};

    #[test]
    fn damage_is_found_in_every_encoding() {
        let encodings = [
            (Layout::Buckets, 1, 12),
            (Layout::Buckets, 4, 23),
            (Layout::Buckets, 4, 50),
            (Layout::Buckets, 8, 40),
            (Layout::Overlapping, 2, 24),
            (Layout::Overlapping, 2, 56),
        ];
        for (layout, slots, bits) in encodings {
            let builder = CuckooFilter::builder().layout(layout).slots_per_bucket(slots);
            let mut filter = builder.hash_bits(bits).capacity(500).build().unwrap();
            // Few, so that there are free slots to be damaged.
            (0..300_u64).for_each(|key| filter.insert(key.to_le_bytes()).unwrap());
            let level = *filter.as_segments().level_of(0);
            let (mut table, _) = filter.into_parts();
            let segment = &mut table.segment_mut(0);
            assert_eq!(in_use(&level, segment), Some(u64::from(segment.occupied())));
            let mut sound = 0;
            let bytes = (level.buckets * level.codec.bucket_bits) as usize / 8;
            for at in few_in_miri(0..bytes, 300) {
                for damage in [1, 2, 0x80, 0xff] {
                    segment.bytes_mut(bytes)[at] ^= damage;
                    let found = in_use(&level, segment);
                    assert_eq!(found, by_slot(&level, segment), "{layout:?} {slots} {bits} {at}");
                    sound += usize::from(found.is_some());
                    segment.bytes_mut(bytes)[at] ^= damage;
                }
            }
            assert!(0 < sound && sound < 4 * bytes, "{layout:?} {slots} {bits}: {sound}");
            if layout == Layout::Overlapping {
                // A position that in the first slot leads out of the segment, with an item or without.
                for value in [0, 4] {
                    let words = level.on_words();
                    let first = words.bucket(segment, 0);
                    let stored = Words.splat(words.stored_at(segment, &first, 0));
                    let [value, zero, one] = [value, 0, 1].map(|it| Words.splat(it));
                    let forged = words.at_position(value, one);
                    let source: &Segment = segment;
                    let change = words.change(source, &first, zero, stored ^ forged);
                    words.write(segment, &change);
                    assert_eq!(in_use(&level, segment), None, "{layout:?} {slots} {bits}");
                }
            }
        }
    }
}

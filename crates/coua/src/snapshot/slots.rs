//! Checks the slots of a segment that was read.

use crate::kernel::{KnownLevel, LevelGeometry, SLOTS, with_encoding};
use crate::simd::with_bit_instructions;
use crate::table::{Segment, SegmentMut};

/// Clears the bits outside slots, which only forged bytes set: what a filter writes must not depend on them.
pub(crate) fn clear_others(level: &LevelGeometry, segment: &mut SegmentMut<'_>) {
    let (bucket, slots) = (level.codec.bucket_bits, u64::from(SLOTS * level.codec.slot_bits));
    let end = (level.buckets * bucket).div_ceil(8);
    let (runs, rest) = segment.bytes_mut(segment.len()).split_at_mut(end as usize);
    rest.fill(0);
    // Slots without a gap: those of a bucket, or all.
    let run = if slots < bucket { slots } else { level.buckets * bucket };
    if run % 8 == u64::from(SLOTS) {
        let last_bytes = runs.chunks_mut(run.div_ceil(8) as usize).filter_map(<[u8]>::last_mut);
        last_bytes.for_each(|half_used| *half_used &= 0x0f);
    }
}

/// The number of slots of a segment in use; `None` if the low part of a fingerprint is 0, which happens only in forged
/// bytes.
pub(crate) fn in_use(level: &LevelGeometry, segment: &Segment) -> Option<u64> {
    with_bit_instructions(
        #[inline(always)]
        || with_encoding!(*level, |level| count(level, segment)),
    )
}

#[inline(always)]
fn count(level: impl KnownLevel, segment: &Segment) -> Option<u64> {
    let words = level.geometry().on_words();
    let (mut used, mut sound) = (0, true);
    for number in 0..words.buckets() {
        let bucket = words.bucket(segment, number);
        let free_slots = words.free_slots(&bucket);
        used += u64::from(SLOTS - free_slots.number().count_ones());
        sound &= words.is_sound(segment, &bucket, free_slots);
    }
    sound.then_some(used)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CuckooFilter;
    use crate::table::Table;

    /// The reference implementation: slot by slot.
    fn by_slot(level: &LevelGeometry, segment: &Segment) -> Option<u64> {
        let values = || level.items(segment, 0..level.buckets).map(|(_, value)| value);
        let is_sound = values().all(|value| value == 0 || value & level.low_part() != 0);
        is_sound.then(|| values().filter(|&value| value != 0).count() as u64)
    }

    #[test]
    fn damage_is_found_in_every_encoding() {
        let (capacity, nth) = if cfg!(miri) { (100, 60) } else { (500, 1) };
        for bits in [18, 23, 30, 40, 50] {
            let builder = CuckooFilter::builder().hash_bits(bits).capacity(capacity);
            let mut filter = builder.build().unwrap();
            // Few, so that there are free slots to be damaged.
            (0..capacity * 3 / 5).for_each(|key| filter.insert(key.to_le_bytes()).unwrap());
            let level = *filter.as_segments().level_of(0);
            let own: Vec<_> = filter.as_segments().in_order(|prefix| prefix).collect();
            let mut table = Table::copy_of(&own).unwrap();
            let segment = &mut table.segment_mut(0);
            assert_eq!(in_use(&level, segment), Some(u64::from(segment.occupied())));
            let mut sound = 0;
            let bytes = (level.buckets * level.codec.bucket_bits) as usize / 8;
            for at in (0..bytes).step_by(nth) {
                for damage in [1, 2, 0x80, 0xff] {
                    segment.bytes_mut(bytes)[at] ^= damage;
                    let found = in_use(&level, segment);
                    assert_eq!(found, by_slot(&level, segment), "{bits} {at}");
                    sound += usize::from(found.is_some());
                    segment.bytes_mut(bytes)[at] ^= damage;
                }
            }
            assert!(0 < sound && sound < 4 * bytes, "{bits}: {sound}");
        }
    }
}

//! Candidate moves of a group of eviction chains.

use super::{LookAhead, Segments, Uniform};
use crate::kernel::{ALTERNATE, GROUP, GroupMoves, KnownLevel, SLOTS};
use crate::simd::{Isa, Vector};

impl Segments {
    /// Finds the moves of a group of chains; false if that does not pay.
    #[inline]
    pub(crate) fn find_moves(&self, level: impl KnownLevel, moves: &mut GroupMoves) -> bool {
        self.look_ahead(&level.geometry(), Moves::<true> { moves })
    }

    /// Finds out which of the found moves lead to free slots.
    #[inline]
    pub(crate) fn test_moves(&self, level: impl KnownLevel, moves: &mut GroupMoves) {
        moves.free = 0;
        self.look_ahead(&level.geometry(), Moves::<false> { moves });
    }
}

/// Finds the moves of a group, or tests those that were found.
struct Moves<'a, const FIND: bool> {
    moves: &'a mut GroupMoves,
}

impl<const FIND: bool> LookAhead for Moves<'_, FIND> {
    #[inline(always)]
    fn look<I: Isa>(self, uniform: &Uniform<'_, I>) {
        for first in (0..GROUP).step_by(I::LANES) {
            if FIND {
                uniform.find_moves(self.moves, first);
            } else {
                uniform.test_moves(self.moves, first);
            }
        }
    }
}

impl<I: Isa> Uniform<'_, I> {
    /// The moves of a vector of chains, the `first` of the group and those after it.
    #[inline(always)]
    fn find_moves(&self, moves: &mut GroupMoves, first: usize) {
        let source = self.source(self.isa.load(&moves.segment[first..]));
        let number = self.isa.load(&moves.from[first..]);
        let full = self.read(source, self.first_bits(number));
        for position in 0..SLOTS as usize {
            let value = self.stored(source, &full, self.splat(position as u64));
            self.alternates(number, value).store(&mut moves.bucket[position][first..]);
            (value ^ self.splat(ALTERNATE)).store(&mut moves.value[position][first..]);
        }
    }

    #[inline(always)]
    fn test_moves(&self, moves: &mut GroupMoves, first: usize) {
        let source = self.source(self.isa.load(&moves.segment[first..]));
        let (mut free, mut first_move) = (0, self.splat(0));
        for (position, buckets) in moves.bucket.iter().enumerate().rev() {
            let read = self.read(source, self.first_bits(self.isa.load(&buckets[first..])));
            let is_full = self.free_slots(&read).is_zero();
            free |= !I::Vector::bits(is_full) & I::Vector::ALL;
            first_move = I::Vector::select(is_full, first_move, self.splat(position as u64));
        }
        moves.free |= free << first;
        first_move.store(&mut moves.first[first..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{CHOICE_BITS, Place};
    use crate::segments::EvictionChain;
    use crate::simd::{Kernel, with_vectors};
    use crate::{CuckooFilter, KeyHash, WhenFull};

    /// Full buckets of a filter, as eviction chains.
    fn chains(filter: &CuckooFilter) -> Vec<EvictionChain> {
        let places = (0..filter.segments() as u32).flat_map(|segment| {
            let (level, place) =
                (filter.as_segments().level_of(segment), filter.as_segments().get(segment));
            let is_full = move |bucket: &u64| {
                let read = level.on_words().bucket(place, *bucket);
                level.on_words().free_slots(&read).number() == 0
            };
            (0..level.buckets).filter(is_full).map(move |primary| (segment, primary))
        });
        let preview = places.zip(0..).map(|((segment, primary), number)| Place {
            segment,
            primary,
            alternate: 0,
            value: number << CHOICE_BITS,
        });
        preview.map(|place| EvictionChain::new(&place)).collect()
    }

    /// Fails if vectors were compared with single words fewer times than `least`, unless they do not look ahead.
    fn check_looked_ahead(compared: usize, least: usize) {
        struct LooksAhead;
        impl Kernel for LooksAhead {
            type Output = bool;

            fn run<I: Isa>(self, _: I) -> bool {
                I::LOOKS_AHEAD
            }
        }
        if with_vectors(LooksAhead) {
            assert!(compared >= least, "{compared} comparisons, expected {least}");
        } else {
            assert_eq!(compared, 0);
            println!("skipped: words do not look ahead");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "words do not look ahead")]
    fn groups_find_the_moves_of_single_chains() {
        let (mut free, mut evicting) = (0, 0);
        for rate in [0.3, 0.01, 1e-4, 1e-9, 1e-12] {
            let filter = CuckooFilter::builder().capacity(60_000).rate(rate);
            let mut filter = filter.when_full(WhenFull::Refuse).build().unwrap();
            for number in 0..60_000u64 {
                let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                filter.insert(KeyHash::from_u64(hash ^ (hash >> 31))).unwrap();
            }
            let level = filter.as_segments().uniform().unwrap();
            let segments = filter.as_segments();
            for group in chains(&filter).as_chunks::<GROUP>().0 {
                let mut moves = GroupMoves {
                    segment: group.map(|it| it.segment.into()),
                    from: group.map(|it| it.bucket),
                    ..GroupMoves::default()
                };
                if !segments.find_moves(&level, &mut moves) {
                    continue;
                }
                segments.test_moves(&level, &mut moves);
                for (number, chain) in group.iter().enumerate() {
                    let candidate = moves.next(number, chain.victim());
                    let single = filter.as_segments().next_move(&level, chain);
                    assert_eq!(candidate, single, "{filter:?}");
                    *(if candidate.has_free_slot { &mut free } else { &mut evicting }) += 1;
                }
            }
        }
        check_looked_ahead(free, 1000);
        check_looked_ahead(evicting, 1000);
    }
}

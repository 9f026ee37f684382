//! Candidate moves of a group of eviction chains.

use super::{LookAhead, Uniform, UniformTable, look_ahead};
use crate::kernel::{ALTERNATE, GROUP, GroupMoves};
use crate::simd::{Isa, Vector};

/// Finds the moves of a group; false if that does not pay.
#[inline]
pub(in crate::segments) fn find_moves(table: UniformTable<'_>, moves: &mut GroupMoves) -> bool {
    table.lanes().is_some() && look_ahead(table, Moves::<true> { moves })
}

/// Finds out which of the moves lead to free slots. [`find_moves`] has found them.
#[inline]
pub(in crate::segments) fn test_moves(table: UniformTable<'_>, moves: &mut GroupMoves) {
    moves.free = 0;
    look_ahead(table, Moves::<false> { moves });
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
        let source = self.segments(self.isa.load(&moves.segment[first..]));
        let number = self.isa.load(&moves.from[first..]);
        let full = self.read(source, self.first_bits(number));
        let mut places = moves.bucket.iter_mut().zip(&mut moves.value);
        let mut record = |bucket: I::Vector, value: I::Vector| {
            let Some((buckets, values)) = places.next() else { return };
            bucket.store(&mut buckets[first..]);
            value.store(&mut values[first..]);
        };
        let codec = self.codec();
        for position in 0..codec.slots {
            let position = self.splat(position.into());
            let items = self.items_at(number, position, self.stored(source, &full, position));
            if codec.overlap() {
                record(items.own, items.value);
            }
            record(self.alternates(&items), items.value ^ self.splat(ALTERNATE));
        }
    }

    #[inline(always)]
    fn test_moves(&self, moves: &mut GroupMoves, first: usize) {
        let source = self.segments(self.isa.load(&moves.segment[first..]));
        let (mut free, mut first_move) = (0, self.splat(0));
        let buckets = &moves.bucket[..self.codec().candidate_moves()];
        for (number, buckets) in buckets.iter().enumerate().rev() {
            let read = self.read(source, self.first_bits(self.isa.load(&buckets[first..])));
            let is_full = self.free_slots(source, &read).is_zero();
            free |= !I::Vector::bits(is_full) & I::Vector::ALL;
            first_move = I::Vector::select(is_full, first_move, self.splat(number as u64));
        }
        moves.free |= free << first;
        first_move.store(&mut moves.first[first..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{AnyLevel, Place};
    use crate::segments::EvictionChain;
    use crate::simd::{Kernel, with_vectors};
    use crate::{CuckooFilter, KeyHash, Layout, WhenFull};

    /// Full buckets of a filter, as eviction chains.
    fn chains(filter: &CuckooFilter) -> Vec<EvictionChain> {
        let places = (0..filter.segments() as u32).flat_map(|segment| {
            let (level, place) =
                (filter.as_segments().level_of(segment), filter.as_segments().get(segment));
            let is_full = move |bucket: &u64| {
                let read = level.on_words().bucket(place, *bucket);
                level.on_words().free_slots(place, &read).number() == 0
            };
            (0..level.buckets).filter(is_full).map(move |primary| (segment, primary))
        });
        let preview = places.zip(0..).map(|((segment, primary), number)| {
            let value = number << filter.as_segments().level_of(segment).codec.tag_bits;
            Place { segment, primary, alternate: 0, value }
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
        let layouts = [1, 2, 4, 8].map(|slots| (Layout::Buckets, slots));
        for (layout, slots) in layouts.into_iter().chain([(Layout::Overlapping, 2)]) {
            for rate in [0.3, 0.01, 1e-4, 1e-9, 1e-12] {
                let filter = CuckooFilter::builder()
                    .capacity(60_000)
                    .rate(rate)
                    .layout(layout)
                    .slots_per_bucket(slots)
                    .when_full(WhenFull::Refuse);
                let mut filter = filter.build().unwrap();
                for number in 0..60_000u64 {
                    let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                    filter.insert(KeyHash::from_u64(hash ^ (hash >> 31))).unwrap();
                }
                let table = filter.as_segments().uniform_table().unwrap();
                for group in chains(&filter).as_chunks::<GROUP>().0 {
                    let mut moves = GroupMoves {
                        segment: group.map(|it| it.segment.into()),
                        from: group.map(|it| it.bucket),
                        ..GroupMoves::default()
                    };
                    if !find_moves(table, &mut moves) {
                        continue;
                    }
                    test_moves(table, &mut moves);
                    for (number, chain) in group.iter().enumerate() {
                        let codec = &filter.as_segments().level_of(chain.segment).codec;
                        let candidate = moves.next(codec, number, chain.victim(codec.slots));
                        assert_eq!(
                            candidate,
                            filter.as_segments().next_move(AnyLevel, chain),
                            "{filter:?}"
                        );
                        *(if candidate.has_free_slot { &mut free } else { &mut evicting }) += 1;
                    }
                }
            }
        }
        check_looked_ahead(free, 1000);
        check_looked_ahead(evicting, 1000);
    }
}

//! Which line comes next: a new one, or a repeat of an earlier one.

use super::random::Random;

/// The indices of the lines of one file, in order: 0, 1, 2, ... for first occurrences, an earlier
/// index for a repeat.
///
/// The number of repeats is exact (selection sampling). A repeat takes an earlier line with
/// probability proportional to 1 / rank within powers of two, which is Zipf's law in steps: the
/// lines that came first are the popular ones. Integers only, so that every platform agrees.
#[derive(Debug)]
pub(crate) struct Order {
    random: Random,
    left: u64,
    repeats_left: u64,
    unique: u64,
}

impl Order {
    /// `lines` lines of which `repeats` repeat an earlier one; at least one line is new.
    pub(crate) fn new(seed: u64, lines: u64, repeats: u64) -> Self {
        let repeats_left = repeats.min(lines.saturating_sub(1));
        Self { random: Random::new(seed), left: lines, repeats_left, unique: 0 }
    }

    /// An earlier index: first a power of two, then any index below the next one.
    fn earlier(&mut self) -> u64 {
        let steps = u64::from(self.unique.ilog2()) + 1;
        loop {
            let floor = 1 << self.random.below(steps);
            let rank = floor + self.random.below(floor);
            if rank <= self.unique {
                return rank - 1;
            }
        }
    }
}

impl Iterator for Order {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.left == 0 {
            return None;
        }
        let repeat = self.unique > 0 && self.random.below(self.left) < self.repeats_left;
        self.left -= 1;
        if repeat {
            self.repeats_left -= 1;
            return Some(self.earlier());
        }
        self.unique += 1;
        Some(self.unique - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn the_share_of_repeats_is_exact_and_indices_are_new_in_order() {
        for (lines, repeats) in [(1, 0), (2, 1), (1000, 300), (100_000, 99_999), (50_000, 0)] {
            let mut unique = 0;
            let mut found = 0;
            for index in Order::new(3, lines, repeats) {
                assert!(index <= unique);
                if index == unique {
                    unique += 1;
                } else {
                    found += 1;
                }
            }
            assert_eq!((unique, found), (lines - repeats, repeats));
        }
    }

    #[test]
    fn popularity_falls_like_zipf() {
        let mut count = vec![0u32; 700_000];
        Order::new(1, 1_000_000, 300_000).for_each(|index| count[index as usize] += 1);
        let tenth = |from: usize, to: usize| count[from..to].iter().map(|n| n - 1).sum::<u32>();
        // Equal masses for equal ratios of rank.
        let (early, late) = (tenth(63, 127), tenth(65_535, 131_071));
        assert!(early > 10_000 && late > 10_000 && early.abs_diff(late) < early / 4);
    }
}

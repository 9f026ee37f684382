//! The next filter of a chain, made ready before it is needed.
//!
//! A new filter has memory that nobody has touched. Its first items would touch a new page with nearly
//! every probe, and the system clears each of them: some milliseconds for one batch. So it is made while
//! the last filter fills its second half, and every item of that has its share of pages touched.

use super::chain::Link;

/// What follows a filter of less than this is small enough to be touched when it is needed.
const SMALL: usize = 64 << 10;

/// Where a chain grows faster, the memory is better taken late than early.
pub(super) const MOST_EXPANSION: u32 = 4;

/// A filter that is empty, and not yet part of its chain.
pub(super) struct Spare {
    pub(super) link: Link,
    /// Bytes of it that have been touched.
    touched: usize,
}

impl Spare {
    pub(super) fn new(link: Link) -> Self {
        Self { link, touched: 0 }
    }

    /// Whether the next filter should be there now, with `last` as the last one.
    pub(super) fn is_due(last: &Link) -> bool {
        last.filter.memory_bytes() >= SMALL && last.len >= last.capacity / 2
    }

    /// Touches the share of `items` items, of as many as the `last` filter will still take, and those.
    pub(super) fn touch_for(&mut self, items: u64, last: &Link) {
        let bytes = self.link.filter.memory_bytes();
        let (rest, left) = ((bytes - self.touched) as u64, last.capacity.saturating_sub(last.len));
        let share = rest.div_ceil(left.max(1)).saturating_mul(items).min(rest);
        let end = self.touched + share as usize;
        self.link.filter.touch(self.touched..end);
        self.touched = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coua::KeyHasher;
    use coua::bloom::BloomFilter;

    fn link(capacity: u64, bits: u64) -> Link {
        let plan = coua::sizing::bloom::BloomPlan::new(bits, 3).unwrap();
        let filter = BloomFilter::from_plan(plan, KeyHasher::siphash13([0; 16])).unwrap();
        Link { filter, capacity, len: 0 }
    }

    #[test]
    fn all_is_touched_when_it_is_needed() {
        for step in [1, 7, 100, 600] {
            let mut last = link(1_000, 1 << 20);
            let mut spare = Spare::new(link(2_000, (1 << 23) + 64));
            assert!(!Spare::is_due(&last));
            last.len = 500;
            while last.len < last.capacity {
                assert!(Spare::is_due(&last));
                last.len = last.capacity.min(last.len + step);
                spare.touch_for(step, &last);
            }
            assert_eq!(spare.touched, spare.link.filter.memory_bytes());
        }
    }
}

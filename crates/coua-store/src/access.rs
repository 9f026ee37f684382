//! Whether a snapshot is used where it lies, or read into memory.
//!
//! Mapped, work costs the pages that it touches; read, the whole file costs once, and then memory with
//! large pages is faster. `docs/decisions/0009-map-or-load.md` has the reasons and the measurements behind
//! the numbers here.

use crate::residency::Missing;

/// A page, as the processor maps it.
const PAGE: u64 = 4096;
/// Both buckets of a key in a generation, each on a page of its own.
const PAGES: u64 = 2;
/// Smaller files are read, and so checked, in a few milliseconds.
const LEAST_MAPPED: u64 = 4 << 20;

/// How to bring a snapshot into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Access {
    /// Large files are mapped while little of them is touched, and read once that is no longer so. What
    /// lies in the system's cache may be touched more often than what a disk must fetch.
    #[default]
    BySize,
    /// Used where it lies.
    Map,
    /// Read, and every byte checked.
    Load,
}

/// What keys do to the pages of their buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Ask,
    Change,
}

impl Touch {
    /// What a page in the cache costs each time, in bytes of a file that is read in order meanwhile.
    fn cost(self) -> u64 {
        match self {
            // A small page is found more slowly than a large one.
            Self::Ask => 4,
            // The first time it is copied.
            Self::Change => PAGE / 2,
        }
    }
}

/// A page that is fetched by itself takes as long as eight of a file that is read in order.
const FETCH: u64 = 8 * PAGE;

impl Access {
    /// Whether a snapshot of `bytes` bytes, some of which are not in the cache, is to be mapped for this
    /// work: so many keys, each in one generation.
    pub(crate) fn maps(self, bytes: u64, missing: Missing, work: &[(Touch, u64)]) -> bool {
        match self {
            Self::Map => true,
            Self::Load => false,
            Self::BySize => {
                let cost = |touch: Touch| PAGES * (missing.share_of(FETCH) + touch.cost());
                let costs = work.iter().map(|&(touch, keys)| keys.saturating_mul(cost(touch)));
                bytes >= LEAST_MAPPED && costs.fold(0, u64::saturating_add) < bytes
            }
        }
    }

    /// Memory of its own that a filter takes at most to which so many changes are made.
    pub(crate) fn own_bytes(self, bytes: u64, changes: u64) -> u64 {
        let touched = changes.saturating_mul(PAGES * PAGE);
        if self.maps(bytes, Missing::ALL, &[(Touch::Change, changes)]) {
            touched.min(bytes)
        } else {
            bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_work_on_a_large_filter_maps() {
        let maps = |bytes, missing, work| Access::BySize.maps(bytes, missing, &[work]);
        let (ask, change) = (|keys| (Touch::Ask, keys), |keys| (Touch::Change, keys));
        for few in [ask(10_000), change(10_000)] {
            assert!(maps(5 << 30, Missing::ALL, few) && maps(5 << 30, Missing::NONE, few));
            assert!(!maps(100_000, Missing::NONE, few));
        }
        for more in [ask(1_000_000), change(1_000_000)] {
            assert!(!maps(5 << 30, Missing::ALL, more) && maps(5 << 30, Missing::NONE, more));
        }
        assert!(maps(5 << 30, Missing::NONE, ask(100_000_000)));
        assert!(!maps(5 << 30, Missing::NONE, change(100_000_000)));
        assert!(!maps(u64::MAX, Missing::NONE, ask(u64::MAX)));
        assert!(Access::Map.maps(0, Missing::ALL, &[ask(u64::MAX)]));
        assert!(!Access::Load.maps(u64::MAX, Missing::NONE, &[ask(0)]));
    }

    /// A journal is done again before the filter is asked.
    #[test]
    fn all_of_the_work_is_counted() {
        let maps = |asked, changed| {
            let work = [(Touch::Ask, asked), (Touch::Change, changed)];
            Access::BySize.maps(8 << 20, Missing::NONE, &work)
        };
        assert!(maps(1 << 19, (1 << 10) - 1));
        assert!(!maps(1 << 20, 1) && !maps(1, 1 << 11) && !maps(1 << 19, 1 << 10));
        assert!(!maps(u64::MAX, u64::MAX));
    }
}

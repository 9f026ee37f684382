//! Decides whether to map a snapshot, or to read it into memory.
//!
//! Mapping costs the pages that the work touches. Reading costs the whole file once, and then memory with large
//! pages is faster. Pages of a mapped file that are not in the page cache are fetched when they are touched,
//! or all in order beforehand. `docs/decisions/0009-map-or-load.md` has the reasons and the measurements.

use super::residency::Missing;

/// A page, as the processor maps it.
const PAGE: u64 = 4096;
/// Pages per key in a generation: one for each of its two buckets.
const PAGES: u64 = 2;
/// Smaller files are read and checked in a few milliseconds.
const LEAST_MAPPED: u64 = 4 << 20;

/// How to load a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Access {
    /// Map a large file while little of it is touched, then read it. Cached pages may be touched more often than
    /// pages that a disk must fetch.
    #[default]
    BySize,
    /// Map the file.
    Map,
    /// Read the file, and check every byte.
    Load,
}

/// How the work uses the pages of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Ask,
    Change,
}

impl Touch {
    /// The cost of touching a cached page, in bytes read in order in the same time.
    fn cost(self) -> u64 {
        match self {
            // Small pages cost more TLB misses than large ones.
            Self::Ask => 4,
            // The first change copies the page.
            Self::Change => PAGE / 2,
        }
    }
}

/// Fetching a single page takes as long as reading eight in order.
const FETCH: u64 = 8 * PAGE;

/// How to load a snapshot for some work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Map it; missing pages are fetched when they are touched.
    Map,
    /// Map it after fetching all missing pages in order.
    FetchAndMap,
    /// Read.
    Load,
}

impl Access {
    /// How to load a snapshot of `bytes` bytes, some of which are not cached, for this work: a number of
    /// keys for each generation.
    pub(crate) fn plan(self, bytes: u64, missing: Missing, work: &[(Touch, u64)]) -> Plan {
        match self {
            Self::Map => Plan::Map,
            Self::Load => Plan::Load,
            Self::BySize => {
                let one_by_one = cost(work, |_| missing.share_of(FETCH));
                let in_order = missing.share_of(bytes);
                let touching = cost(work, Touch::cost);
                let mapping = one_by_one.min(in_order).saturating_add(touching);
                if bytes < LEAST_MAPPED || mapping >= bytes {
                    Plan::Load
                } else if in_order < one_by_one {
                    Plan::FetchAndMap
                } else {
                    Plan::Map
                }
            }
        }
    }

    /// The most private memory that a filter takes for `changes` changes.
    pub(crate) fn own_bytes(self, bytes: u64, changes: u64) -> u64 {
        let touched = changes.saturating_mul(PAGES * PAGE);
        match self.plan(bytes, Missing::ALL, &[(Touch::Change, changes)]) {
            Plan::Map | Plan::FetchAndMap => touched.min(bytes),
            Plan::Load => bytes,
        }
    }
}

/// The cost of the work, given the cost of a page.
fn cost(work: &[(Touch, u64)], page: impl Fn(Touch) -> u64) -> u64 {
    let each = work.iter().map(|&(touch, keys)| keys.saturating_mul(PAGES * page(touch)));
    each.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of it is missing.
    fn half() -> Missing {
        Missing::of_samples(128)
    }

    #[test]
    fn small_work_on_a_large_filter_maps() {
        let plan = |bytes, missing, work| Access::BySize.plan(bytes, missing, &[work]);
        let maps = |bytes, missing, work| plan(bytes, missing, work) == Plan::Map;
        let (ask, change) = (|keys| (Touch::Ask, keys), |keys| (Touch::Change, keys));
        for few in [ask(10_000), change(10_000)] {
            assert!(maps(5 << 30, Missing::ALL, few) && maps(5 << 30, Missing::NONE, few));
            assert_eq!(plan(100_000, Missing::NONE, few), Plan::Load);
        }
        for more in [ask(1_000_000), change(1_000_000)] {
            assert_eq!(plan(5 << 30, Missing::ALL, more), Plan::Load);
            assert!(maps(5 << 30, Missing::NONE, more));
        }
        assert!(maps(5 << 30, Missing::NONE, ask(100_000_000)));
        assert_eq!(plan(5 << 30, Missing::NONE, change(100_000_000)), Plan::Load);
        assert_eq!(plan(u64::MAX, Missing::NONE, ask(u64::MAX)), Plan::Load);
        assert_eq!(Access::Map.plan(0, Missing::ALL, &[ask(u64::MAX)]), Plan::Map);
        assert_eq!(Access::Load.plan(u64::MAX, Missing::NONE, &[ask(0)]), Plan::Load);
    }

    #[test]
    fn what_is_missing_is_fetched_by_page_or_in_order_whichever_is_less() {
        let plan = |missing, keys| Access::BySize.plan(1 << 30, missing, &[(Touch::Ask, keys)]);
        // Half of 32 KiB twice a key, beside half of the file.
        let line = (1 << 29) / (1 << 15);
        assert_eq!([line, line + 1].map(|keys| plan(half(), keys)), [Plan::Map, Plan::FetchAndMap]);
        // What is left of the file's price is for looking at eight bytes a key.
        let line = (1 << 29) / 8;
        assert_eq!(
            [line - 1, line].map(|keys| plan(half(), keys)),
            [Plan::FetchAndMap, Plan::Load]
        );
        assert_eq!(plan(Missing::NONE, line), Plan::Map);
        assert_eq!(plan(half(), u64::MAX), Plan::Load);
    }

    /// A log is done again before the filter is asked.
    #[test]
    fn all_of_the_work_is_counted() {
        let maps = |asked, changed| {
            let work = [(Touch::Ask, asked), (Touch::Change, changed)];
            Access::BySize.plan(8 << 20, Missing::NONE, &work) == Plan::Map
        };
        assert!(maps(1 << 19, (1 << 10) - 1));
        assert!(!maps(1 << 20, 1) && !maps(1, 1 << 11) && !maps(1 << 19, 1 << 10));
        assert!(!maps(u64::MAX, u64::MAX));
    }
}

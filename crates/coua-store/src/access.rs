//! Whether a snapshot is used where it lies, or read into memory.
//!
//! Mapped, a change costs the pages that it touches; read, the whole file costs once, and then memory
//! with large pages is twice as fast. `docs/decisions/0009-map-or-load.md` has the reasons.

/// A page, as the processor maps it.
const PAGE: u64 = 4096;
/// Both buckets of a key in a generation, each on a page of its own; and a page that is fetched by itself is
/// taken to cost as much as eight of a file that is read in order.
const PAGES_PER_QUESTION: u64 = 2 * 8;
/// Smaller files are read, and so checked, in a few milliseconds.
const LEAST_MAPPED: u64 = 4 << 20;

/// How to bring a snapshot into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Access {
    /// Large files are mapped while little of them is touched, and read once that is no longer so.
    #[default]
    BySize,
    /// Used where it lies.
    Map,
    /// Read, and every byte checked.
    Load,
}

impl Access {
    /// Whether a snapshot of `bytes` bytes is to be mapped for so many changes of one generation or
    /// questions to one.
    pub(crate) fn maps(self, bytes: u64, questions: u64) -> bool {
        match self {
            Self::Map => true,
            Self::Load => false,
            Self::BySize => {
                bytes >= LEAST_MAPPED && questions.saturating_mul(PAGES_PER_QUESTION * PAGE) < bytes
            }
        }
    }

    /// Memory of its own that a filter takes at most to which so many changes are made.
    pub(crate) fn own_bytes(self, bytes: u64, changes: u64) -> u64 {
        let touched = changes.saturating_mul(2 * PAGE);
        if self.maps(bytes, changes) { touched.min(bytes) } else { bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_work_on_a_large_filter_maps() {
        assert!(Access::BySize.maps(5 << 30, 10_000));
        assert!(!Access::BySize.maps(5 << 30, 1_000_000));
        assert!(!Access::BySize.maps(100_000, 0));
        assert!(!Access::BySize.maps(u64::MAX, u64::MAX));
        assert!(Access::Map.maps(0, u64::MAX) && !Access::Load.maps(u64::MAX, 0));
    }
}

//! Looking many keys up, in segments of several levels or slot by slot.

use crate::cuckoo::{CuckooFilter, Prefetcher};
use crate::hash::KeyHash;
use crate::kernel::{Levels, Task};

/// A batch of keys to be looked up.
pub(super) struct Lookup<'a> {
    pub(super) filter: &'a CuckooFilter,
    pub(super) hashes: &'a [KeyHash],
    pub(super) present: &'a mut [bool],
}

impl Task for Lookup<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, levels: impl Levels) {
        let mut prefetcher = Prefetcher::new(self.filter, levels, self.hashes, 0);
        for present in self.present {
            let Some((_, probe)) = prefetcher.next(self.filter, levels) else { break };
            *present = self.filter.contains_at(levels, &probe);
        }
    }
}

//! Removing many keys.

use crate::cuckoo::{CuckooFilter, Prefetcher};
use crate::hash::KeyHash;
use crate::kernel::{Levels, Probes, Task, WIDTH, Wanted, uniform};

/// A batch of keys to be taken out of a filter.
pub(super) struct Remove<'a> {
    pub(super) filter: &'a mut CuckooFilter,
    pub(super) hashes: &'a [KeyHash],
    pub(super) removed: &'a mut Vec<bool>,
}

impl Remove<'_> {
    /// Removes the keys of a group.
    #[inline(always)]
    fn remove_group(&mut self, levels: impl Levels, prefetcher: &Prefetcher, probes: &mut Probes) {
        let (keys, numbers) = prefetcher.group();
        let table = self.filter.uniform_table().filter(|_| numbers.len() == WIDTH);
        if !table.is_some_and(|table| uniform::probe(table, keys, Wanted::Key, probes)) {
            probes.forget();
        }
        let due = prefetcher.due();
        for number in numbers {
            if let Some(due) = due {
                self.filter.prefetch_key(levels, due, number);
            }
            let place = (keys.segment(number), number);
            let is_removed = match self.filter.remove_probed(levels, place, probes) {
                Some(is_removed) => is_removed,
                None => self.filter.remove_at(levels, &keys.probe(number)),
            };
            self.removed.push(is_removed);
        }
    }
}

impl Task for Remove<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, levels: impl Levels) {
        let mut prefetcher = Prefetcher::new(self.filter, levels, self.hashes, 0);
        let mut probes = Probes::default();
        while self.removed.len() < self.hashes.len() {
            self.remove_group(levels, &prefetcher, &mut probes);
            prefetcher.next_group(self.filter, levels);
        }
    }
}

//! The keys of a chunk that are deferred to the second pass, by segment.

use crate::kernel::Probe;

/// The end of a run.
const END: u32 = u32::MAX;

/// A deferred key, by its number in the batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeferredKey {
    pub(super) number: usize,
    pub(super) probe: Probe,
    /// The next one of the same run.
    next: u32,
}

/// The deferred keys of one segment, in their order: the first that is left, and the last.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u32,
    last: u32,
}

/// All runs, in the order of their first keys.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    keys: Vec<DeferredKey>,
    runs: Vec<Run>,
    /// For each segment, the number of its run and 1, or 0.
    run_of: Vec<u16>,
}

impl Deferred {
    /// Makes space for a filter of so many segments.
    pub(super) fn reserve(&mut self, segments: usize) {
        if self.run_of.len() < segments {
            self.run_of.resize(segments, 0);
        }
    }

    /// Whether a segment has deferred keys: those after them must be deferred too.
    #[inline(always)]
    pub(super) fn is_blocked(&self, segment: u32) -> bool {
        self.run_of[segment as usize] != 0
    }

    /// Appends a key to the run of its segment.
    #[inline(always)]
    pub(super) fn push(&mut self, number: usize, probe: &Probe) {
        let place = self.keys.len() as u32;
        self.keys.push(DeferredKey { number, probe: *probe, next: END });
        let run = &mut self.run_of[probe.segment as usize];
        if *run == 0 {
            self.runs.push(Run { first: place, last: place });
            *run = self.runs.len() as u16;
        } else {
            let run = &mut self.runs[usize::from(*run) - 1];
            self.keys[run.last as usize].next = place;
            run.last = place;
        }
    }

    /// Keys so far.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The first key that is left of a run.
    #[inline(always)]
    pub(super) fn first(&self, run: usize) -> Option<&DeferredKey> {
        self.keys.get(self.runs.get(run)?.first as usize)
    }

    /// Takes the first key out of a run.
    #[inline(always)]
    pub(super) fn pop(&mut self, run: usize) {
        let first = &mut self.runs[run].first;
        *first = self.keys[*first as usize].next;
    }

    /// Forgets all runs; the numbers of the keys that are left in them, in order.
    pub(super) fn drain(&mut self) -> Vec<usize> {
        let mut left = Vec::new();
        for run in self.runs.drain(..) {
            self.run_of[self.keys[run.last as usize].probe.segment as usize] = 0;
            let mut next = run.first;
            while let Some(key) = self.keys.get(next as usize) {
                left.push(key.number);
                next = key.next;
            }
        }
        self.keys.clear();
        left.sort_unstable();
        left
    }
}
